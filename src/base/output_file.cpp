// SPDX-License-Identifier: MIT
#include "base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "base/memory_file.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"

namespace hiptool::base {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason,
                       std::string hint = {}) {
  throw Error(ErrorCode::output_failed, "write", "cannot write " + path.string() + ": " + reason,
              std::move(hint));
}

std::string reason_of(int number) { return std::generic_category().message(number); }

std::string hint_of(int number, const std::filesystem::path& folder = {}) {
  switch (number) {
    case ENOSPC:
    case EDQUOT: return "free space on that file system or choose another folder";
    case ENOENT: {  // also of a file system that takes no files, such as /proc
      std::error_code ignored;
      return std::filesystem::exists(folder, ignored) ? "choose another folder"
                                                      : "create the folder first";
    }
    case EACCES:
    case EROFS: return "choose a writable folder";
    default: return {};
  }
}

void check_space(const std::filesystem::path& folder, const std::filesystem::path& target,
                 std::uint64_t size_bytes) {
  struct statvfs status {};
  // Some file systems report 0 free blocks; then only writing shows whether there is space.
  if (statvfs(folder.c_str(), &status) != 0 || status.f_blocks == 0) return;
  const std::uint64_t free_blocks = status.f_bavail;
  if (free_blocks >= size_bytes / status.f_frsize + 1) return;
  fail(target,
       format_size(size_bytes) + " are needed, " + format_size(free_blocks * status.f_frsize) +
           " are free",
       hint_of(ENOSPC));
}

}  // namespace

std::filesystem::path target_of_links(std::filesystem::path path) {
  constexpr int most_links = 40;  // as the kernel follows
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, error); ++i) {
    if (is_open_file(path)) break;  // what it names may have no path of its own
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute one replaces all of it
  }
  return path;
}

OutputFile::OutputFile(const std::filesystem::path& named, std::uint64_t size_bytes)
    : target_(target_of_links(named)) {
  const std::filesystem::path& target = target_;
  if (!target.has_filename()) fail(target, "the path has no file name");
  if (target == "-") {
    fail(target, "this file cannot go to standard output", "name a file; ./- is one of that name");
  }
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fail(target, S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  const std::filesystem::path folder =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  check_space(folder, target, size_bytes);
  if (is_open_file(target)) {
    descriptor_ = ::open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (descriptor_ < 0) fail(target, reason_of(errno), hint_of(errno));
    return;
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::string name = ".";
  name.append(target.filename().string(), 0, 200).append(".").append(std::to_string(::getpid()));
  name.append(".").append(std::to_string(now)).append(".part");
  temporary_ = folder / name;
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (const int number = errno; descriptor_ < 0) {
    fail(target, reason_of(number), hint_of(number, folder));
  }
  listed_.emplace(temporary_);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!is_committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(target_, reason_of(errno), hint_of(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::finish() {
  if (descriptor_ < 0) return;
  // Network file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(target_, reason_of(errno), hint_of(errno));
}

void OutputFile::commit() {
  finish();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail(target_, reason_of(errno), hint_of(errno));
  }
  is_committed_ = true;
  listed_.reset();
}

void OutputFile::withdraw() noexcept {
  if (is_committed_) ::unlink(target_.c_str());
}

}  // namespace hiptool::base
