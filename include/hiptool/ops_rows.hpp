// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/export.hpp"
#include "hiptool/tensor.hpp"

/// Reductions, and operations of models that go by rows. The rules of hiptool/ops.hpp hold here as
/// well: two forms, errors before anything is queued, the same bits on every platform.
namespace hiptool::ops {

enum class Reduce { sum, min, max, argmin, argmax };

/// "sum", "argmax": the enum's own spelling.
[[nodiscard]] HIPTOOL_API std::string_view to_string(Reduce operation) noexcept;

/// Reduces any set of axes (each at most once; none: every element for itself) of a tensor of any
/// dtype. The result has the other axes, and with keep_dims the reduced ones with dimension 1. Its
/// dtype is x's; for argmin and argmax u32: the index within the reduced axes, flattened in
/// ascending order.
///
/// Integer sums wrap. Sums of f16, bf16 and f8e4m3 are made in f32 and rounded once. The order of a
/// sum depends only on the dtype and the number of elements that are summed, not on layout or
/// device (kernels/ops/reduce.hip states it); a sum is never -0. NaN propagates, for argmin and
/// argmax the first one; min(-0, +0) is -0. Of equal elements (-0 equals +0) the lowest index
/// counts. The sum of nothing is 0.
///
/// Throws Error(out_of_bounds) for an axis that is not there, Error(invalid_argument) for one named
/// twice and for min, max, argmin and argmax of nothing, Error(unsupported) for argmin and argmax
/// of 2^32 - 1 elements and more.
[[nodiscard]] HIPTOOL_API Tensor reduce(const Backend& backend, Reduce operation, const Tensor& x,
                                        std::span<const std::size_t> axes, bool keep_dims = false);
/// `out` has the reduced axes with dimension 1, or not at all.
HIPTOOL_API void reduce_into(const Backend& backend, Tensor& out, Reduce operation, const Tensor& x,
                             std::span<const std::size_t> axes);

#define HIPTOOL_REDUCE(name)                                                         \
  [[nodiscard]] inline Tensor name(const Backend& backend, const Tensor& x,          \
                                   std::initializer_list<std::size_t> axes,          \
                                   bool keep_dims = false) {                         \
    return reduce(backend, Reduce::name, x, {axes.begin(), axes.size()}, keep_dims); \
  }                                                                                  \
  inline void name##_into(const Backend& backend, Tensor& out, const Tensor& x,      \
                          std::initializer_list<std::size_t> axes) {                 \
    reduce_into(backend, out, Reduce::name, x, {axes.begin(), axes.size()});         \
  }
HIPTOOL_REDUCE(sum)
HIPTOOL_REDUCE(min)
HIPTOOL_REDUCE(max)
HIPTOOL_REDUCE(argmin)
HIPTOOL_REDUCE(argmax)
#undef HIPTOOL_REDUCE

// ---- Rows of models: f16, bf16, f32 and f64, else Error(unsupported). f64 is computed in f64, the
// others in f32, and rounded once. Layouts are arbitrary; packed rows are fastest. x may be out.
//
// Bounds: u is 2^-53 for f64 and 2^-24 for the others, n the length of a row, and ulp one of the
// dtype at the result. They are those that tests compare every result with (src/reference/ops).

inline constexpr std::size_t last_axis = static_cast<std::size_t>(-1);

/// e^(x - m) / sum of e^(x - m) along an axis, m the largest x there; a row that has NaN or
/// +infinity, or nothing but -infinity, becomes NaN. With s the sum, a result r is within
/// |r| (4 (m - x) + 4 |log s| + n / 32 + log n + 16) u + ulp + the least number of f32 (f64).
/// Throws Error(out_of_bounds) for an axis that is not there.
[[nodiscard]] HIPTOOL_API Tensor softmax(const Backend& backend, const Tensor& x,
                                         std::size_t axis = last_axis);
HIPTOOL_API void softmax_into(const Backend& backend, Tensor& out, const Tensor& x,
                              std::size_t axis = last_axis);

/// The logarithm of softmax: (x - m) - log(sum of e^(x - m)). Within the same bound without the
/// factor |r|.
[[nodiscard]] HIPTOOL_API Tensor log_softmax(const Backend& backend, const Tensor& x,
                                             std::size_t axis = last_axis);
HIPTOOL_API void log_softmax_into(const Backend& backend, Tensor& out, const Tensor& x,
                                  std::size_t axis = last_axis);

// ---- Scores of attention [.., tokens, keys], of any dtype unless stated. With them attention with
// any mask is: scores = matmul(q, k transposed), affine (the scale), causal_mask or add_mask,
// softmax, matmul with the values. ops::attention of hiptool/ops_model.hpp does the causal one, and
// the one without a mask, without keeping scores.

/// Scores with -infinity where token i does not see key j: j is larger than i + first_position, the
/// position of token i, or not within `window` keys up to it (0: no window). Floating-point dtypes,
/// else Error(unsupported). Copies two lists of positions, which may wait for earlier work. Throws
/// Error(invalid_argument) for less than two axes.
[[nodiscard]] HIPTOOL_API Tensor causal_mask(const Backend& backend, const Tensor& scores,
                                             std::uint64_t first_position = 0,
                                             std::uint64_t window = 0);

/// Scores plus a mask of their dtype, [tokens, keys] or with more of the scores' axes in front,
/// repeated along those that it lacks or has with 1: 0 where a key is seen, -infinity where not, or
/// a bias. Throws Error(invalid_argument) for a mask that does not fit.
[[nodiscard]] HIPTOOL_API Tensor add_mask(const Backend& backend, const Tensor& scores,
                                          const Tensor& mask);

/// Keys or values [.., heads, size] with every head repeated: [.., heads x count, size], where head
/// h is head h / count of x, as grouped-query attention shares them. Throws Error(invalid_argument)
/// for less than two axes or the most there can be, and for a count of 0.
[[nodiscard]] HIPTOOL_API Tensor repeat_heads(const Backend& backend, const Tensor& x,
                                              std::uint64_t count);

/// (x - mean) / sqrt(variance + epsilon) * weight + bias along the last axis, with the population
/// variance. Weight and bias have x's dtype and one dimension, as long as the last axis
/// (otherwise Error(invalid_argument)). A large mean costs no digits: with e = (n / 32 + 16) u, f =
/// weight / sqrt(variance + epsilon) and d the mean of |x - mean|, a result is within ((|x - mean|
/// + d) e + |mean| e^2 + |x - mean| e) |f| + |bias| u + ulp. (Of rmsnorm: mean and d are 0.)
[[nodiscard]] HIPTOOL_API Tensor layernorm(const Backend& backend, const Tensor& x,
                                           const Tensor& weight, const Tensor& bias,
                                           double epsilon);
HIPTOOL_API void layernorm_into(const Backend& backend, Tensor& out, const Tensor& x,
                                const Tensor& weight, const Tensor& bias, double epsilon);
/// The same without a bias.
[[nodiscard]] HIPTOOL_API Tensor layernorm(const Backend& backend, const Tensor& x,
                                           const Tensor& weight, double epsilon);
HIPTOOL_API void layernorm_into(const Backend& backend, Tensor& out, const Tensor& x,
                                const Tensor& weight, double epsilon);

/// x / sqrt(mean of squares + epsilon) * weight, likewise.
[[nodiscard]] HIPTOOL_API Tensor rmsnorm(const Backend& backend, const Tensor& x,
                                         const Tensor& weight, double epsilon);
HIPTOOL_API void rmsnorm_into(const Backend& backend, Tensor& out, const Tensor& x,
                              const Tensor& weight, double epsilon);

/// Rotary position embedding of x [.., tokens, heads, width] by tables of f32 [tokens, rotary / 2]:
/// (a, b) becomes (a cos - b sin, a sin + b cos). The elements after the first `rotary` of each
/// width stay as they are. Views of longer tables select positions; for x [.., heads, tokens,
/// width] pass a transposed view. Throws Error(invalid_argument) for other shapes.
[[nodiscard]] HIPTOOL_API Tensor rope(const Backend& backend, const Tensor& x,
                                      const Tensor& cosines, const Tensor& sines, RopePairs pairs);
HIPTOOL_API void rope_into(const Backend& backend, Tensor& out, const Tensor& x,
                           const Tensor& cosines, const Tensor& sines, RopePairs pairs);

/// gelu is the approximation by tanh, gelu_erf the exact function.
enum class Gate { silu, gelu, gelu_erf, relu, sigmoid };

/// activation(gate) * up, elementwise on two tensors of the same dtype and dimensions.
[[nodiscard]] HIPTOOL_API Tensor gate(const Backend& backend, Gate kind, const Tensor& gates,
                                      const Tensor& up);
HIPTOOL_API void gate_into(const Backend& backend, Tensor& out, Gate kind, const Tensor& gates,
                           const Tensor& up);

}  // namespace hiptool::ops
