// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "ops/backend_state.hpp"
#include "ops/layers.hpp"

namespace hiptool::ops {
namespace {

constexpr std::string_view frequencies_name = "rope_frequencies";
constexpr std::uint64_t most_rotary = 1u << 20;  // far above the elements of any head
constexpr std::string_view tables_name = "rope_tables";

void require_positive(const char* name, double number) {
  if (number > 0 && std::isfinite(number)) return;
  refuse(frequencies_name,
         std::string(name) + " is " + std::to_string(number) + ", not positive and finite");
}

void require_rope_options(const RopeOptions& options) {
  if (options.rotary > most_rotary) {
    refuse(frequencies_name,
           std::to_string(options.rotary) + " elements, at most " + std::to_string(most_rotary));
  }
  if (options.rotary % 2 != 0) {
    refuse(frequencies_name, std::to_string(options.rotary) + " elements are no pairs");
  }
  if (!options.factors.empty() && options.factors.size() != options.rotary / 2) {
    refuse(frequencies_name, std::to_string(options.factors.size()) + " factors for " +
                                 std::to_string(options.rotary / 2) + " pairs");
  }
  const int scalings =
      (options.linear_factor != 1 ? 1 : 0) + (options.llama3 ? 1 : 0) + (options.yarn ? 1 : 0);
  if (scalings > 1) refuse(frequencies_name, "more than one of linear, llama3 and yarn");
  require_positive("the base", options.base);
  require_positive("the linear factor", options.linear_factor);
  for (const double factor : options.factors) require_positive("a factor", factor);
  if (options.llama3) {
    require_positive("llama3's factor", options.llama3->factor);
    require_positive("llama3's low frequency factor", options.llama3->low_frequency_factor);
    require_positive("llama3's original context", options.llama3->original_context);
    if (!(options.llama3->high_frequency_factor > options.llama3->low_frequency_factor)) {
      refuse(frequencies_name, "llama3's high frequency factor is not above the low one");
    }
  }
  if (options.yarn) {
    require_positive("yarn's factor", options.yarn->factor);
    require_positive("yarn's original context", options.yarn->original_context);
    require_positive("yarn's beta_fast", options.yarn->beta_fast);
    require_positive("yarn's beta_slow", options.yarn->beta_slow);
  }
}

/// transformers, _compute_llama3_parameters: wavelengths up to context / high stay, those from
/// context / low on are divided by the factor, in between both are blended.
double llama3_frequency(double frequency, const RopeOptions::Llama3& scaling) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = scaling.original_context / wavelength;
  if (turns > scaling.high_frequency_factor) return frequency;
  if (turns < scaling.low_frequency_factor) return frequency / scaling.factor;
  const double share = (turns - scaling.low_frequency_factor) /
                       (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - share) * frequency / scaling.factor + share * frequency;
}

/// The pair, as a real number, that turns so often in the original context.
double pair_of_turns(double turns, const RopeOptions& options) {
  return static_cast<double>(options.rotary) *
         std::log(options.yarn->original_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(options.base));
}

/// How much of the scaled frequency pair i gets, 0 to 1 (ggml's rope_yarn_ramp).
double yarn_share(double pair, const RopeOptions& options) {
  const double most = static_cast<double>(options.rotary) - 1;
  double low = pair_of_turns(options.yarn->beta_fast, options);
  double high = pair_of_turns(options.yarn->beta_slow, options);
  if (options.yarn->truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(most, high);
  return std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
}

RopeTables make_rope_tables(const Backend& backend, const Tensor& frequencies,
                            const Tensor* positions, hiptool_ops::RopeTable all) {
  if (frequencies.dtype() != DType::f64 || frequencies.layout().rank() != 1) {
    refuse(tables_name, "frequencies are f64 [pairs], not " + describe(frequencies));
  }
  require_device(backend, tables_name, std::array{&frequencies});
  all.pairs = frequencies.element_count();
  all.frequency_stride = frequencies.layout().strides()[0];
  RopeTables tables{backend.empty(DType::f32, {all.tokens, all.pairs}),
                    backend.empty(DType::f32, {all.tokens, all.pairs})};
  if (tables.cosines.element_count() == 0) return tables;
  launch_elements(backend, state_of(backend).kernel("ops_rope", "hiptool_rope_tables"),
                  tables.cosines.element_count(), 1, all, frequencies.address(),
                  positions != nullptr ? positions->address() : nullptr, tables.cosines.address(),
                  tables.sines.address());
  return tables;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeOptions& options) {
  require_rope_options(options);
  std::vector<double> frequencies;
  for (std::uint64_t i = 0; i < options.rotary / 2; ++i) {
    const auto pair = static_cast<double>(i);
    double frequency = std::pow(options.base, -2 * pair / static_cast<double>(options.rotary));
    if (!options.factors.empty()) frequency /= options.factors[i];
    if (options.llama3) frequency = llama3_frequency(frequency, *options.llama3);
    if (options.yarn) {
      const double share = yarn_share(pair, options);
      frequency = frequency / options.yarn->factor * share + frequency * (1 - share);
    }
    frequencies.push_back(frequency / options.linear_factor);
  }
  return frequencies;
}

double yarn_magnitude(double factor) { return factor <= 1 ? 1 : 0.1 * std::log(factor) + 1; }

double longrope_magnitude(double factor, double original_context) {
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original_context));
}

RopeTables rope_tables(const Backend& backend, const Tensor& frequencies,
                       std::uint64_t first_position, std::uint64_t tokens, double magnitude) {
  hiptool_ops::RopeTable all{};
  all.tokens = tokens;
  all.first = first_position;
  all.magnitude = magnitude;
  return make_rope_tables(backend, frequencies, nullptr, all);
}

RopeTables rope_tables(const Backend& backend, const Tensor& frequencies, const Tensor& positions,
                       double magnitude) {
  if (positions.dtype() != DType::u32 || positions.layout().rank() != 1) {
    refuse(tables_name, "positions are u32 [tokens], not " + describe(positions));
  }
  require_device(backend, tables_name, std::array{&positions});
  hiptool_ops::RopeTable all{};
  all.tokens = positions.element_count();
  all.position_stride = positions.layout().strides()[0];
  all.magnitude = magnitude;
  return make_rope_tables(backend, frequencies, &positions, all);
}

}  // namespace hiptool::ops
