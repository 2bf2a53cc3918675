// SPDX-License-Identifier: MIT
/// Runs a user's kernel with given arguments, times it and checks its results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/kernel.hpp"
#include "user_kernel/arguments.hpp"

namespace hiptool::user_kernel {

/// The contents of the buffer of an argument.
struct BufferContents {
  std::size_t argument = 0;
  std::vector<std::byte> bytes;
};

struct UserKernelRun {
  LaunchConfig config;
  std::vector<KernelArgument> arguments;
  std::vector<std::size_t> outputs;      ///< arguments whose buffers are returned
  std::vector<BufferContents> expected;  ///< of whole buffers
  /// Of buffers of reals: |got - expected| <= tolerance * max(1, |expected|). Two NaN agree.
  std::optional<double> tolerance;
  std::uint64_t samples = 1;
  std::uint64_t bytes = 0;  ///< of one launch, by the user's count; 0: unknown, as the next one
  std::uint64_t flops = 0;
  const CancelToken* cancel = nullptr;
};

using report::WrongData;

/// Bytes that a kernel changed in the 4096 bytes before and after a buffer.
struct OutsideWrite {
  std::size_t argument = 0;
  std::uint64_t before_bytes = 0;
  std::uint64_t behind_bytes = 0;
};

struct UserKernelResult {
  std::uint64_t checked = 0;        ///< elements compared
  std::optional<double> max_error;  ///< of reals: the greatest |got - expected|
  std::optional<WrongData> wrong;
  std::vector<OutsideWrite> outside;  ///< by the first launch
  std::vector<BufferContents> outputs;
  std::vector<double> samples_s;

  bool is_right() const { return !wrong && outside.empty(); }
  bool is_device_time = true;
};

/// Launches once, checks and returns the results of that launch, and measures: that launch itself
/// for one sample; for more, as many further launches, each with the initial contents of the
/// buffers. Blocks until all are done. Throws Error(invalid_argument) for a bad grid, block or
/// shared memory before anything runs, Error(out_of_memory), else the error of the runtime. Throws
/// Error(cancelled) also while a kernel runs, which cannot be stopped: then its stream, buffers and
/// module are never released.
UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run);

/// Compares one buffer; public for tests without a device.
struct BufferComparison {
  std::optional<double> max_error;
  std::optional<WrongData> wrong;  ///< without `reread_agrees`
};
BufferComparison compare_buffer(ElementType type, std::span<const std::byte> got,
                                std::span<const std::byte> expected,
                                std::optional<double> tolerance);

}  // namespace hiptool::user_kernel
