// SPDX-License-Identifier: MIT
// What runs where no size is chosen, counted in bytes and operations: on the cpu platform each
// kernel and operation is to end within two seconds.
#include <doctest/doctest.h>

#include <algorithm>

#include "measure/kernel_bench.hpp"
#include "measure/ops/operation.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

double bytes_of(DType dtype, const Dims& dims) {
  return static_cast<double>(Layout(dims).element_count() * element_size_bytes(dtype));
}

constexpr double most_bytes = 32 << 20;
constexpr double most_flops = 20e6;

struct Work {
  double bytes = 0;
  double flops = 0;
};

/// Of one run of the first case, which is the one that is timed.
Work work_of(const OperationEntry& operation, DType dtype, std::uint64_t size_bytes) {
  const Dims dims = dims_of_size(operation, size_bytes, dtype);
  InputMaker maker(DataKind::none, 1);
  const std::vector<OperationCase> cases = operation.cases(dtype, dims, maker);
  REQUIRE_MESSAGE(!cases.empty(), operation.name, " has no case of its default size");
  Work work;
  for (const InputData& input : cases[0].inputs) work.bytes += bytes_of(input.dtype, input.dims);
  work.bytes += bytes_of(cases[0].result_dtype, cases[0].result_dims);
  work.flops =
      std::max(cases[0].flops, operation.flops * static_cast<double>(Layout(dims).element_count()));
  return work;
}

}  // namespace

TEST_CASE("the count of work sees a default that takes minutes on cpu") {
  const OperationEntry& operation = *find_operation("conv_transpose2d");
  CHECK(work_of(operation, DType::f32, 1 << 20).flops > 10 * most_flops);
  CHECK(work_of(*find_operation("add"), DType::f32, 256 << 20).bytes > 10 * most_bytes);
}

TEST_CASE("on cpu the defaults of each operation, with all its types, are little work") {
  for (const KernelFamily& family : list_kernels()) {
    if (!family.is_operation) continue;
    const OperationEntry& operation = *find_operation(family.name);
    Work all;
    for (const std::string& name :
         family.usual_dtypes.empty() ? family.dtypes : family.usual_dtypes) {
      const Work one =
          work_of(operation, *dtype_from_name(name), defaults_of(family, true).size_bytes);
      all.bytes += one.bytes;
      all.flops += one.flops;
    }
    CAPTURE(family.name);
    CHECK(all.bytes > 0);
    CHECK(all.bytes <= most_bytes);
    CHECK(all.flops <= most_flops);
  }
}

TEST_CASE("on cpu the defaults of kernels are small, and the time for samples is short") {
  double all_s = 0;
  for (const KernelFamily& family : list_kernels()) {
    const KernelDefaults defaults = defaults_of(family, true);
    const auto& types = family.usual_dtypes.empty() ? family.dtypes : family.usual_dtypes;
    CAPTURE(family.name);
    CHECK(defaults.size_bytes <= (std::uint64_t{4} << 20));
    CHECK(static_cast<double>(types.size()) * defaults.time_budget_s <= 1.5);
    if (family.is_in_all) all_s += static_cast<double>(types.size()) * defaults.time_budget_s;
  }
  CHECK(all_s <= 5);
}

TEST_CASE("on GPUs the defaults are 256 MiB") {
  for (const KernelFamily& family : list_kernels()) {
    CHECK(defaults_of(family, false).size_bytes == std::uint64_t{256} << 20);
    CHECK(defaults_of(family, false).time_budget_s == (family.is_in_all ? 0.5 : 0.1));
  }
}
