// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/tensor.hpp"

/// Operations on tensors, queued on the Backend's stream. Each comes in two forms: one returns a
/// new contiguous tensor, the other (`..._into`) writes into a tensor of any layout. An output may
/// be exactly one of the inputs; other overlap is refused. All tensors are on the Backend's device.
///
/// The same bits on every platform. One rule for every edge:
/// * Integers wrap. x / 0 is all ones for unsigned types and 0 for signed ones; the least number
///   divided by -1 is itself.
/// * Halves and f8e4m3 are computed in f32 and rounded once, to nearest, ties to even; f8e4m3
///   saturates. Nothing is flushed to zero. A result that is NaN is the canonical quiet NaN of its
///   type.
/// * NaN propagates in minimum and maximum, of which -0 is smaller than +0. Comparisons with NaN
///   are false, except ne.
///
/// Before anything is queued, Error(invalid_argument) names operation and types for dtypes, shapes
/// or devices that do not fit, Error(unsupported) for a dtype that the operation does not have.
namespace hiptool::ops {

enum class Binary {
#define HIPTOOL_BINARY(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
};

enum class Compare {
#define HIPTOOL_COMPARE(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
};

/// "add", "eq": the enum's own spelling.
HIPTOOL_API std::string_view to_string(Binary operation) noexcept;
HIPTOOL_API std::string_view to_string(Compare operation) noexcept;

/// Elementwise on two tensors of the same dtype (any) and dimensions; Layout::broadcast_to makes
/// them fit.
HIPTOOL_API Tensor binary(const Backend& backend, Binary operation, const Tensor& a,
                          const Tensor& b);
HIPTOOL_API void binary_into(const Backend& backend, Binary operation, const Tensor& a,
                             const Tensor& b, const Tensor& out);

/// The same; the result is u8, 1 where the comparison holds and else 0.
HIPTOOL_API Tensor compare(const Backend& backend, Compare operation, const Tensor& a,
                           const Tensor& b);
HIPTOOL_API void compare_into(const Backend& backend, Compare operation, const Tensor& a,
                              const Tensor& b, const Tensor& out);

#define HIPTOOL_BINARY(name, ...)                                                   \
  inline Tensor name(const Backend& backend, const Tensor& a, const Tensor& b) {    \
    return binary(backend, Binary::name, a, b);                                     \
  }                                                                                 \
  inline void name##_into(const Backend& backend, const Tensor& a, const Tensor& b, \
                          const Tensor& out) {                                      \
    binary_into(backend, Binary::name, a, b, out);                                  \
  }
#define HIPTOOL_COMPARE(name, ...)                                                  \
  inline Tensor name(const Backend& backend, const Tensor& a, const Tensor& b) {    \
    return compare(backend, Compare::name, a, b);                                   \
  }                                                                                 \
  inline void name##_into(const Backend& backend, const Tensor& a, const Tensor& b, \
                          const Tensor& out) {                                      \
    compare_into(backend, Compare::name, a, b, out);                                \
  }
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
#undef HIPTOOL_COMPARE

}  // namespace hiptool::ops
