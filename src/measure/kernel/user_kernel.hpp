// SPDX-License-Identifier: MIT
/// Runs a kernel of the user with given arguments, times it and compares what it wrote.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/kernel.hpp"
#include "measure/kernel/arguments.hpp"

namespace hiptool::measure {

/// What a buffer shall hold after the launch, byte for byte or, for reals, within a tolerance.
struct ExpectedBuffer {
  std::size_t argument = 0;
  std::vector<std::byte> bytes;  ///< as many as the buffer has
};

struct UserKernelRun {
  LaunchConfig config;
  std::vector<KernelArgument> arguments;
  std::vector<std::size_t> outputs;  ///< arguments whose buffers are wanted back
  std::vector<ExpectedBuffer> expected;
  /// Of buffers of reals: |got - expected| <= tolerance * max(1, |expected|). Two NaN agree.
  std::optional<double> tolerance;
  std::uint64_t samples = 1;
  const CancelToken* cancel = nullptr;
};

using report::WrongData;

/// What a kernel changed around a buffer, as far as 4096 bytes before and behind it.
struct OutsideWrite {
  std::size_t argument = 0;
  std::uint64_t before_bytes = 0;
  std::uint64_t behind_bytes = 0;
};

struct OutputBuffer {
  std::size_t argument = 0;
  std::vector<std::byte> bytes;
};

struct UserKernelResult {
  std::uint64_t checked = 0;        ///< elements compared
  std::optional<double> max_error;  ///< of reals: the greatest |got - expected|
  std::optional<WrongData> wrong;
  std::vector<OutsideWrite> outside;  ///< by the first launch
  std::vector<OutputBuffer> outputs;
  std::vector<double> samples_s;

  bool is_right() const { return !wrong && outside.empty(); }
  bool is_device_time = true;
};

/// Launches once, keeps and checks what that launch wrote, and measures: that launch itself for one
/// sample; for more, as many launches after it, each with the buffers as they were at first. Blocks
/// until all are done. Throws Error(invalid_argument) for a bad grid, block or shared memory before
/// anything runs, Error(out_of_memory), else what the runtime answered. Throws Error(cancelled)
/// also while a kernel runs, which nothing can end: then the kernel keeps what it uses, and its
/// stream, buffers and module are never released.
UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run);

/// Compares one buffer; for tests apart from devices. `again` is what a second reading gave.
struct BufferComparison {
  std::optional<double> max_error;
  std::optional<WrongData> wrong;  ///< without `reread_agrees`
};
BufferComparison compare_buffer(ElementType type, std::span<const std::byte> got,
                                std::span<const std::byte> expected,
                                std::optional<double> tolerance);

}  // namespace hiptool::measure
