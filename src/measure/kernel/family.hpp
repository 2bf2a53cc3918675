// SPDX-License-Identifier: MIT
/// Families of kernels, the options of their benchmark and its results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/kernel.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

/// One name that `run-kernel` takes.
struct KernelFamily {
  std::string name;         ///< "stream-triad"
  std::string group;        ///< "stream"; run-kernel accepts it for all of the group
  std::string description;  ///< what it does and what its size counts
  std::vector<std::string> dtypes;
  std::vector<std::string> usual_dtypes = {};  ///< run if none is chosen; empty: all
  bool is_operation = false;                   ///< of the library; `ops` runs it
  bool is_in_all = true;                       ///< `all` runs it
};

/// What runs where no size is chosen: bytes of one array, and the time limit of one series of
/// samples. On the cpu platform they are small: each kernel and operation, with all its types, is
/// to end within two seconds on two cores.
struct KernelDefaults {
  std::uint64_t size_bytes = 0;
  double time_budget_s = 0;
};
inline constexpr KernelDefaults gpu_kernel_defaults{std::uint64_t{256} << 20, 0.5};
inline constexpr KernelDefaults gpu_operation_defaults{std::uint64_t{256} << 20, 0.1};
inline constexpr KernelDefaults cpu_kernel_defaults{std::uint64_t{4} << 20, 0.05};
/// Of the operations that `all` runs, with few types.
inline constexpr KernelDefaults cpu_usual_operation_defaults{std::uint64_t{1} << 20, 0.05};
/// Of the other operations, with all types.
inline constexpr KernelDefaults cpu_operation_defaults{std::uint64_t{128} << 10, 0.02};
/// Of convolutions, which compute thousands of times as much as they read.
inline constexpr KernelDefaults cpu_convolution_defaults{std::uint64_t{32} << 10, 0.02};

/// The highest rate of a device, and its source.
struct Peak {
  double per_s = 0;
  std::string source;  ///< "memory-clock", "sku-table", "probe", "user"
};

struct KernelResult;

/// How far a kernel is that is repeated for a time.
struct KernelProgress {
  std::string id;
  double elapsed_s = 0;
  double soak_s = 0;
  double bytes_per_s = 0;  ///< of the last sample; 0: none are counted
  double flops_per_s = 0;
};

struct KernelBenchOptions {
  std::vector<std::string> names;   ///< families or groups; "all" (or none), "ops"
  std::vector<std::string> dtypes;  ///< only these; empty: the usual ones of the family
  /// Bytes of one array, one run for each; empty: defaults_of().
  std::vector<std::uint64_t> sizes_bytes;
  /// Instead of sizes: all arrays together take this share (0..1) of the free memory.
  std::optional<double> memory_share;
  /// Of operations: dimensions of an input instead of a size; empty: two-dimensional, of the size.
  std::vector<std::uint64_t> shape;
  std::vector<std::string> layouts;    ///< of operations: "packed", "transposed"; empty: packed
  std::uint64_t seed = 1;              ///< of the data of operations
  std::optional<std::size_t> samples;  ///< exactly this many; absent: until the noise is low
  double warm_up_s = 0;                ///< before the samples, at least; see SamplingOptions
  double soak_s = 0;                   ///< repeats a family this long, with a check each time
  std::optional<Peak> memory_peak;     ///< bytes per second; absent: memory has no share of peak
  /// Clock of the multiprocessors now; called while work is queued. May be empty.
  std::function<std::optional<double>()> clock_hz;
  /// Blocks for each multiprocessor instead of the number built in; to find a better one.
  std::optional<std::uint64_t> blocks_per_unit;
  const CancelToken* cancel = nullptr;
  /// Called with each result as soon as it is known; may be empty.
  std::function<void(const KernelResult&, std::size_t done, std::size_t total)> on_result;
  /// Called after each sample where soak_s is set; may be empty.
  std::function<void(const KernelProgress&)> on_progress;
  /// Looks up a kernel by its name in the registry; empty: the built-in ones. For tests.
  std::function<Kernel(std::string_view)> find_kernel;
};

using report::Status;
using report::WrongData;

/// One layout in the sweep of an operation with a type.
struct LayoutResult {
  std::string layout;
  std::uint64_t cases = 0;
  std::uint64_t checked = 0;       ///< elements
  std::string digest;              ///< of the output bytes of all cases, as join_digests() has it
  bool has_wrong = false;          ///< then the remaining cases were left out
  std::string reason;              ///< shape, data and what is wrong there
  std::optional<WrongData> wrong;  ///< elements, where the elements are wrong
};

/// A run of a kernel. The samples are of one launch, or of one step for latencies, bytes_per_s is
/// read plus written, flops_per_s counts integer operations too, and the limit is a peak. Until it
/// has run, size_bytes is the size that was requested.
struct KernelResult : report::Measurement {
  std::string kernel;
  std::string size_word;  ///< the size in the id: "1MiB", or "90%" of the memory; may be empty
  std::uint64_t elements = 0;
  /// Requests that were rounded to this size; empty without requests, for a share of the memory and
  /// for kernels without a size.
  std::vector<std::uint64_t> requested_sizes_bytes;
  std::optional<double> clock_hz;  ///< observed; absent if it cannot be read
  // Of operations.
  std::string group;        ///< of a sweep
  std::string digest;       ///< XXH3-64 of the output's elements; of a sweep, of all cases
  std::uint64_t cases = 0;  ///< of a sweep
  std::vector<LayoutResult> layouts;  ///< of a sweep
};

/// The result with what only kernels have in its details.
report::Measurement measurement_of(const KernelResult& result);

/// Says why a kernel did not run: skipped where the device or library cannot, else failed.
void note_failure(KernelResult& result, const Error& error);

/// "sum.f32.1MiB", "add.f32.4096x4096.transposed": its id without the device.
std::string label_of(const KernelResult& result);

}  // namespace hiptool::measure
