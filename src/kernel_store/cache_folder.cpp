// SPDX-License-Identifier: MIT
#include "kernel_store/cache_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/file.hpp"
#include "base/temporary_folder.hpp"

namespace hiptool::kernel_store {
namespace {

namespace fs = std::filesystem;

std::string describe(int number) { return std::generic_category().message(number); }

/// Empty if only the effective user can have written it.
std::string find_distrust(const struct stat& status) {
  if (status.st_uid != geteuid()) {
    return "it belongs to user " + std::to_string(status.st_uid) + ", not to " +
           std::to_string(geteuid());
  }
  constexpr mode_t foreign_write = S_IWGRP | S_IWOTH;
  if ((status.st_mode & foreign_write) != 0) {
    return "other users can write to it; remove that with chmod go-w";
  }
  return {};
}

/// With missing parents, as the XDG base directory specification wants them.
void make_folders(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno != ENOENT || !path.has_relative_path()) return;
  make_folders(path.parent_path());
  mkdir(path.c_str(), 0700);
}

/// At most most_entry_bytes, also of a file that grows meanwhile.
std::optional<std::string> read_all(int descriptor) {
  std::string bytes;
  std::array<char, 65536> part;
  while (bytes.size() <= CacheFolder::most_entry_bytes) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count == 0) return bytes;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  errno = EFBIG;
  return std::nullopt;
}

}  // namespace

CacheFolder::CacheFolder(const fs::path& path) : path_(path) {
  make_folders(path);
  struct stat status {};
  // Whoever owns a link decides where it leads.
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != 0 &&
      status.st_uid != geteuid()) {
    distrust(path, "it is a link of user " + std::to_string(status.st_uid));
    return;
  }
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    refuse(path, describe(errno));
    return;
  }
  fstat(descriptor, &status);
  if (const std::string why = find_distrust(status); !why.empty()) {
    ::close(descriptor);
    distrust(path, why);
    return;
  }
  descriptor_ = descriptor;
}

CacheFolder::~CacheFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool CacheFolder::refuse(const fs::path& path, const std::string& why) {
  reason_ = path.string() + ": " + why;
  is_distrusted_ = false;
  return false;
}

void CacheFolder::distrust(const fs::path& path, const std::string& why) {
  refuse(path, why);
  is_distrusted_ = true;
}

std::optional<std::string> CacheFolder::read(const std::string& name) {
  const int file =
      openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    if (errno == ELOOP) distrust(path_ / name, "it is a link");
    if (errno != ENOENT && errno != ELOOP) refuse(path_ / name, describe(errno));
    return std::nullopt;
  }
  struct stat status {};
  fstat(file, &status);
  const std::string why =
      S_ISREG(status.st_mode) ? find_distrust(status) : "it is not a regular file";
  std::optional<std::string> bytes;
  if (!why.empty()) {
    distrust(path_ / name, why);
  } else if (static_cast<std::uint64_t>(status.st_size) > most_entry_bytes) {
    refuse(path_ / name, describe(EFBIG));
  } else if (!(bytes = read_all(file))) {
    refuse(path_ / name, describe(errno));
  }
  ::close(file);
  return bytes;
}

bool CacheFolder::write(const std::string& name, std::string_view bytes) {
  if (bytes.size() > most_entry_bytes) return refuse(path_ / name, describe(EFBIG));
  static std::atomic<unsigned> number{0};
  constexpr int most_tries = 100;
  std::string temporary;
  int file = -1;
  // A process of the same number, as in containers, may have left such a file.
  for (int i = 0; i < most_tries && file < 0 && (i == 0 || errno == EEXIST); ++i) {
    temporary = name + "." + std::to_string(getpid()) + "." + std::to_string(number++) + ".part";
    file = openat(descriptor_, temporary.c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  if (file < 0) return refuse(path_ / temporary, describe(errno));
  const base::TemporaryPath listed(path_ / temporary);
  int error = base::write_all(file, bytes);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0) {
    if (renameat(descriptor_, temporary.c_str(), descriptor_, name.c_str()) == 0) return true;
    error = errno;
  }
  unlinkat(descriptor_, temporary.c_str(), 0);
  return refuse(path_ / name, describe(error));
}

}  // namespace hiptool::kernel_store
