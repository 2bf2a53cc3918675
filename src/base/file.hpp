// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "hiptool/error.hpp"

namespace hiptool::base {

/// The times of a file that show a change, in nanoseconds since 1970.
struct FileStamp {
  std::int64_t modified_ns = 0;  ///< mtime: of the contents; any program may set it back
  /// ctime: of contents, name, owner or permissions; only the system sets it, always to its clock.
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// A file opened for reading; owning and move-only. Reads are pread: threads may share one object.
class File {
 public:
  /// Throws Error(input_failed) with the path and the system's reason; a folder, pipe or device is
  /// refused too (a model must have a size and must not block). A file that changed within the
  /// current tick of the system's clock (at most 10 ms) is waited for until the tick is over,
  /// because a second change in the same tick leaves the same time.
  static File open(const std::filesystem::path& path);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }  ///< when it was opened
  const FileStamp& stamp() const noexcept { return stamp_; }         ///< when it was opened
  const std::filesystem::path& path() const noexcept { return path_; }
  int descriptor() const noexcept { return descriptor_.get(); }

  /// Fills the whole span from the offset, retrying short and interrupted reads. Throws
  /// Error(input_failed) with path and offset when the file ends before or cannot be read.
  void read_at(std::span<std::byte> destination, std::uint64_t offset) const;

  /// Throws Error(input_failed), which names the change, if size or times differ from those given
  /// or the path names another file by now. Removing a file moves its ctime and so counts as a
  /// change: an earlier write can no longer be excluded.
  void check_unchanged(std::uint64_t size_bytes, const FileStamp& stamp) const;

  /// The errors of read_at for a file that ends too early and for an errno.
  Error ended_early(std::uint64_t offset, std::uint64_t missing_bytes) const;
  Error unreadable(std::uint64_t offset, int number) const;

 private:
  File(Descriptor descriptor, std::filesystem::path path);
  Descriptor descriptor_;
  std::filesystem::path path_;
  std::uint64_t size_bytes_ = 0;
  FileStamp stamp_;
};

/// A small text file (below /sys, /proc) whole, without its last line end; empty when it cannot be
/// read. At most 1 MiB is read.
std::string read_small_file(const std::filesystem::path& path);

/// Writes all bytes, repeats interrupted calls, and waits where a pipe is full and non-blocking.
/// Returns the errno of a failure, else 0. Safe in a signal handler.
int write_all(int descriptor, std::string_view bytes) noexcept;

/// Paths of a folder's entries, sorted; empty for a folder that cannot be read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Whether the path exists; false where that is unknown.
bool is_there(const std::filesystem::path& path) noexcept;

}  // namespace hiptool::base
