// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <string>

#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"

#include <hiptool_moves.h>

namespace hiptool::ops {
namespace {

using hiptool_ops::Distribution;

void require_floats(const char* operation, DType dtype) {
  if (is_floating_point(dtype)) return;
  throw Error(ErrorCode::unsupported, operation,
              std::string(operation) + ": random numbers are floating-point, not " +
                  std::string(to_string(dtype)));
}

/// As a number of the dtype; infinite where f32 or the dtype overflows.
double number_in(DType dtype, double value) {
  if (dtype == DType::f64) return value;
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::f16: return to_float(to_half(single));
    case DType::bf16: return to_float(to_bfloat16(single));
    case DType::f8e4m3: return to_float(to_float8_e4m3(single, Float8Overflow::to_nan));
    default: return single;
  }
}

void fill_random(const Backend& backend, const char* operation, Distribution distribution,
                 std::uint64_t seed, double first, double second, Tensor& out) {
  const std::array<const Tensor*, 1> tensors{&out};
  require_device(backend, operation, tensors);
  require_output(operation, {}, out, out.dtype(), out.dims());
  if (out.element_count() == 0) return;
  const Layout indices(out.dims());
  const std::array<const Layout*, 2> layouts{&out.layout(), &indices};
  // By index, which the kernel's operands leave out: only the order of the axes comes from it.
  const JoinedAxes axes = join_axes(layouts, 1);
  hiptool_ops::Operands<1> operands{};
  operands.count = out.element_count();
  operands.run = 1;
  set_axes(axes, operands.divisors, operands.dims, operands.axes, operands.is_wide);
  std::copy_n(axes.strides[0].begin(), axes.count, operands.strides[0]);
  const std::uint32_t is_packed = are_packed(tensors) ? 1 : 0;
  const Kernel kernel = state_of(backend).kernel(
      "ops_random", "hiptool_random_" + std::string(to_string(out.dtype())));
  const bool is_double = out.dtype() == DType::f64;
  const auto queue = [&](auto a, auto b) {
    launch_elements(backend, kernel, operands.count, is_double ? 2 : 4, distribution, operands,
                    is_packed, seed, a, b, out.address());
  };
  if (is_double) {
    queue(first, second);
  } else {
    queue(static_cast<float>(first), static_cast<float>(second));
  }
}

}  // namespace

void rand_uniform_into(const Backend& backend, Tensor& out, std::uint64_t seed, double low,
                       double high) {
  require_floats("rand_uniform", out.dtype());
  const double first = number_in(out.dtype(), low);
  const double last = number_in(out.dtype(), high);
  const double range = out.dtype() == DType::f64 ? last - first : static_cast<float>(last - first);
  if (!(low <= high) || !std::isfinite(first) || !std::isfinite(last) || !std::isfinite(range)) {
    refuse("rand_uniform", "[" + std::to_string(low) + ", " + std::to_string(high) +
                               ") is not an interval of " + std::string(to_string(out.dtype())));
  }
  fill_random(backend, "rand_uniform", Distribution::uniform, seed, first, last, out);
}

Tensor rand_uniform(const Backend& backend, DType dtype, std::span<const std::uint64_t> dims,
                    std::uint64_t seed, double low, double high) {
  require_floats("rand_uniform", dtype);
  Tensor out = backend.empty(dtype, dims);
  rand_uniform_into(backend, out, seed, low, high);
  return out;
}

Tensor rand_uniform(const Backend& backend, DType dtype, std::initializer_list<std::uint64_t> dims,
                    std::uint64_t seed, double low, double high) {
  return rand_uniform(backend, dtype, std::span(dims.begin(), dims.size()), seed, low, high);
}

void rand_normal_into(const Backend& backend, Tensor& out, std::uint64_t seed, double mean,
                      double deviation) {
  require_floats("rand_normal", out.dtype());
  const auto is_number = [&](double value) {
    return std::isfinite(out.dtype() == DType::f64 ? value : static_cast<float>(value));
  };
  if (!is_number(mean) || !is_number(deviation) || deviation < 0) {
    refuse("rand_normal", "mean " + std::to_string(mean) + " and standard deviation " +
                              std::to_string(deviation) +
                              " must be finite, the latter not below 0");
  }
  fill_random(backend, "rand_normal", Distribution::normal, seed, mean, deviation, out);
}

Tensor rand_normal(const Backend& backend, DType dtype, std::span<const std::uint64_t> dims,
                   std::uint64_t seed, double mean, double deviation) {
  require_floats("rand_normal", dtype);
  Tensor out = backend.empty(dtype, dims);
  rand_normal_into(backend, out, seed, mean, deviation);
  return out;
}

Tensor rand_normal(const Backend& backend, DType dtype, std::initializer_list<std::uint64_t> dims,
                   std::uint64_t seed, double mean, double deviation) {
  return rand_normal(backend, dtype, std::span(dims.begin(), dims.size()), seed, mean, deviation);
}

}  // namespace hiptool::ops
