// SPDX-License-Identifier: MIT
/// Runs a user's kernel with given arguments, times it and checks its results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/kernel.hpp"
#include "user_kernel/arguments.hpp"
#include "user_kernel/comparison.hpp"
#include "user_kernel/device_arguments.hpp"

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
  std::optional<Tolerance> tolerance;    ///< of buffers of reals
  std::uint64_t samples = 1;
  std::uint64_t bytes = 0;  ///< of one launch, by the user's count; 0: unknown, as the next one
  std::uint64_t flops = 0;
  bool is_cold = false;       ///< caches are flushed before each launch: see CacheFlush
  std::uint64_t seed = 1;     ///< of poison
  std::uint64_t repeats = 1;  ///< launches that are checked, each with new buffers
  const CancelToken* cancel = nullptr;
};

/// Elements of a buffer that still have their poison after every repeat.
struct Unwritten {
  std::size_t argument = 0;
  std::uint64_t count = 0;
  std::uint64_t first_index = 0;
};

/// The first buffer that a repeat left otherwise than the first one.
struct RepeatDifference {
  std::uint64_t repeat = 0;  ///< from 1 on
  WrongData wrong;           ///< expected: what the first one left there
};

struct UserKernelResult {
  std::uint64_t checked = 0;        ///< elements compared
  std::optional<double> max_error;  ///< of reals: the greatest |got - expected|
  std::optional<WrongData> wrong;
  std::uint64_t refused_zeros = 0;    ///< see BufferComparison
  std::vector<OutsideWrite> outside;  ///< by the first launch
  std::vector<Unwritten> unwritten;   ///< only of several repeats
  std::optional<RepeatDifference> difference;
  /// XXH3-64 of all buffers after the first launch; elements that keep their poison count as zero.
  /// Only of several repeats.
  std::optional<std::uint64_t> digest;
  std::vector<BufferContents> outputs;
  std::uint64_t repeats = 1;     ///< launches whose results were checked
  bool was_interrupted = false;  ///< cancelled after the first launch: fewer repeats or samples
  std::vector<double> samples_s;
  /// Why the clocks were held down during each sample; empty texts: they were not. No texts: it is
  /// not known of each of them.
  std::vector<std::string> throttle_reasons;
  std::uint64_t flush_bytes = 0;  ///< written before each launch; 0: caches are warm

  bool is_right() const { return !wrong && outside.empty() && unwritten.empty() && !difference; }
  bool is_device_time = true;
};

/// Says why the clocks are held down now, and nothing if that is unknown from now on; called while
/// the kernel runs.
using ThrottleQuestion = std::function<std::optional<std::string>()>;

/// Launches once, checks and returns the results of that launch, and measures: that launch itself
/// for one sample; for more, as many further launches, each with the initial contents of the
/// buffers. With several repeats it launches so often with newly allocated buffers, and compares
/// what they leave. Blocks until all are done. Throws Error(invalid_argument) for a bad grid, block
/// or shared memory before anything runs, Error(out_of_memory), else the error of the runtime.
/// Cancelled before the first launch ended it throws Error(cancelled), afterwards it returns what
/// was measured. A kernel that runs cannot be stopped: then its stream, buffers and module are
/// never released.
UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run,
                                 const ThrottleQuestion& throttled = {});

}  // namespace hiptool::user_kernel
