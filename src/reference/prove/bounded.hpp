// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/decoder_spec.hpp"

namespace hiptool::reference {

/// Numbers, and how far from each of them a device's f32 may be. With u = 2^-24, half an ulp of 1:
/// * a sum of k products a_i b_i: 8 sqrt(k) u sqrt(sum (a_i b_i)^2) + u |sum|. Rounding errors of k
///   terms grow as their root (Higham and Mary 2019, with lambda = 8). Matrix units, which may
///   truncate and need more, take no part in the exact path;
///   With weights that are step n - minimum, of n = 0, 1, .., a device adds step n x and
///   -minimum x by themselves. Where |step n x| + |minimum x| is G times as large as the products
///   (root of the mean of squares), random roundings of sums of 16 neighbours whose products have
///   one sign add up to about 5.3 G u times the root of the sum of squares: by this estimate the
///   bound suffices for G up to 1.5 sqrt(k), 24 for 256 columns. Random weights that are packed as
///   quantisers do, with minima chosen from the values, have G of 4;
/// * a norm x_i w_i / sqrt(mean(x^2) + epsilon): the relative error of that sum of squares, halved
///   by the root, and six roundings;
/// * a rotation: four roundings of each of its two products, of the table, the product and the sum,
///   and one to spare;
/// * attention sum(p_j v_j), p = softmax(s): with error e_j of score s_j (its sum as above, the
///   scale, the softcap, the exponential of s_j - max), sum(p_j e_j |v_j - result|), the derivative
///   of softmax;
///   and the two sums over the keys;
/// * a gated activation silu(g) u: six roundings; a sum of two numbers: two, of which it needs one.
///
/// A bound is not finite where the value, or a number on the way to it, leaves the range of f32: a
/// right device may give anything there.
struct Bounded {
  std::vector<double> values;
  std::vector<double> bounds;
};

/// Whether a value with that bound, for which a device has `found`, leaves the range of f32. A sum
/// of products may do so on its way, where its bound is so large that a device's infinity is right.
bool leaves_range(double value, double bound, double found) noexcept;
/// The same of a reference's values alone.
bool leaves_range(const Bounded& all) noexcept;

/// Of a sum of products with the root of the sum of their squares.
double sum_bound(std::size_t terms, double root_of_squares, double sum) noexcept;

/// RMS norms of rows as long as the weight.
Bounded bounded_norms(std::span<const double> rows, std::span<const double> weight, double epsilon);

/// Layer norms likewise: (x - mean) / sqrt(variance + epsilon) weight, without a bias. With e =
/// (n / 32 + 16) u for rows of n, f = |weight| / sqrt(variance + epsilon) and d the mean of |x -
/// mean|: ((2 |x - mean| + d) e + |mean| e^2) f and a rounding, the bound of ops::layernorm.
Bounded bounded_layer_norms(std::span<const double> rows, std::span<const double> weight,
                            double epsilon);

/// The inputs as they are, which a device has exactly.
Bounded without_error(std::span<const double> values);

/// Numbers of a file, which a type of blocks may give by two roundings, after that many more.
Bounded rounded_from_file(std::span<const double> values, int more_roundings);

/// Turns heads of that many elements at each position, in place, from element `start` of each on.
void turn_heads(const RopeSpec& rope, std::span<const double> frequencies, std::size_t length,
                std::span<const std::uint64_t> positions, std::size_t start, Bounded& heads);

/// Keys and values that a query attends to: `count` of them, each so far behind the one before.
struct Attended {
  const double* keys;
  const double* values;
  std::size_t count, key_stride, value_stride, key_length, value_length;
  std::optional<double> sink = {};  ///< one more score, without a value
  double softcap = 0;               ///< of scores; 0: none
};

/// One head of one token: value_length elements to `values` and `bounds`.
void attend_head(const Attended& all, const double* query, double scale, double* values,
                 double* bounds);

/// The weights of experts, tokens x used, which are the softmax of their scores, tokens x experts:
/// over the used ones or over all. Relative to a weight: twice the distance of each score from the
/// highest, two roundings of an exponential, and one for each term of the sum.
Bounded expert_weights(std::span<const double> scores, std::size_t experts,
                       std::span<const std::uint32_t> ids, std::size_t used, bool is_normalised);

/// Sums of the slots of each token, used x columns, by its weights.
Bounded expert_sums(std::span<const double> slots, std::span<const double> weights,
                    std::size_t used);

/// The gate's function times up. Of gelu, g (1 + tanh(c (g + 0.044715 g^3))) / 2, the kernel keeps
/// the digits of both sums: eight roundings. Of the clamped silu the slope's rounding and that of
/// its product count by the slope of the sigmoid.
Bounded gated(const DecoderSpec& spec, std::span<const double> gate, std::span<const double> up);

/// left + factor right: with a factor other than 1 its rounding, that of the product, and one to
/// spare besides.
Bounded summed(std::span<const double> left, std::span<const double> right, double factor = 1);

/// Times an f32, in place: two roundings, and one to spare.
void scale_by(double factor, Bounded& all);

/// cap tanh(factor v / cap), or factor v: DecoderSpec::logit_scale and logit_softcap. tanh has its
/// argument's three roundings by at most 1 of the argument, two of its own, and those of the cap.
Bounded scaled_logits(const DecoderSpec& spec, std::span<const double> products);

/// By what the query of a position is multiplied: DecoderSpec::temperature_scale.
double temperature_of(const DecoderSpec& spec, std::uint64_t position);

}  // namespace hiptool::reference
