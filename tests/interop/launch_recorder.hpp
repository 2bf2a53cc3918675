// SPDX-License-Identifier: MIT
/// Writes down every kernel launch of the cpu platform, with its arguments and the memory that they
/// point to before and after it.
#pragma once
#include <memory>
#include <string>

#include "hip/binding.hpp"

namespace hiptool::test {

/// A folder gets launches.jsonl, an object a line: label, kernel, grid, block, shared_bytes,
/// arguments as [offset, bytes in hexadecimal], pointers as offsets of addresses among the
/// arguments, and memory, each allocation that one of them lies in: address, size_bytes, and where
/// in memory.bin its bytes before and after the launch are. One recorder at a time, one thread.
class LaunchRecorder {
 public:
  explicit LaunchRecorder(const std::string& folder);
  ~LaunchRecorder();
  LaunchRecorder(const LaunchRecorder&) = delete;
  LaunchRecorder& operator=(const LaunchRecorder&) = delete;

  /// The registry of this build with a recording table for the cpu platform.
  std::shared_ptr<hip::Binder> binder() const;

  /// Of the launches that follow.
  void set_label(const std::string& label);
  std::size_t launch_count() const;
};

}  // namespace hiptool::test
