// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "base/file.hpp"

namespace hiptool::load {

/// A second descriptor of an open file that reads past the page cache (O_DIRECT). Owning and
/// move-only; empty where the file cannot be read so, with the reason.
class DirectFile {
 public:
  /// Of the same file as `file`, whatever its path names by now. With `is_forced` also on file
  /// systems where direct reads are known to gain nothing. Never throws.
  static DirectFile open(const base::File& file, bool is_forced);

  DirectFile() = default;
  ~DirectFile();
  DirectFile(DirectFile&& other) noexcept;
  DirectFile& operator=(DirectFile&& other) noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  /// Offsets, sizes and addresses of reads must be multiples of it; a power of two.
  std::uint64_t alignment_bytes() const noexcept { return alignment_bytes_; }
  const std::string& refusal() const noexcept { return refusal_; }

 private:
  static DirectFile refused(std::string why);

  int descriptor_ = -1;
  std::uint64_t alignment_bytes_ = 0;
  std::string refusal_;
};

/// Name of a file system that is read directly only on request, by statfs(2)'s
/// f_type: kinds that live in memory, that hand reads on to another one, and kinds of networks,
/// where the page cache's read-ahead is what hides the latency. Null for all others.
const char* indirect_file_system(std::uint64_t type) noexcept;

}  // namespace hiptool::load
