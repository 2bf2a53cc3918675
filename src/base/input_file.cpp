// SPDX-License-Identifier: MIT
#include "base/input_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/host_error.hpp"
#include "base/near_path.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"

namespace hiptool::base {
namespace {

constexpr int slice_ms = 100;  // how soon Ctrl-C is noticed
constexpr int most_slices_without_writer = 100;

class InputFile {
 public:
  InputFile(const std::filesystem::path& path, std::uint64_t limit_bytes, const CancelToken* cancel)
      : path_(path), limit_bytes_(limit_bytes), cancel_(cancel) {
    // O_NONBLOCK: opening a pipe without a writer must not hang; regular files ignore it.
    descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!descriptor_.is_open()) {
      fail(errno);
    }
  }

  std::string read() {
    std::string text;
    text.reserve(static_cast<std::size_t>(checked_size()));
    std::array<char, 65536> piece;
    while (true) {
      const ssize_t got = ::read(descriptor_.get(), piece.data(), piece.size());
      if (got > 0) {
        text.append(piece.data(), static_cast<std::size_t>(got));
        if (text.size() > limit_bytes_) fail_too_large();
      } else if (got == 0) {
        if (!is_pipe_ || has_writer_ || !wait_for_writer()) return text;
      } else if (errno == EAGAIN) {
        has_writer_ = true;  // without one, read returns 0
        wait();
      } else if (errno != EINTR) {
        fail(errno);
      }
      if (cancel_ != nullptr) cancel_->throw_if_cancelled("read");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason, std::string hint = {}) const {
    throw Error(ErrorCode::input_failed, "read", "cannot read " + path_.string() + ": " + reason,
                std::move(hint));
  }

  [[noreturn]] void fail(int number) const {
    throw Error(code_of_read(number), "read",
                "cannot read " + path_.string() + ": " + std::generic_category().message(number),
                number == ENOENT ? spelling_hint(path_) : hint_of_read(number));
  }

  [[noreturn]] void fail_too_large() const {
    fail("it has more than " + format_size(limit_bytes_), "check that it is the file you mean");
  }

  // The current size, which may grow and is 0 for pipes and files of /proc.
  std::uint64_t checked_size() {
    struct stat status {};
    if (fstat(descriptor_.get(), &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode)) fail("it is a folder", "name a file inside it");
    is_pipe_ = S_ISFIFO(status.st_mode);
    if (!is_pipe_ && !S_ISREG(status.st_mode)) {
      fail("it is neither a regular file nor a pipe", "copy its contents to a file first");
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > limit_bytes_) fail_too_large();
    return size;
  }

  int wait() const {
    pollfd request{descriptor_.get(), POLLIN, 0};
    return ::poll(&request, 1, slice_ms) > 0 ? request.revents : 0;
  }

  // False at the end of a pipe that had a writer, who has left again.
  bool wait_for_writer() {
    if ((wait() & (POLLIN | POLLHUP)) == POLLHUP) return false;
    if (++slices_ > most_slices_without_writer) {
      fail("no process has opened the pipe for writing within 10 s", "start the writer first");
    }
    return true;
  }

  std::filesystem::path path_;
  std::uint64_t limit_bytes_;
  const CancelToken* cancel_;
  Descriptor descriptor_{-1};
  bool is_pipe_ = false;
  bool has_writer_ = false;
  int slices_ = 0;
};

}  // namespace

std::string read_input_file(const std::filesystem::path& path, std::uint64_t limit_bytes,
                            const CancelToken* cancel) {
  return decode_text(InputFile(path, limit_bytes, cancel).read());
}

bool names_format(const std::filesystem::path& path, std::string_view format) {
  constexpr std::size_t most_bytes = 4096;  // each names its format first
  std::array<char, most_bytes> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), static_cast<std::size_t>(file.gcount()));
  return start.find('"' + std::string(format)) != std::string_view::npos;
}

}  // namespace hiptool::base
