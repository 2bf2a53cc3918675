// SPDX-License-Identifier: MIT
/// Puts a file's pages out of the page cache, for tests of cold reads.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "system/residency.hpp"

namespace hiptool::test {

/// Why a case that needs a cold file skips.
constexpr const char* no_cold_file =
    "the file system of the temporary folder keeps cached pages or refuses direct reads";

/// True if nothing of the file is cached afterwards; some file systems (tmpfs) have nowhere to drop
/// pages to.
inline bool evict(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  fsync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
  return system::cached_bytes(path).value_or(1) == 0;
}

}  // namespace hiptool::test
