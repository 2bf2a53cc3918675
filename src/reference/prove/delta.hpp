// SPDX-License-Identifier: MIT
/// Layers with a state in place of keys and values, in double: see DeltaSpec.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "reference/prove/bounded.hpp"

namespace hiptool::reference {

/// After some tokens; all empty before the first.
struct DeltaMemory {
  std::vector<double> state;   ///< value_heads x key_length x value_length
  std::vector<double> errors;  ///< value_heads x value_length, see bounded_delta_rule()
  std::vector<double> inputs;  ///< of the convolution: taps - 1 tokens x channels
};

/// What the products of a layer give, taken apart; tokens in front of everything.
struct DeltaParts {
  std::vector<double> mixed;   ///< channels(): all q, all k, all v
  std::vector<double> z;       ///< values()
  std::vector<double> scores;  ///< value_heads, as are steps
  std::vector<double> steps;
};
/// Takes the product with `mixed` apart where it has z as well, and that with `scores` where it has
/// steps; else the parts have them already.
void take_apart(const DeltaSpec& delta, DeltaParts& parts);

/// silu of the convolution of tokens x channels, behind the inputs that the memory has, which gets
/// the last ones. The slope of silu is at most 1.1; it has six roundings.
Bounded bounded_convolution(const DeltaSpec& delta, std::span<const double> weights,
                            std::span<const double> inputs, DeltaMemory& memory);

/// x / sqrt(|x|^2 + 1e-6) of each head, times `factor`: the error of that sum of squares, halved by
/// the root, and eight roundings.
Bounded bounded_units(std::span<const double> heads, std::size_t length, double factor);

/// e^(-e^log softplus(a + bias)), see DeltaSpec::has_rates: the argument is off by 16 roundings
/// of its size, and by that of a + bias; e^log by |log| roundings more.
Bounded bounded_decays(std::span<const double> steps, std::span<const double> decay_log,
                       std::span<const double> bias, bool has_rates);

/// Sigmoids.
Bounded bounded_sigmoids(std::span<const double> values);

/// value_heads results of value_length for each token, and the state after them. A device's state
/// is off by its roundings of all tokens: `errors` are lengths of the difference of a column. With
/// |k| <= 1 neither the decay nor I - beta k k^T makes it longer; a token adds the roundings of
/// the product with the decay, of the sum over the keys, of the change and of the new elements.
Bounded bounded_delta_rule(const DeltaSpec& delta, std::span<const double> q,
                           std::span<const double> k, std::span<const double> v,
                           std::span<const double> decays, std::span<const double> betas,
                           DeltaMemory& memory);

/// Values times the sigmoid of gates, or times silu of them: six roundings.
Bounded gated_by_sigmoids(std::span<const double> gates, std::span<const double> values);
/// Rows of values, each times the sigmoid of its score.
Bounded scored(std::span<const double> scores, std::span<const double> rows);
Bounded gated_by_silu(std::span<const double> gates, std::span<const double> values);

}  // namespace hiptool::reference
