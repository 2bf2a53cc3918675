// SPDX-License-Identifier: MIT
#include <initializer_list>
#include <string>
#include <utility>

#include "hiptool/ops.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/unary.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

std::string describe(ops::Unary operation) {
  switch (operation) {
    case ops::Unary::neg: return "-x";
    case ops::Unary::abs: return "|x|";
    case ops::Unary::sqr: return "x * x";
    case ops::Unary::relu: return "the larger of x and 0; NaN stays";
    case ops::Unary::sign: return "-1, 0 or 1; 0 for NaN";
    case ops::Unary::floor: return "x rounded down";
    case ops::Unary::ceil: return "x rounded up";
    case ops::Unary::round: return "x rounded to a whole number, ties away from 0";
    case ops::Unary::recip: return "1 / x";
    case ops::Unary::sqrt: return "square root of x";
    case ops::Unary::rsqrt: return "1 / square root of x";
    case ops::Unary::exp: return "e to the power x";
    case ops::Unary::log: return "natural logarithm of x";
    case ops::Unary::erf: return "error function of x";
    case ops::Unary::normcdf: return "standard normal distribution at x";
    case ops::Unary::sigmoid: return "1 / (1 + exp(-x))";
    case ops::Unary::silu: return "x * sigmoid(x)";
    case ops::Unary::gelu: return "x * normcdf(x), approximated by tanh";
    case ops::Unary::gelu_erf: return "x * normcdf(x)";
    default: return std::string(ops::to_string(operation)) + "(x)";
  }
}

OperationEntry entry_of_floats(std::string name, std::string description) {
  OperationEntry entry{std::move(name), "unary", std::move(description), {}};
  for (const DType dtype : dtypes) {
    if (is_floating_point(dtype)) entry.dtypes.push_back(dtype);
  }
  return entry;
}

void add_unary(std::vector<OperationEntry>& list, ops::Unary operation) {
  OperationEntry entry =
      entry_of_floats(std::string(ops::to_string(operation)), describe(operation));
  // Whether there is slack depends on nothing but the operation.
  entry.is_exact = reference::unary(operation, DType::f32, {{1}, {0.5L}}).slack.empty();
  entry.cases = [operation](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    OperationCase made = elementwise_case(1, dtype, dims, maker, dtype);
    made.run = [operation](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::unary_into(backend, out, operation, in[0]);
    };
    made.reference = [operation, dtype](std::span<const Values> in) -> Expected {
      return reference::unary(operation, dtype, in[0]);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

/// A parameter and how a variant names it.
struct NamedNumber {
  const char* variant;
  double number;
};

using RunWithNumber = void (*)(const Backend&, Tensor& out, const Tensor& x, double number);
using ReferenceWithNumber = Expected (*)(DType dtype, const Values& x, double number);

void add_with_number(std::vector<OperationEntry>& list, OperationEntry entry, RunWithNumber run,
                     ReferenceWithNumber reference, std::vector<NamedNumber> numbers) {
  entry.is_exact = false;
  entry.cases = [=](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const OperationCase common = elementwise_case(1, dtype, dims, maker, dtype);
    std::vector<OperationCase> cases;
    for (const NamedNumber& one : numbers) {
      OperationCase made = common;
      const double number = one.number;
      made.variant = one.variant;
      made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
        run(backend, out, in[0], number);
      };
      made.reference = [=](std::span<const Values> in) { return reference(dtype, in[0], number); };
      cases.push_back(std::move(made));
    }
    return cases;
  };
  list.push_back(std::move(entry));
}

void add_affine(std::vector<OperationEntry>& list) {
  OperationEntry entry{"affine", "unary", "x * factor + addend, rounded after each", {}};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  entry.cases = [](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    const OperationCase common = elementwise_case(1, dtype, dims, maker, dtype);
    std::vector<OperationCase> cases;
    const auto add = [&](const char* variant, ops::Scalar factor, ops::Scalar addend) {
      OperationCase made = common;
      made.variant = variant;
      made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
        ops::affine_into(backend, out, in[0], factor, addend);
      };
      made.reference = [=](std::span<const Values> in) {
        return reference::affine(dtype, in[0], factor, addend);
      };
      cases.push_back(std::move(made));
    };
    add("-3 x + 5", -3, 5);
    if (is_floating_point(dtype)) add("2.7 x - 0.3", 2.7, -0.3);  // both inexact in every type
    return cases;
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_unary_operations(std::vector<OperationEntry>& list) {
  for (const ops::Unary operation : ops::unary_operations) add_unary(list, operation);
  add_with_number(list, entry_of_floats("powf", "x to the power of a number"), ops::powf_into,
                  reference::powf, {{"to the power 2.5", 2.5}, {"to the power -3", -3}});
  add_with_number(list, entry_of_floats("elu", "x where x > 0, else alpha * (exp(x) - 1)"),
                  ops::elu_into, reference::elu, {{"alpha 0.7", 0.7}, {"alpha -2", -2}});
  add_affine(list);
}

}  // namespace hiptool::measure
