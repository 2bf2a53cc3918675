// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/tensor.hpp"

/// Operations on tensors, queued on the Backend's stream; Tensor::to_host(stream) and
/// Backend::synchronize() wait for them. Each comes in two forms: one returns a new contiguous
/// tensor, the other (`..._into`) writes into a tensor of any layout. An output may be exactly one
/// of the inputs; other overlap is refused: of views with the same strides where they share an
/// element (columns of one matrix may be input and output), of others where the bytes from the
/// first element to the last one do. Each stride of an output, from the smallest one on, passes
/// over all elements of the axes before; others, where elements could share memory, are refused.
/// All tensors are on the Backend's device.
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
/// or devices that do not fit, and for an invalid value of an enum; Error(unsupported) for a
/// dtype that the operation does not have, and for tensors of more than 2^44 elements, repeated
/// ones counted.
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
[[nodiscard]] HIPTOOL_API std::string_view to_string(Binary operation) noexcept;
[[nodiscard]] HIPTOOL_API std::string_view to_string(Compare operation) noexcept;

/// Elementwise on two tensors of the same dtype (any) and dimensions; Layout::broadcast_to makes
/// them fit.
[[nodiscard]] HIPTOOL_API Tensor binary(const Backend& backend, Binary operation, const Tensor& a,
                                        const Tensor& b);
HIPTOOL_API void binary_into(const Backend& backend, Tensor& out, Binary operation, const Tensor& a,
                             const Tensor& b);

/// The same; the result is u8, 1 where the comparison holds and else 0.
[[nodiscard]] HIPTOOL_API Tensor compare(const Backend& backend, Compare operation, const Tensor& a,
                                         const Tensor& b);
HIPTOOL_API void compare_into(const Backend& backend, Tensor& out, Compare operation,
                              const Tensor& a, const Tensor& b);

#define HIPTOOL_BINARY(name, ...)                                                                  \
  [[nodiscard]] inline Tensor name(const Backend& backend, const Tensor& a, const Tensor& b) {     \
    return binary(backend, Binary::name, a, b);                                                    \
  }                                                                                                \
  inline void name##_into(const Backend& backend, Tensor& out, const Tensor& a, const Tensor& b) { \
    binary_into(backend, out, Binary::name, a, b);                                                 \
  }
#define HIPTOOL_COMPARE(name, ...)                                                                 \
  [[nodiscard]] inline Tensor name(const Backend& backend, const Tensor& a, const Tensor& b) {     \
    return compare(backend, Compare::name, a, b);                                                  \
  }                                                                                                \
  inline void name##_into(const Backend& backend, Tensor& out, const Tensor& a, const Tensor& b) { \
    compare_into(backend, out, Compare::name, a, b);                                               \
  }
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
#undef HIPTOOL_COMPARE

// ---- Elementwise operations of one tensor, with numbers as parameters, and conversions.

enum class Unary {
#define HIPTOOL_UNARY(name, ...) name,
#define HIPTOOL_FUNCTION(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
#undef HIPTOOL_FUNCTION
};

/// All of them, in the order of the enum.
inline constexpr std::array unary_operations{
#define HIPTOOL_UNARY(name, ...) Unary::name,
#define HIPTOOL_FUNCTION(name, ...) Unary::name,
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
#undef HIPTOOL_FUNCTION
};

/// "neg", "exp": the enum's own spelling.
[[nodiscard]] HIPTOOL_API std::string_view to_string(Unary operation) noexcept;

/// Elementwise on a tensor of a floating-point dtype; Error(unsupported) for integers. The result
/// has the dtype and the dimensions of x.
/// * neg, abs, sqr, relu, sign, floor, ceil, round, recip and sqrt are rounded correctly, rsqrt is
///   1 / sqrt(x) with both rounded. round takes ties away from zero; sign of -0 and NaN is 0,
///   relu(-0) is 0.
/// * exp, log, sin, cos, tanh, erf, sigmoid, silu (x sigmoid(x)), normcdf (the standard normal
///   distribution), gelu_erf (x normcdf(x)) and gelu (its approximation by tanh) are within 2 units
///   in the last place; of halves and f8e4m3 within 0.501. Special values follow C99, Annex
///   F, the signs of zeros included; silu, gelu and gelu_erf of -infinity are -0, their limit.
[[nodiscard]] HIPTOOL_API Tensor unary(const Backend& backend, Unary operation, const Tensor& x);
HIPTOOL_API void unary_into(const Backend& backend, Tensor& out, Unary operation, const Tensor& x);

#define HIPTOOL_UNARY(name, ...)                                                  \
  [[nodiscard]] inline Tensor name(const Backend& backend, const Tensor& x) {     \
    return unary(backend, Unary::name, x);                                        \
  }                                                                               \
  inline void name##_into(const Backend& backend, Tensor& out, const Tensor& x) { \
    unary_into(backend, out, Unary::name, x);                                     \
  }
#define HIPTOOL_FUNCTION(name, ...) HIPTOOL_UNARY(name)
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
#undef HIPTOOL_FUNCTION

/// A number of C++, which operations convert to the dtype of their tensor by the rules of cast.
class Scalar {
 public:
  template <std::integral Number>
  Scalar(Number number) noexcept {
    if (std::in_range<std::int64_t>(number)) {
      whole_ = static_cast<std::int64_t>(number);
    } else {
      is_whole_ = false;
      real_ = static_cast<double>(number);
    }
  }
  Scalar(double number) noexcept : is_whole_(false), real_(number) {}

  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  [[nodiscard]] std::int64_t whole() const noexcept { return whole_; }
  [[nodiscard]] double real() const noexcept { return real_; }

 private:
  bool is_whole_ = true;
  std::int64_t whole_ = 0;
  double real_ = 0;
};

/// x^exponent as pow of C99, and x > 0 ? x : alpha (e^x - 1), of floating-point dtypes; within 2
/// units in the last place for the parameter in the dtype of x.
[[nodiscard]] HIPTOOL_API Tensor powf(const Backend& backend, const Tensor& x, double exponent);
HIPTOOL_API void powf_into(const Backend& backend, Tensor& out, const Tensor& x, double exponent);
[[nodiscard]] HIPTOOL_API Tensor elu(const Backend& backend, const Tensor& x, double alpha);
HIPTOOL_API void elu_into(const Backend& backend, Tensor& out, const Tensor& x, double alpha);

/// x factor + addend, of any dtype, with both numbers in the dtype of x. Integers wrap; product and
/// sum are rounded each (for halves to f32).
[[nodiscard]] HIPTOOL_API Tensor affine(const Backend& backend, const Tensor& x, Scalar factor,
                                        Scalar addend);
HIPTOOL_API void affine_into(const Backend& backend, Tensor& out, const Tensor& x, Scalar factor,
                             Scalar addend);

/// x[r,c] + bias[c], of any dtype.
[[nodiscard]] HIPTOOL_API Tensor row_bias(const Backend& backend, const Tensor& x,
                                          const Tensor& bias);
HIPTOOL_API void row_bias_into(const Backend& backend, Tensor& out, const Tensor& x,
                               const Tensor& bias);

/// Elements of on_true where the condition (u8, u32 or i64; else Error(unsupported)) is not 0, and
/// of on_false elsewhere. Both are of the same dtype (any), all three of the same dimensions. Bits
/// stay as they are.
[[nodiscard]] HIPTOOL_API Tensor where_cond(const Backend& backend, const Tensor& condition,
                                            const Tensor& on_true, const Tensor& on_false);
HIPTOOL_API void where_cond_into(const Backend& backend, Tensor& out, const Tensor& condition,
                                 const Tensor& on_true, const Tensor& on_false);

/// The numbers in another dtype, from any to any. To floating point they are rounded once, to
/// nearest, ties to even. Floating point to integer is truncated, then saturates; NaN becomes 0.
/// Integer to integer wraps. The same dtype copies bits. The second form takes the dtype of `out`.
[[nodiscard]] HIPTOOL_API Tensor cast(const Backend& backend, const Tensor& x, DType dtype);
HIPTOOL_API void cast_into(const Backend& backend, Tensor& out, const Tensor& x);

/// All elements become the value.
[[nodiscard]] HIPTOOL_API Tensor fill(const Backend& backend, DType dtype,
                                      std::span<const std::uint64_t> dims, Scalar value);
[[nodiscard]] HIPTOOL_API Tensor fill(const Backend& backend, DType dtype,
                                      std::initializer_list<std::uint64_t> dims, Scalar value);
HIPTOOL_API void fill_into(const Backend& backend, Tensor& out, Scalar value);

}  // namespace hiptool::ops
