// SPDX-License-Identifier: MIT
#include "file_folder.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace hiptool::fuzz {
namespace {

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) std::abort();
  if (::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  ::close(descriptor);
}

}  // namespace
}  // namespace hiptool::fuzz

// A file that was written in this tick of the clock is opened in the next one, 4 ms later: ten
// times as long as all else that an input takes. Here the next tick has always come.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME_COARSE) time->tv_sec += 1;
  return result;
}

namespace hiptool::fuzz {

FileFolder::FileFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "hiptool-fuzz-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

FileFolder::~FileFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void FileFolder::write(const std::uint8_t* bytes, std::size_t size,
                       const std::vector<std::string>& names) {
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  bool is_there = true;
  for (const std::string& name : names) {
    if (!is_there) {
      ::unlink((path_ / name).c_str());
      continue;
    }
    const std::size_t mark = rest.find(piece_mark);
    write_file(path_ / name, rest.substr(0, mark));
    is_there = mark != std::string_view::npos;
    if (is_there) rest.remove_prefix(mark + piece_mark.size());
  }
}

void FileFolder::link(const std::string& name, const std::string& target) const {
  std::error_code error;
  std::filesystem::create_symlink(target, path_ / name, error);
  if (error) std::abort();
}

}  // namespace hiptool::fuzz
