// SPDX-License-Identifier: MIT
#include "file_folder.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

// A path of few short names below the folder.
bool is_inside(const std::filesystem::path& path) {
  constexpr std::size_t most_name_bytes = 72;
  constexpr int most_names = 8;
  int names = 0;
  for (const std::filesystem::path& part : path) {
    const std::string& name = part.native();
    const bool is_name = !name.empty() && name != "." && name != ".." && name != "/" &&
                         name.size() <= most_name_bytes && name.find('\0') == std::string::npos;
    if (!is_name || ++names > most_names) return false;
  }
  return names > 0;
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
  // In memory, where there is such a folder: on a disk inputs take ten times as long.
  const bool is_memory = std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK) == 0;
  const std::filesystem::path place =
      is_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  std::string name = (place / "hiptool-fuzz-XXXXXX").string();
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

void FileFolder::write_named(const std::uint8_t* bytes, std::size_t size) {
  constexpr int most_files = 16;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove_all(entry.path(), ignored);
  }
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  for (int file = 0; file < most_files && !rest.empty(); ++file) {
    const std::string_view piece = rest.substr(0, rest.find(piece_mark));
    rest.remove_prefix(std::min(piece.size() + piece_mark.size(), rest.size()));
    const std::size_t line = std::min(piece.find('\n'), piece.size());
    const std::filesystem::path name(piece.substr(0, line));
    if (!is_inside(name)) continue;
    const std::filesystem::path path = path_ / name;
    // A file may be where this one needs a folder, and a folder where it is to be.
    std::filesystem::create_directories(path.parent_path(), ignored);
    const bool has_place = std::filesystem::is_directory(path.parent_path(), ignored) &&
                           !std::filesystem::is_directory(path, ignored);
    if (has_place) write_file(path, piece.substr(std::min(line + 1, piece.size())));
  }
}

void FileFolder::link(const std::string& name, const std::string& target) const {
  std::error_code error;
  std::filesystem::create_symlink(target, path_ / name, error);
  if (error) std::abort();
}

}  // namespace hiptool::fuzz
