// SPDX-License-Identifier: MIT
// Yang et al. 2024 (arXiv 2412.06464), sections 3.1 and 3.4; modeling_qwen3_next.py.
#include "reference/prove/delta.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hiptool::reference {
namespace {

constexpr double delta_unit = 0x1p-24;
constexpr double delta_least = 0x1p-149;

double sigmoid_of_double(double x) { return 1 / (1 + std::exp(-x)); }

double softplus_of_double(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

void append_part(std::vector<double>& all, std::span<const double> from, std::size_t first,
                 std::size_t count) {
  const auto part = from.subspan(first, count);
  all.insert(all.end(), part.begin(), part.end());
}

/// One column of a state.
struct StateColumn {
  std::span<double> state;  // from its first element on
  std::size_t step;         // from element to element
  double& error;
};

/// One token of a head.
struct HeadToken {
  std::span<const double> query, key;
  double decay, beta;
};

// The value of the column, which is changed; its bound too.
double follow_column(const HeadToken& token, double v, StateColumn column, double& bound) {
  const std::size_t length = token.key.size();
  double known = 0;
  double squares = 0;       // of the terms of that sum
  double kept_squares = 0;  // of the decayed column
  double key_squares = 0;
  for (std::size_t i = 0; i < length; ++i) {
    double& element = column.state[i * column.step];
    element *= token.decay;
    const double term = element * token.key[i];
    known += term;
    squares += term * term;
    kept_squares += element * element;
    key_squares += token.key[i] * token.key[i];
  }
  const double change = token.beta * (v - known);
  double sum = 0;
  double output_squares = 0;
  double new_squares = 0;
  double query_squares = 0;
  for (std::size_t i = 0; i < length; ++i) {
    double& element = column.state[i * column.step];
    element += token.key[i] * change;
    const double term = element * token.query[i];
    sum += term;
    output_squares += term * term;
    new_squares += element * element;
    query_squares += token.query[i] * token.query[i];
  }
  const double beta = std::abs(token.beta);
  const double of_change = beta * sum_bound(length, std::sqrt(squares), known) +
                           delta_unit * (beta * (std::abs(v) + std::abs(known)) + std::abs(change));
  const double key_length = std::sqrt(key_squares);
  const double growth =
      std::abs(token.decay) * std::max(1.0, std::abs(1 - token.beta * key_squares));
  const double roots =
      std::sqrt(kept_squares) + std::sqrt(new_squares) + 2 * key_length * std::abs(change);
  column.error = column.error * growth + key_length * of_change + 2 * delta_unit * roots +
                 static_cast<double>(length) * delta_least;
  bound = sum_bound(length, std::sqrt(output_squares), sum) +
          1.01 * column.error * std::sqrt(query_squares);
  return sum;
}

}  // namespace

void take_apart(const DeltaSpec& delta, DeltaParts& parts) {
  const auto key_heads = static_cast<std::size_t>(delta.key_heads);
  const auto length = static_cast<std::size_t>(delta.key_length);
  const auto of_head = static_cast<std::size_t>(delta.value_heads) / key_heads;
  const std::size_t values = of_head * static_cast<std::size_t>(delta.value_length);
  const std::size_t group = 2 * length + 2 * values;
  if (delta.has_mixed_z()) {
    const std::vector<double> all = std::move(parts.mixed);
    parts.mixed.clear();
    for (std::size_t at = 0; at < all.size(); at += key_heads * group) {
      // q, k and v one behind the other, each of all heads; then z.
      std::size_t start = 0;
      for (const std::size_t count : {length, length, values, values}) {
        const bool is_z = start == 2 * length + values;
        for (std::size_t head = 0; head < key_heads; ++head) {
          append_part(is_z ? parts.z : parts.mixed, all, at + head * group + start, count);
        }
        start += count;
      }
    }
  }
  if (!delta.has_mixed_steps()) return;
  const std::vector<double> both = std::move(parts.scores);
  parts.scores.clear();
  for (std::size_t at = 0; at < both.size(); at += 2 * of_head) {
    append_part(parts.scores, both, at, of_head);
    append_part(parts.steps, both, at + of_head, of_head);
  }
}

Bounded bounded_convolution(const DeltaSpec& delta, std::span<const double> weights,
                            std::span<const double> inputs, DeltaMemory& memory) {
  const auto channels = static_cast<std::size_t>(delta.channels());
  const auto taps = static_cast<std::size_t>(delta.taps);
  if (memory.inputs.empty()) memory.inputs.assign((taps - 1) * channels, 0.0);
  std::vector<double> all = memory.inputs;
  all.insert(all.end(), inputs.begin(), inputs.end());
  Bounded result = without_error(inputs);
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    double sum = 0;
    double squares = 0;
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const double term = weights[at % channels * taps + tap] * all[at + tap * channels];
      sum += term;
      squares += term * term;
    }
    const double value = sum * sigmoid_of_double(sum);
    result.values[at] = value;
    result.bounds[at] = 1.1 * sum_bound(taps, std::sqrt(squares), sum) +
                        6 * delta_unit * std::abs(value) + 2 * delta_least;
  }
  memory.inputs.assign(all.end() - static_cast<std::ptrdiff_t>((taps - 1) * channels), all.end());
  return result;
}

Bounded bounded_units(std::span<const double> heads, std::size_t length, double factor) {
  Bounded result = without_error(heads);
  for (std::size_t at = 0; at < heads.size(); at += length) {
    double squares = 0;
    double fourths = 0;
    for (std::size_t i = at; i < at + length; ++i) {
      const double square = heads[i] * heads[i];
      squares += square;
      fourths += square * square;
    }
    const double whole = squares + 1e-6;
    const double share = sum_bound(length, std::sqrt(fourths), 0) / whole / 2 + 8 * delta_unit;
    for (std::size_t i = at; i < at + length; ++i) {
      result.values[i] = heads[i] / std::sqrt(whole) * factor;
      result.bounds[i] = share * std::abs(result.values[i]) + 2 * delta_least;
    }
  }
  return result;
}

Bounded bounded_decays(std::span<const double> steps, std::span<const double> decay_log,
                       std::span<const double> bias, bool has_rates) {
  Bounded result = without_error(steps);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const std::size_t head = at % bias.size();
    const double x = steps[at] + bias[head];
    const double rate = has_rates ? -decay_log[head] : std::exp(decay_log[head]);
    const double argument = rate * softplus_of_double(x);
    const double value = std::exp(-argument);
    const double of_rate = has_rates ? 0 : std::abs(decay_log[head]);
    const double of_argument =
        (16 + of_rate) * std::abs(argument) + std::abs(rate) * sigmoid_of_double(x) * std::abs(x);
    result.values[at] = value;
    result.bounds[at] = (4 + of_argument) * delta_unit * value + 2 * delta_least;
  }
  return result;
}

Bounded bounded_sigmoids(std::span<const double> values) {
  Bounded result = without_error(values);
  for (std::size_t at = 0; at < values.size(); ++at) {
    result.values[at] = sigmoid_of_double(values[at]);
    result.bounds[at] = 5 * delta_unit * result.values[at] + 2 * delta_least;
  }
  return result;
}

Bounded bounded_delta_rule(const DeltaSpec& delta, std::span<const double> q,
                           std::span<const double> k, std::span<const double> v,
                           std::span<const double> decays, std::span<const double> betas,
                           DeltaMemory& memory) {
  const auto heads = static_cast<std::size_t>(delta.value_heads);
  const auto length = static_cast<std::size_t>(delta.key_length);
  const auto columns = static_cast<std::size_t>(delta.value_length);
  const auto key_heads = static_cast<std::size_t>(delta.key_heads);
  if (memory.state.empty()) {
    memory.state.assign(heads * length * columns, 0.0);
    memory.errors.assign(heads * columns, 0.0);
  }
  Bounded result = without_error(v);
  for (std::size_t at = 0; at < v.size(); ++at) {
    const std::size_t token = at / (heads * columns);
    const std::size_t head = at / columns % heads;
    const std::size_t column = at % columns;
    const std::size_t key_head = delta.is_tiled ? head % key_heads : head / (heads / key_heads);
    const std::size_t key_at = (token * key_heads + key_head) * length;
    const HeadToken own{q.subspan(key_at, length), k.subspan(key_at, length),
                        decays[token * heads + head], betas[token * heads + head]};
    result.values[at] =
        follow_column(own, v[at],
                      {std::span(memory.state).subspan(head * length * columns + column), columns,
                       memory.errors[head * columns + column]},
                      result.bounds[at]);
  }
  return result;
}

Bounded gated_by_sigmoids(std::span<const double> gates, std::span<const double> values) {
  Bounded result = without_error(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.values[i] *= sigmoid_of_double(gates[i]);
    result.bounds[i] =
        6 * delta_unit * std::abs(result.values[i]) + delta_least * (2 + std::abs(values[i]));
  }
  return result;
}

Bounded scored(std::span<const double> scores, std::span<const double> rows) {
  std::vector<double> gates;
  const std::size_t width = scores.empty() ? 0 : rows.size() / scores.size();
  for (const double score : scores) gates.insert(gates.end(), width, score);
  return gated_by_sigmoids(gates, rows);
}

Bounded gated_by_silu(std::span<const double> gates, std::span<const double> values) {
  Bounded result = without_error(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.values[i] *= gates[i] * sigmoid_of_double(gates[i]);
    result.bounds[i] =
        6 * delta_unit * std::abs(result.values[i]) + delta_least * (2 + 2 * std::abs(values[i]));
  }
  return result;
}

}  // namespace hiptool::reference
