// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/host_error.hpp"
#include "base/near_path.hpp"
#include "base/text.hpp"

namespace hiptool::base {
namespace {

std::string system_message(int number) { return std::generic_category().message(number); }

Error open_error(const std::filesystem::path& path, const std::string& reason,
                 std::string hint = {}) {
  return Error(ErrorCode::input_failed, "open", "cannot open " + path.string() + ": " + reason,
               std::move(hint));
}

Error open_error(const std::filesystem::path& path, int number) {
  return Error(code_of_read(number), "open",
               "cannot open " + path.string() + ": " + system_message(number),
               number == ENOENT ? spelling_hint(path) : hint_of_read(number));
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp stamp_of(const struct stat& status) {
  return {nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

// File systems take their times from the kernel's coarse clock, so a change in the same tick as the
// last one leaves no trace. A time further ahead is another machine's and never passes here.
void wait_for_next_tick(const FileStamp& stamp) {
  constexpr std::int64_t longest_tick_ns = 50'000'000;
  constexpr timespec pause{0, 500'000};
  timespec clock{};
  for (std::int64_t waited_ns = 0; waited_ns <= longest_tick_ns; waited_ns += pause.tv_nsec) {
    if (clock_gettime(CLOCK_REALTIME_COARSE, &clock) != 0) return;
    const std::int64_t ahead_ns = stamp.changed_ns - nanoseconds(clock);
    if (ahead_ns < 0 || ahead_ns > longest_tick_ns) return;
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

File File::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe without a writer must not hang; regular files ignore it.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) throw open_error(path, errno);
  File file(std::move(descriptor), path);
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) throw open_error(path, errno);
  if (S_ISDIR(status.st_mode)) throw open_error(path, "it is a folder", "name a file inside it");
  if (!S_ISREG(status.st_mode)) {
    throw open_error(path, "it is not a regular file", "copy its contents to a file first");
  }
  file.size_bytes_ = static_cast<std::uint64_t>(status.st_size);
  file.stamp_ = stamp_of(status);
  // A file without a name is written by nobody but its owner.
  if (status.st_nlink > 0) wait_for_next_tick(file.stamp_);
  return file;
}

File::File(Descriptor descriptor, std::filesystem::path path)
    : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

void File::read_at(std::span<std::byte> destination, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < destination.size()) {
    const ssize_t got = ::pread(descriptor(), destination.data() + done, destination.size() - done,
                                static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0) {
      throw ended_early(offset + done, destination.size() - done);
    } else if (errno != EINTR) {
      throw unreadable(offset + done, errno);
    }
  }
}

Error File::ended_early(std::uint64_t offset, std::uint64_t missing_bytes) const {
  // A read that starts beyond the end says nothing about where the end is.
  struct stat status {};
  if (fstat(descriptor(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) < offset) {
    missing_bytes += offset - static_cast<std::uint64_t>(status.st_size);
    offset = static_cast<std::uint64_t>(status.st_size);
  }
  return Error(ErrorCode::input_failed, "read",
               path_.string() + " ends at offset " + std::to_string(offset) + ", " +
                   base::plain_count_of(missing_bytes, "byte") + " too early",
               "the file was truncated while it was read, or its download is not complete");
}

Error File::unreadable(std::uint64_t offset, int number) const {
  return Error(code_of_read(number), "read",
               "cannot read " + path_.string() + " at offset " + std::to_string(offset) + ": " +
                   system_message(number),
               hint_of_read(number));
}

void File::check_unchanged(std::uint64_t size_bytes, const FileStamp& stamp) const {
  const auto changed = [&](const std::string& how) {
    return Error(ErrorCode::input_failed, "read",
                 path_.string() + " changed while it was read: " + how,
                 "wait until nothing writes to the file, then try again");
  };
  struct stat status {};
  if (fstat(descriptor(), &status) != 0) throw changed(system_message(errno));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size != size_bytes) {
    throw changed((size < size_bytes ? "it was truncated from " : "it grew from ") +
                  std::to_string(size_bytes) + " to " + base::plain_count_of(size, "byte"));
  }
  struct stat named {};
  const bool is_named = stat(path_.c_str(), &named) == 0;
  if (is_named && (named.st_dev != status.st_dev || named.st_ino != status.st_ino)) {
    throw changed("it was replaced by another file");
  }
  const FileStamp now = stamp_of(status);
  if (now.modified_ns != stamp.modified_ns) throw changed("it was written to");
  if (now.changed_ns == stamp.changed_ns) return;
  throw changed(is_named ? "its ctime moved, so it was written to, or its name, owner or "
                           "permissions were changed"
                         : "it was removed or renamed");
}

bool is_there(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string read_small_file(const std::filesystem::path& path) {
  constexpr std::size_t limit_bytes = 1u << 20;
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) return {};
  std::string text;
  std::array<char, 4096> piece;
  while (text.size() < limit_bytes) {
    const ssize_t got = ::read(descriptor.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor, POLLOUT, 0};
      static_cast<void>(::poll(&wait, 1, -1));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace hiptool::base
