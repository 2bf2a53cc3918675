// SPDX-License-Identifier: MIT
#include "reference/prove/rope_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hiptool::reference {
namespace {

constexpr double two_pi = 6.283185307179586476925286766559;

// The pair that turns that many times within the original context (Peng et al. 2023, equation 17).
double pair_of_turns(const RopeSpec& rope, double turns) {
  const auto context = static_cast<double>(rope.original_context);
  return static_cast<double>(rope.dimensions) * std::log(context / (turns * two_pi)) /
         (2 * std::log(rope.base));
}

void scale_yarn(const RopeSpec& rope, std::vector<double>& frequencies) {
  double low = pair_of_turns(rope, rope.beta_fast);
  double high = pair_of_turns(rope, rope.beta_slow);
  if (rope.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.dimensions) - 1);
  if (low == high) high += 0.001;
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    frequencies[pair] = frequencies[pair] / rope.factor * ramp + frequencies[pair] * (1 - ramp);
  }
}

void scale_llama3(const RopeSpec& rope, std::vector<double>& frequencies) {
  const auto context = static_cast<double>(rope.original_context);
  for (double& frequency : frequencies) {
    const double turns = context * frequency / two_pi;
    const double whole = (turns - rope.low_frequency_factor) /
                         (rope.high_frequency_factor - rope.low_frequency_factor);
    const double share = std::clamp(whole, 0.0, 1.0);
    frequency = (1 - share) * frequency / rope.factor + share * frequency;
  }
}

}  // namespace

std::vector<double> rope_frequencies(const RopeSpec& rope, std::span<const double> divisors) {
  std::vector<double> frequencies(static_cast<std::size_t>(rope.dimensions / 2));
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const double exponent = 2 * static_cast<double>(pair) / static_cast<double>(rope.dimensions);
    frequencies[pair] = std::pow(rope.base, -exponent);
    if (!divisors.empty()) frequencies[pair] /= divisors[pair];
  }
  switch (rope.scaling) {
    case RopeScaling::none:
    case RopeScaling::longrope:
    case RopeScaling::dynamic: break;
    case RopeScaling::linear:
      for (double& frequency : frequencies) frequency /= rope.factor;
      break;
    case RopeScaling::yarn: scale_yarn(rope, frequencies); break;
    case RopeScaling::llama3: scale_llama3(rope, frequencies); break;
  }
  return frequencies;
}

void rotate_head(const RopeSpec& rope, std::span<const double> frequencies, double position,
                 double* head) {
  const std::size_t pairs = frequencies.size();
  const bool has_halves = rope.pairs == RopePairs::halves;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    double& first = head[has_halves ? pair : 2 * pair];
    double& second = head[has_halves ? pair + pairs : 2 * pair + 1];
    const double angle = position * frequencies[pair];
    const double cosine = std::cos(angle) * rope.attention_factor;
    const double sine = std::sin(angle) * rope.attention_factor;
    const double turned = first * cosine - second * sine;
    second = first * sine + second * cosine;
    first = turned;
  }
}

}  // namespace hiptool::reference
