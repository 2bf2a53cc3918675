// SPDX-License-Identifier: MIT
/// One matrix product or convolution with one implementation: judged, then timed.
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
#include "measure/kernel/family.hpp"
#include "measure/library/compute.hpp"
#include "measure/library/large_product.hpp"
#include "measure/library/problem.hpp"
#include "report/tree.hpp"

namespace hiptool::measure {

struct LibraryOptions {
  std::uint64_t seed = 1;
  std::optional<std::size_t> samples;  ///< timed; absent: until the noise is low
  double warm_up_s = 0;                ///< before the timed calls, at least; see SamplingOptions
  double judge_s = 5;  ///< for the comparison of one result; what takes longer is judged in part
  std::uint64_t large_bytes = large_data_bytes;  ///< of is_large_product()
  const CancelToken* cancel = nullptr;
  /// Called with each step that may hang before it starts: "opening cublas". May be empty.
  std::function<void(const std::string& step)> on_step;
};

/// The layout is empty and the tolerance 1: errors are shares of the bound.
struct LibraryResult : KernelResult {
  Problem problem;
  std::string library_version;
  std::string library_path;
  std::string data;         ///< that was wrong: "whole numbers"
  std::string where;        ///< of the wrong elements
  bool counts_all = true;   ///< else at least that many are wrong
  double judged_share = 1;  ///< of random data; whole numbers are always judged completely
  /// Why random data was judged in part: that many terms of sums the host computes in a second, in
  /// as many seconds as judge_s has.
  double terms_per_s = 0;
  bool has_same_bits = true;               ///< of two calls
  std::optional<double> share_of_fastest;  ///< absent where no other was measured
  std::string trap;                        ///< the public report that has this shape
  std::string scaled;                      ///< why the shape is not the reported one
};

/// The result with what only libraries have in its details.
report::Measurement measurement_of(const LibraryResult& result);

/// An empty result with its id: "matmul.bf16.4096x4096x4096.tn.rocblas@amd:0",
/// "conv2d.f16.n8c64h56w56:k64r3s3.miopen@amd:0".
LibraryResult start_result(const Problem& problem, const std::string& implementation,
                           const std::string& device);

/// Judges two calls each with whole and with random numbers, on outputs that start as NaN between
/// guard bytes, then times calls on the random numbers. A wrong result is not timed. A missing
/// library and a problem that it does not compute are skipped, an error of the call has failed.
/// Blocks. Throws Error(cancelled) only, unless there were samples before the cancellation, which
/// then count.
LibraryResult measure_problem(const Device& device, const Problem& problem,
                              const std::string& implementation, const LibraryOptions& options);

// ---- child.cpp

/// Where and how a child process measures.
struct LibraryChild {
  std::string program;
  double timeout_s = 300;
  std::vector<int> nvidia_ordinals;
  std::string system_root = "/";
};

/// The same in a process of its own: `program measure-library REQUEST RESULT`, two files. When it
/// aborts, crashes or takes too long, the result has failed and names the step.
LibraryResult measure_in_child(const LibraryChild& child, const Device& device,
                               const Problem& problem, const std::string& implementation,
                               const LibraryOptions& options);

/// What the child does: reads the request, measures and writes steps and result. Throws what the
/// choice of the device throws.
void run_library_child(
    const std::string& request_path, const std::string& result_path,
    const std::function<std::unique_ptr<Platforms>(Platforms::Options)>& make_platforms);

}  // namespace hiptool::measure
