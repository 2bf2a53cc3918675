// SPDX-License-Identifier: MIT
#include "reference/prove/bounded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/prove/rope_frequencies.hpp"

namespace hiptool::reference {
namespace {

constexpr double unit = 0x1p-24;
constexpr double least = 0x1p-149;  // of f32: a product below it is lost
constexpr double greatest = 0x1.fffffep127;
constexpr double no_bound = std::numeric_limits<double>::infinity();

double units_of_sum(std::size_t terms) { return 8 * std::sqrt(static_cast<double>(terms)) * unit; }

}  // namespace

bool leaves_range(double value, double bound, double found) noexcept {
  // With the bound of k terms, 2^21 of it are at least the sum of their magnitudes.
  constexpr double least_of_large_sum = 0x1p106;
  return !(bound <= greatest) || !(std::abs(value) <= greatest) ||
         (!std::isfinite(found) && bound >= least_of_large_sum);
}

bool leaves_range(const Bounded& all) noexcept {
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    if (leaves_range(all.values[i], all.bounds[i], 0)) return true;
  }
  return false;
}

double sum_bound(std::size_t terms, double root_of_squares, double sum) noexcept {
  if (!(root_of_squares <= greatest)) return no_bound;
  return units_of_sum(terms) * root_of_squares + unit * std::abs(sum) +
         static_cast<double>(terms) * least;
}

Bounded without_error(std::span<const double> values) {
  return {{values.begin(), values.end()}, std::vector<double>(values.size())};
}

Bounded rounded_from_file(std::span<const double> values, int more_roundings) {
  Bounded result = without_error(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.bounds[i] = (2 + more_roundings) * unit * std::abs(values[i]) + least;
  }
  return result;
}

Bounded bounded_norms(std::span<const double> rows, std::span<const double> weight,
                      double epsilon) {
  Bounded norms = without_error(rows);
  const std::size_t width = weight.size();
  for (std::size_t at = 0; at < rows.size(); at += width) {
    double squares = 0;
    double fourths = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double square = rows[at + i] * rows[at + i];
      squares += square;
      fourths += square * square;
    }
    const auto count = static_cast<double>(width);
    const double factor = 1 / std::sqrt(squares / count + epsilon);
    const double share = std::sqrt(fourths) / (squares + count * epsilon);
    // A sum of squares beyond the range makes the norm 0 or NaN.
    const double error =
        squares <= greatest ? units_of_sum(width) * share / 2 + 6 * unit : no_bound;
    for (std::size_t i = 0; i < width; ++i) {
      const double value = rows[at + i] * factor * weight[i];
      norms.values[at + i] = value;
      norms.bounds[at + i] = error == no_bound
                                 ? no_bound
                                 : error * std::abs(value) + least * (1 + std::abs(weight[i]));
    }
  }
  return norms;
}

Bounded bounded_layer_norms(std::span<const double> rows, std::span<const double> weight,
                            double epsilon) {
  Bounded norms = without_error(rows);
  const std::size_t width = weight.size();
  const auto count = static_cast<double>(width);
  const double e = (count / 32 + 16) * unit;
  for (std::size_t at = 0; at < rows.size(); at += width) {
    double mean = 0;
    for (std::size_t i = 0; i < width; ++i) mean += rows[at + i] / count;
    double variance = 0;
    double distance = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double off = rows[at + i] - mean;
      variance += off * off / count;
      distance += std::abs(off) / count;
    }
    const double factor = 1 / std::sqrt(variance + epsilon);
    const bool is_in_range = variance * count <= greatest;
    for (std::size_t i = 0; i < width; ++i) {
      const double off = rows[at + i] - mean;
      const double value = off * factor * weight[i];
      const double f = factor * std::abs(weight[i]);
      norms.values[at + i] = value;
      norms.bounds[at + i] =
          is_in_range ? ((2 * std::abs(off) + distance) * e + std::abs(mean) * e * e) * f +
                            2 * unit * std::abs(value) + least * (1 + std::abs(weight[i]))
                      : no_bound;
    }
  }
  return norms;
}

void turn_heads(const RopeSpec& rope, std::span<const double> frequencies, std::size_t length,
                std::span<const std::uint64_t> positions, std::size_t start, Bounded& heads) {
  const std::size_t width = heads.values.size() / positions.size();
  const std::size_t pairs = frequencies.size();
  const bool has_halves = rope.pairs == RopePairs::halves;
  for (std::size_t at = 0; at < heads.values.size(); at += length) {
    const auto position = static_cast<double>(positions[at / width]);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::size_t first = at + start + (has_halves ? pair : 2 * pair);
      const std::size_t second = has_halves ? first + pairs : first + 1;
      const double angle = position * frequencies[pair];
      const double cosine = std::abs(std::cos(angle) * rope.attention_factor);
      const double sine = std::abs(std::sin(angle) * rope.attention_factor);
      // The table's angles are doubles too.
      const double of_angle = std::abs(angle * rope.attention_factor) * 0x1p-50;
      const double a = std::abs(heads.values[first]);
      const double b = std::abs(heads.values[second]);
      const double a_error = heads.bounds[first];
      const double b_error = heads.bounds[second];
      heads.bounds[first] = a_error * cosine + b_error * sine + 4 * unit * (a * cosine + b * sine) +
                            of_angle * (a + b) + 3 * least;
      heads.bounds[second] = a_error * sine + b_error * cosine +
                             4 * unit * (a * sine + b * cosine) + of_angle * (a + b) + 3 * least;
    }
    rotate_head(rope, frequencies, position, heads.values.data() + at + start);
  }
}

void attend_head(const Attended& all, const double* query, double scale, double* values,
                 double* bounds) {
  std::vector<double> parts(all.count);
  std::vector<double> errors(all.count);
  bool has_range = true;
  for (std::size_t j = 0; j < all.count; ++j) {
    const double* const key = all.keys + j * all.key_stride;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < all.key_length; ++i) {
      const double term = query[i] * key[i];
      sum += term;
      squares += term * term;
    }
    parts[j] = sum * scale;
    errors[j] = sum_bound(all.key_length, std::sqrt(squares), sum) * std::abs(scale);
    // Partial sums are at most that; one infinite score makes NaN of all.
    if (all.softcap > 0) {
      // Its slope is at most 1. Roundings of the quotient, the function and the product.
      const double before = parts[j];
      parts[j] = all.softcap * std::tanh(before / all.softcap);
      errors[j] += unit * (3 * std::abs(before) + 6 * std::abs(parts[j]));
    }
    const double largest = std::sqrt(squares * static_cast<double>(all.key_length));
    if (!(largest * std::max(1.0, std::abs(scale)) <= greatest)) has_range = false;
  }
  if (!has_range) {
    std::fill_n(bounds, all.value_length, no_bound);
    std::fill_n(values, all.value_length, no_bound);
    return;
  }
  const double of_keys = *std::ranges::max_element(parts);
  const double highest = all.sink ? std::max(of_keys, *all.sink) : of_keys;
  double sum = 0;
  double sink_part = 0;
  double sink_error = 0;
  if (all.sink) {
    sink_error = unit * (3 * std::abs(*all.sink) + 2 * (highest - *all.sink) + 16);
    sum = sink_part = std::exp(*all.sink - highest);
  }
  for (std::size_t j = 0; j < all.count; ++j) {
    errors[j] += unit * (3 * std::abs(parts[j]) + 2 * (highest - parts[j]) + 16);
    sum += parts[j] = std::exp(parts[j] - highest);
  }
  sink_part /= sum;
  double squares_of_parts = sink_part * sink_part;
  for (double& part : parts) {
    part /= sum;
    squares_of_parts += part * part;
  }
  for (std::size_t i = 0; i < all.value_length; ++i) {
    double mean = 0;
    double squares = 0;
    for (std::size_t j = 0; j < all.count; ++j) {
      const double term = parts[j] * all.values[j * all.value_stride + i];
      mean += term;
      squares += term * term;
    }
    double of_scores = sink_part * sink_error * std::abs(mean);
    for (std::size_t j = 0; j < all.count; ++j) {
      of_scores += parts[j] * errors[j] * std::abs(all.values[j * all.value_stride + i] - mean);
    }
    values[i] = mean;
    bounds[i] = of_scores + sum_bound(all.count, std::sqrt(squares), 4 * mean) +
                sum_bound(all.count, std::sqrt(squares_of_parts), 0) * std::abs(mean);
  }
}

Bounded expert_weights(std::span<const double> scores, std::size_t experts,
                       std::span<const std::uint32_t> ids, std::size_t used, bool is_normalised) {
  Bounded result{std::vector<double>(ids.size()), std::vector<double>(ids.size())};
  for (std::size_t token = 0; token < ids.size() / used; ++token) {
    const std::span<const double> all = scores.subspan(token * experts, experts);
    const std::span<const std::uint32_t> own = ids.subspan(token * used, used);
    std::vector<double> terms;
    for (const std::uint32_t id : own) terms.push_back(all[id]);
    const double highest = *std::ranges::max_element(terms);
    if (!is_normalised) terms.assign(all.begin(), all.end());
    double sum = 0;
    double distances = 0;
    for (const double term : terms) {
      sum += std::exp(term - highest);
      distances += std::exp(term - highest) * std::abs(term - highest);
    }
    for (std::size_t i = 0; i < used; ++i) {
      const double distance = std::abs(all[own[i]] - highest);
      const double weight = std::exp(all[own[i]] - highest) / sum;
      const double share = 2 * (distance + distances / sum) + static_cast<double>(terms.size()) + 8;
      result.values[token * used + i] = weight;
      result.bounds[token * used + i] = weight * share * unit + 4 * least;
    }
  }
  return result;
}

Bounded expert_sums(std::span<const double> slots, std::span<const double> weights,
                    std::size_t used) {
  const std::size_t columns = slots.size() / weights.size();
  const std::size_t tokens = weights.size() / used;
  Bounded result{std::vector<double>(tokens * columns), std::vector<double>(tokens * columns)};
  for (std::size_t at = 0; at < result.values.size(); ++at) {
    const std::size_t token = at / columns;
    double sum = 0;
    double squares = 0;
    for (std::size_t slot = token * used; slot < (token + 1) * used; ++slot) {
      const double term = weights[slot] * slots[slot * columns + at % columns];
      sum += term;
      squares += term * term;
    }
    result.values[at] = sum;
    result.bounds[at] = sum_bound(used, std::sqrt(squares), sum);
  }
  return result;
}

namespace {

Bounded gated_by_tanh(std::span<const double> gate, std::span<const double> up) {
  const double root = std::sqrt(2 / std::acos(-1.0));
  Bounded result = without_error(gate);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    // 0.5 (1 + tanh x) is 1 / (1 + e^-2x), which keeps its digits below 0.
    const double inner = root * (g + 0.044715 * g * g * g);
    const double value = g / (1 + std::exp(-2 * inner)) * up[i];
    result.values[i] = value;
    result.bounds[i] = 8 * unit * std::abs(value) + least * (2 + 2 * std::abs(up[i]));
  }
  return result;
}

Bounded gated_within(const DecoderSpec& spec, std::span<const double> gate,
                     std::span<const double> up) {
  Bounded result = without_error(gate);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = std::min(gate[i], spec.gate_limit);
    const double u = std::clamp(up[i], -spec.gate_limit, spec.gate_limit);
    const double argument = spec.gate_slope * g;
    const double share = 1 / (1 + std::exp(-argument));
    const double value = (u + 1) * g * share;
    result.values[i] = value;
    result.bounds[i] = (8 + 3 * std::abs(argument) * (1 - share)) * unit * std::abs(value) +
                       least * (2 + 2 * std::abs(u + 1));
  }
  return result;
}

}  // namespace

Bounded gated(const DecoderSpec& spec, std::span<const double> gate, std::span<const double> up) {
  if (spec.gate == GateKind::gelu) return gated_by_tanh(gate, up);
  if (spec.gate == GateKind::clamped_silu) return gated_within(spec, gate, up);
  Bounded result = without_error(gate);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double value = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    result.values[i] = value;
    result.bounds[i] = 6 * unit * std::abs(value) + least * (2 + 2 * std::abs(up[i]));
  }
  return result;
}

Bounded summed(std::span<const double> left, std::span<const double> right, double factor) {
  Bounded result = without_error(left);
  for (std::size_t i = 0; i < left.size(); ++i) {
    result.values[i] += factor * right[i];
    result.bounds[i] = 2 * unit * std::abs(result.values[i]);
    if (factor != 1) result.bounds[i] += 3 * unit * std::abs(factor * right[i]) + least;
  }
  return result;
}

void scale_by(double factor, Bounded& all) {
  if (factor == 1) return;
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    all.values[i] *= factor;
    all.bounds[i] = all.bounds[i] * std::abs(factor) + 3 * unit * std::abs(all.values[i]) + least;
  }
}

Bounded scaled_logits(const DecoderSpec& spec, std::span<const double> products) {
  Bounded result = without_error(products);
  scale_by(spec.logit_scale, result);
  const double cap = spec.logit_softcap;
  if (cap == 0) return result;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const double before = result.values[i];
    const double value = cap * std::tanh(before / cap);
    const double slope = 1 - value / cap * (value / cap);
    result.values[i] = value;
    result.bounds[i] = unit * (4 * std::abs(before) * slope + 6 * std::abs(value)) +
                       least * (1 + cap) + unit * unit * cap;
  }
  return result;
}

double temperature_of(const DecoderSpec& spec, std::uint64_t position) {
  if (spec.temperature_scale == 0) return 1;
  const double whole =
      std::floor(static_cast<double>(position) / static_cast<double>(spec.temperature_tokens));
  return 1 + spec.temperature_scale * std::log(1 + whole);
}

}  // namespace hiptool::reference
