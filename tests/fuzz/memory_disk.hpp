// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

namespace hiptool::fuzz {

/// Files that are nowhere but in this program's memory: calls of the kernel for real ones take more
/// time than all else that an input does. There is one, with the root "/".
class MemoryDisk {
 public:
  static MemoryDisk& instance();

  /// Puts a file there, in place of the one of that name, and makes the folders above it. Behind
  /// its bytes come that many zeros. False where a file is in the way of a folder, or a folder is
  /// in the file's place. Nothing of the disk may be open.
  bool write(std::string_view path, std::string_view bytes, std::uint64_t zeros = 0);

  /// Puts a symbolic link there, which leads to `target`.
  bool link(std::string_view path, std::string_view target);

  /// Makes the folder and those above it, where they are not there yet.
  void make_folder(std::string_view path);

  /// Removes the file or the folder with all that is in it, if it is there.
  void remove(std::string_view path);
};

/// For as long as one of these exists, the functions of libc that open, read, list and look at
/// files see the disk in memory, whatever path they are given. Ends the process if a file is then
/// left open.
class InMemory {
 public:
  InMemory();
  ~InMemory();
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
};

}  // namespace hiptool::fuzz
