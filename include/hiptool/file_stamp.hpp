// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool {

/// The times of a file by which a change is noticed, in nanoseconds since 1970.
struct FileStamp {
  std::int64_t modified_ns = 0;  ///< mtime: of the contents; any program may set it back
  /// ctime: of contents, name, owner or permissions; only the system sets it, always to its clock.
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

}  // namespace hiptool
