// SPDX-License-Identifier: MIT
/// Average and max pooling by MIOpen or cuDNN, judged like the operations: every element of every
/// layout, whole numbers and reals, results that start as NaN between guards, each call twice.
/// library_pools [DEVICE] prints a line for each operation and type, and exits 1 unless all are
/// right. Exits 77 where no library computes.
#include <cstdio>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"
#include "measure/ops/operation.hpp"
#include "measure/ops/sweep.hpp"

using namespace hiptool;

int main(int argc, char** argv) try {
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = argc > 1 ? find_device(platforms, argv[1]) : default_device(platforms);
  const std::vector<measure::OperationEntry> poolings = measure::library_pool_operations();
  measure::SweepOptions options;
  options.operations = &poolings;
  options.sweep = measure::Sweep::full;
  bool is_right = true;
  bool is_missing = false;
  for (const measure::KernelResult& result : measure::sweep_operations(options, device)) {
    const bool is_ok = result.status == report::Status::ok;
    std::printf("%s %s: %s, %llu elements, error %.3g of its bound%s%s\n", result.kernel.c_str(),
                result.dtype.c_str(), is_ok ? "right" : "not right",
                static_cast<unsigned long long>(result.checked), result.max_error,
                result.reason.empty() ? "" : "; ", result.reason.c_str());
    is_right = is_right && is_ok;
    is_missing = is_missing || result.status == report::Status::skipped;
  }
  return is_right ? 0 : is_missing ? 77 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "library_pools: %s\n", error.what());
  return 1;
}
