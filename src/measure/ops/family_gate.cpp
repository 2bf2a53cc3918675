// SPDX-License-Identifier: MIT
#include <string>

#include "hiptool/ops_rows.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/rows.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

void add_gate(std::vector<OperationEntry>& list, const char* name, const char* activation,
              ops::Gate kind) {
  OperationEntry entry{name,
                       "gate",
                       std::string(activation) + "(x) * y",
                       {DType::f16, DType::bf16, DType::f32, DType::f64},
                       3};
  entry.is_exact = false;
  if (kind == ops::Gate::silu) {
    entry.usual_dtypes = {DType::f32};
    entry.flops = 5;
  }
  entry.cases = [kind](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    OperationCase made = elementwise_case(2, dtype, dims, maker, dtype);
    made.run = [kind](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::gate_into(backend, out, kind, in[0], in[1]);
    };
    made.reference = [kind, dtype](std::span<const Values> in) -> Expected {
      return reference::gate(dtype, kind, in[0], in[1]);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_gate_operations(std::vector<OperationEntry>& list) {
  add_gate(list, "swiglu", "silu", ops::Gate::silu);
  add_gate(list, "gate_gelu", "gelu", ops::Gate::gelu);
  add_gate(list, "gate_gelu_erf", "gelu_erf", ops::Gate::gelu_erf);
  add_gate(list, "gate_relu", "relu", ops::Gate::relu);
  add_gate(list, "gate_sigmoid", "sigmoid", ops::Gate::sigmoid);
}

}  // namespace hiptool::measure
