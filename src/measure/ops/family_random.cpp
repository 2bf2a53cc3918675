// SPDX-License-Identifier: MIT
#include "hiptool/ops_move.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/random.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

void add_random(std::vector<OperationEntry>& list, bool is_normal) {
  OperationEntry entry{
      is_normal ? "rand_normal" : "rand_uniform",
      "random",
      is_normal ? "normally distributed numbers of a seed" : "numbers of a seed between two limits",
      {},
      1,
      false,
      !is_normal};
  for (const DType dtype : dtypes) {
    if (is_floating_point(dtype)) entry.dtypes.push_back(dtype);
  }
  entry.repeats = Repeats::never;
  entry.cases = [is_normal](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const std::uint64_t seed = maker.next();
    const Dims shape(dims.begin(), dims.end());
    OperationCase made;
    made.result_dtype = dtype;
    made.result_dims = shape;
    made.run = [=](const Backend& backend, std::span<const Tensor>, Tensor& out) {
      if (is_normal) return ops::rand_normal_into(backend, out, seed, 0.5, 2);
      ops::rand_uniform_into(backend, out, seed, -1, 3);
    };
    made.reference = [=](std::span<const Values>) -> Expected {
      return is_normal ? reference::rand_normal(dtype, shape, seed, 0.5, 2)
                       : reference::rand_uniform(dtype, shape, seed, -1, 3);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_random_operations(std::vector<OperationEntry>& list) {
  add_random(list, false);
  add_random(list, true);
}

}  // namespace hiptool::measure
