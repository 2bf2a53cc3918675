// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "ops/scalar.hpp"

namespace hiptool::ops {
namespace {

constexpr std::array unary_dtypes{DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};

/// An operation's name, the family of its kernels in kernels/ops/unary.hip, and its number there.
struct UnaryEntry {
  const char* name;
  const char* family;
  std::uint32_t number;
};

enum class ShortNumber : std::uint32_t {
#define HIPTOOL_UNARY(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
};
enum class FunctionNumber : std::uint32_t {
#define HIPTOOL_FUNCTION(name, ...) name,
#define HIPTOOL_FUNCTION_WITH(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_FUNCTION
#undef HIPTOOL_FUNCTION_WITH
};

/// Those that f16 and bf16 have kernels of their own for, in kernels/ops/narrow.hip, and the pieces
/// that a thread of these has.
struct NarrowEntry {
  const char* name;
  std::uint32_t pieces;
};
constexpr NarrowEntry narrow_entries[] = {
#define HIPTOOL_NARROW(name, pieces, ...) {#name, pieces},
#include <hiptool_narrow.def>
#undef HIPTOOL_NARROW
};

constexpr UnaryEntry unary_entries[] = {
#define HIPTOOL_UNARY(name, ...) {#name, "unary", static_cast<std::uint32_t>(ShortNumber::name)},
#define HIPTOOL_FUNCTION(name, ...) \
  {#name, "function", static_cast<std::uint32_t>(FunctionNumber::name)},
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
#undef HIPTOOL_FUNCTION
};

/// The type that kernels compute with.
const char* computed_as(DType dtype) {
  if (!is_floating_point(dtype)) return "i64";
  return dtype == DType::f64 ? "f64" : "f32";
}

/// Launches a kernel of that family with these arguments; the tensors have been checked.
template <class... Arguments>
void launch_unary(const Backend& backend, const char* family, const Tensor& x, Tensor& out,
                  const Arguments&... arguments) {
  const std::uint64_t count = out.element_count();
  if (count == 0) return;
  const DType dtype = x.dtype();
  const std::uint32_t run = dtype == DType::f64 ? 2 : 4;  // InMemory<>::length
  const std::array<const Tensor*, 2> tensors{&x, &out};
  const std::string stem = std::string("hiptool_") + family + "_";
  if (are_packed(tensors)) {
    const Kernel kernel =
        state_of(backend).kernel("ops_unary", stem + "packed_" + computed_as(dtype));
    launch_elements(backend, kernel, count, run, arguments..., type_number(dtype), count,
                    x.address(), out.address());
    return;
  }
  const Kernel kernel = state_of(backend).kernel("ops_unary", stem + computed_as(dtype));
  const auto operands = make_operands<2>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, arguments..., type_number(dtype), operands,
                  x.address(), out.address());
}

/// False: there is no such kernel.
bool launch_narrow(const Backend& backend, std::string_view name, const Tensor& x, Tensor& out) {
  const DType dtype = x.dtype();
  const auto* const entry = std::ranges::find(narrow_entries, name, &NarrowEntry::name);
  if ((dtype != DType::f16 && dtype != DType::bf16) || entry == std::end(narrow_entries)) {
    return false;
  }
  const std::uint64_t count = out.element_count();
  if (count == 0) return true;
  const std::array<const Tensor*, 2> tensors{&x, &out};
  const std::string type(to_string(dtype));
  const std::uint32_t run = run_of(dtype);
  if (are_packed(tensors)) {
    const Kernel kernel =
        state_of(backend).kernel("ops_narrow", "hiptool_narrow_" + std::string(name) + "_" + type);
    // Blocks of half as many threads as elsewhere reach 3 % more of the memory's rate (H200).
    launch(kernel, elements_grid(count, entry->pieces * run, 128), backend.stream(), count,
           x.address(), out.address());
    return true;
  }
  const Kernel kernel = state_of(backend).kernel("ops_narrow", "hiptool_narrow_" + type);
  const auto operands = make_operands<2>(tensors, run);
  const auto number = static_cast<std::uint32_t>(entry - std::begin(narrow_entries));
  launch_elements(backend, kernel, count, operands.run, number, operands, x.address(),
                  out.address());
  return true;
}

void check_unary(const Backend& backend, std::string_view name, const Tensor& x, Tensor& out) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, name, tensors);
  require_output(name, std::span(tensors).first(1), out, x.dtype(), x.dims());
}

void apply_function(const Backend& backend, const UnaryEntry& entry, const Tensor& x,
                    double parameter, Tensor& out) {
  require_dtype(entry.name, x, unary_dtypes);
  check_unary(backend, entry.name, x, out);
  if (launch_narrow(backend, entry.name, x, out)) return;
  if (std::string_view(entry.family) == "unary") {
    launch_unary(backend, entry.family, x, out, entry.number);
    return;
  }
  const double p = real_in(parameter, x.dtype());
  if (x.dtype() == DType::f64) {
    launch_unary(backend, entry.family, x, out, entry.number, p);
  } else {
    launch_unary(backend, entry.family, x, out, entry.number, static_cast<float>(p));
  }
}

constexpr UnaryEntry powf_entry{"powf", "function",
                                static_cast<std::uint32_t>(FunctionNumber::powf)};
constexpr UnaryEntry elu_entry{"elu", "function", static_cast<std::uint32_t>(FunctionNumber::elu)};

}  // namespace

std::string_view to_string(Unary operation) noexcept {
  const auto place = static_cast<std::size_t>(operation);
  return place < std::size(unary_entries) ? unary_entries[place].name : unknown_name;
}

void unary_into(const Backend& backend, Tensor& out, Unary operation, const Tensor& x) {
  require_known("unary", to_string(operation));
  apply_function(backend, unary_entries[static_cast<std::size_t>(operation)], x, 0, out);
}

Tensor unary(const Backend& backend, Unary operation, const Tensor& x) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  unary_into(backend, out, operation, x);
  return out;
}

void powf_into(const Backend& backend, Tensor& out, const Tensor& x, double exponent) {
  apply_function(backend, powf_entry, x, exponent, out);
}

Tensor powf(const Backend& backend, const Tensor& x, double exponent) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  powf_into(backend, out, x, exponent);
  return out;
}

void elu_into(const Backend& backend, Tensor& out, const Tensor& x, double alpha) {
  apply_function(backend, elu_entry, x, alpha, out);
}

Tensor elu(const Backend& backend, const Tensor& x, double alpha) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  elu_into(backend, out, x, alpha);
  return out;
}

void affine_into(const Backend& backend, Tensor& out, const Tensor& x, Scalar factor,
                 Scalar addend) {
  check_unary(backend, "affine", x, out);
  const DType dtype = x.dtype();
  if (!is_floating_point(dtype)) {
    launch_unary(backend, "affine", x, out, whole_in(factor, dtype), whole_in(addend, dtype));
  } else if (dtype == DType::f64) {
    launch_unary(backend, "affine", x, out, real_in(factor, dtype), real_in(addend, dtype));
  } else {
    launch_unary(backend, "affine", x, out, static_cast<float>(real_in(factor, dtype)),
                 static_cast<float>(real_in(addend, dtype)));
  }
}

Tensor affine(const Backend& backend, const Tensor& x, Scalar factor, Scalar addend) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  affine_into(backend, out, x, factor, addend);
  return out;
}

void row_bias_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& bias) {
  const std::array<const Tensor*, 3> tensors{&x, &bias, &out};
  require_device(backend, "row_bias", tensors);
  require_same_dtype("row_bias", x, bias);
  if (x.dims().size() != 2 || bias.dims().size() != 1 || bias.dims()[0] != x.dims()[1]) {
    throw Error(
        ErrorCode::invalid_argument, "row_bias",
        "row_bias: takes x[r,c] and bias[c], and not " + describe(x) + " and " + describe(bias));
  }
  require_output("row_bias", std::span(tensors).first(2), out, x.dtype(), x.dims());
  add_into(backend, out, x, bias.with_layout(bias.layout().broadcast_to(x.dims())));
}

Tensor row_bias(const Backend& backend, const Tensor& x, const Tensor& bias) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  row_bias_into(backend, out, x, bias);
  return out;
}

}  // namespace hiptool::ops
