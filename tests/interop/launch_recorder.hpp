// SPDX-License-Identifier: MIT
/// Writes down every kernel launch of the cpu platform, with its arguments and the memory that they
/// point to before and after it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hip/binding.hpp"
#include "hiptool/dtype.hpp"

namespace hiptool::test {

/// An element for which other bits than the cpu platform's are right too.
struct Bounds {
  std::uint64_t offset_bytes;  ///< from the start of its allocation
  double least;
  double most;
};

/// A folder gets launches.jsonl, an object a line: label, kernel, grid, block, shared_bytes,
/// arguments as [offset, bytes in hexadecimal], pointers as offsets of addresses among the
/// arguments, and memory, each allocation that one of them lies in: address, size_bytes, where in
/// memory.bin each 64 KiB of its bytes before and after the launch are, and pointers, as of
/// arguments. Where results are bounded, bounds: the allocation's address, dtype, count, and where
/// in memory.bin they are. One recorder at a time, one thread.
class LaunchRecorder {
 public:
  explicit LaunchRecorder(const std::string& folder);
  ~LaunchRecorder();
  LaunchRecorder(const LaunchRecorder&) = delete;
  LaunchRecorder& operator=(const LaunchRecorder&) = delete;

  /// The registry of this build with a recording table for the cpu platform.
  std::shared_ptr<hip::Binder> binder() const;

  /// Of the launches that follow, whose results are to be the cpu platform's, bit for bit.
  void set_label(const std::string& label);
  /// Of elements that launches with this label write into the allocation at that address.
  void set_bounds(const void* address, DType dtype, const std::vector<Bounds>& bounds);
  /// Of the launches that follow: addresses that stand at multiples of 8 bytes in the allocation at
  /// that address are pointers too.
  void follow(const void* table);
  /// Of launches with this label: at most so many blocks along x, because an emulator needs seconds
  /// for what a thousand blocks do alike.
  void launch_first_blocks(unsigned count);
  std::size_t launch_count() const;
};

}  // namespace hiptool::test
