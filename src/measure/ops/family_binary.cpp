// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include "hiptool/ops.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/elementwise.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

const char* describe(ops::Binary operation) {
  switch (operation) {
    case ops::Binary::add: return "x + y";
    case ops::Binary::sub: return "x - y";
    case ops::Binary::mul: return "x * y";
    case ops::Binary::div: return "x / y";
    case ops::Binary::minimum: return "the smaller of x and y; NaN stays";
    case ops::Binary::maximum: break;
  }
  return "the larger of x and y; NaN stays";
}

const char* describe(ops::Compare operation) {
  switch (operation) {
    case ops::Compare::eq: return "1 where x = y, else 0, as u8";
    case ops::Compare::ne: return "1 where x differs from y, else 0, as u8";
    case ops::Compare::lt: return "1 where x < y, else 0, as u8";
    case ops::Compare::le: return "1 where x <= y, else 0, as u8";
    case ops::Compare::gt: return "1 where x > y, else 0, as u8";
    case ops::Compare::ge: break;
  }
  return "1 where x >= y, else 0, as u8";
}

/// Quotients by zero and of the least number by -1, which random numbers of many bits do not have.
void put_rare_quotients(DType dtype, OperationCase& made) {
  InputData& x = made.inputs[0];
  InputData& y = made.inputs[1];
  const std::size_t size = element_size_bytes(dtype);
  const std::uint64_t count = x.bytes.size() / size;
  if (is_floating_point(dtype) || size < 4 || count < 4) return;
  put_number(y, count / 2, 0);
  if (dtype == DType::u32) return;
  put_number(x, count / 4, -std::ldexp(1.0L, static_cast<int>(8 * size - 1)));
  put_number(y, count / 4, -1);
}

void add_binary(std::vector<OperationEntry>& list, ops::Binary operation) {
  OperationEntry entry{
      std::string(ops::to_string(operation)), "binary", describe(operation), {}, 3};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  entry.cases = [operation](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    OperationCase made = elementwise_case(2, dtype, dims, maker, dtype);
    if (operation == ops::Binary::div) put_rare_quotients(dtype, made);
    made.run = [operation](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::binary_into(backend, out, operation, in[0], in[1]);
    };
    made.reference = [operation, dtype](std::span<const Values> in) -> Expected {
      return reference::binary(operation, dtype, in[0], in[1]);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

void add_compare(std::vector<OperationEntry>& list, ops::Compare operation) {
  OperationEntry entry{
      std::string(ops::to_string(operation)), "compare", describe(operation), {}, 3};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  entry.cases = [operation](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    OperationCase made = elementwise_case(2, dtype, dims, maker, DType::u8);
    made.run = [operation](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::compare_into(backend, out, operation, in[0], in[1]);
    };
    made.reference = [operation](std::span<const Values> in) -> Expected {
      return reference::compare(operation, in[0], in[1]);
    };
    return std::vector{std::move(made)};
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_binary_operations(std::vector<OperationEntry>& list) {
#define HIPTOOL_BINARY(name, ...) add_binary(list, ops::Binary::name);
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
}

void add_compare_operations(std::vector<OperationEntry>& list) {
#define HIPTOOL_COMPARE(name, ...) add_compare(list, ops::Compare::name);
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
}

}  // namespace hiptool::measure
