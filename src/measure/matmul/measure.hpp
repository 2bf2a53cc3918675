// SPDX-License-Identifier: MIT
/// One matrix product with one implementation: judged, then timed.
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
#include "measure/kernel/bench.hpp"
#include "measure/matmul/problem.hpp"
#include "report/tree.hpp"

namespace hiptool::measure {

/// "own", "own-exact", and the libraries of all platforms: what --lib takes besides "all".
std::vector<std::string> matmul_implementations();
/// Ours and the platform's libraries, for "all".
std::vector<std::string> matmul_implementations(Platform platform);
/// Whether it is code of a vendor, which may abort or hang: then it runs in a child process.
bool is_library(std::string_view implementation);

struct MatmulOptions {
  std::uint64_t seed = 1;
  std::optional<std::size_t> samples;  ///< timed; absent: until the noise is low
  double judge_s = 5;  ///< for the comparison of one result; what takes longer is judged in part
  const CancelToken* cancel = nullptr;
  /// Called with each step that may hang before it starts: "opening cublas". May be empty.
  std::function<void(const std::string& step)> on_step;
};

/// The kernel is "matmul", the layout empty and the tolerance 1: errors are shares of the bound.
struct MatmulResult : KernelResult {
  MatmulProblem problem;
  std::string implementation;
  std::string library_version;
  std::string library_path;
  std::string data;         ///< that was wrong: "whole numbers"
  std::string where;        ///< of the wrong elements
  bool counts_all = true;   ///< else at least so many are wrong
  double judged_share = 1;  ///< of random data; whole numbers are always judged completely
  /// Why random data was judged in part: so many terms of sums the host computes in a second, in
  /// as many seconds as judge_s has.
  double terms_per_s = 0;
  bool has_same_bits = true;               ///< of two calls
  std::optional<double> share_of_fastest;  ///< absent where no other was measured
  std::string trap;                        ///< the public report that has this shape
  std::string scaled;                      ///< why the shape is not the reported one
};

/// An empty result with its id: "matmul.bf16.4096x4096x4096.tn.rocblas@amd:0".
MatmulResult start_matmul_result(const MatmulProblem& problem, const std::string& implementation,
                                 const std::string& device);

/// Judges two calls each with whole and with random numbers, on outputs that start as NaN between
/// guard bytes, then times calls on the random numbers. A wrong result is not timed. A missing
/// library and a product that it does not compute are skipped, an error of the call has failed.
/// Blocks. Throws Error(cancelled) only.
MatmulResult measure_matmul(const Device& device, const MatmulProblem& problem,
                            const std::string& implementation, const MatmulOptions& options);

// ---- child.cpp

/// Where and how a child process measures.
struct MatmulChild {
  std::string program;
  double timeout_s = 300;
  std::vector<int> nvidia_ordinals;
  std::string system_root = "/";
};

/// The same in a process of its own: `program measure-matmul REQUEST RESULT`, two files. When it
/// aborts, crashes or takes too long, the result has failed and names the step.
MatmulResult measure_matmul_in_child(const MatmulChild& child, const Device& device,
                                     const MatmulProblem& problem,
                                     const std::string& implementation,
                                     const MatmulOptions& options);

/// What the child does: reads the request, measures and writes steps and result. Throws what the
/// choice of the device throws.
void run_matmul_child(
    const std::string& request_path, const std::string& result_path,
    const std::function<std::unique_ptr<Platforms>(Platforms::Options)>& make_platforms);

}  // namespace hiptool::measure
