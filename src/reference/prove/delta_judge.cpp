// SPDX-License-Identifier: MIT
// Layers with a state and gated attention: ReferenceDecoder and LayerJudge.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "reference/prove/layer_judge.hpp"

namespace hiptool::reference {
namespace {

double query_factor_of(const DeltaSpec& delta) {
  return 1 / std::sqrt(static_cast<double>(delta.key_length));
}

/// Of the convolution's results.
struct MixedParts {
  std::vector<double> q, k, v;
};

MixedParts parts_of_mixed(const DeltaSpec& delta, std::span<const double> all) {
  const auto width = static_cast<std::size_t>(delta.channels());
  const auto keys = static_cast<std::size_t>(delta.keys());
  return {columns_of(all, width, 0, keys), columns_of(all, width, keys, keys),
          columns_of(all, width, 2 * keys, static_cast<std::size_t>(delta.values()))};
}

std::vector<double> checked_values(std::size_t layer, const char* stage, const Bounded& all) {
  if (leaves_range(all)) throw leaves_range_error(place_of_stage(layer, stage));
  return all.values;
}

}  // namespace

Bounded ReferenceDecoder::convolved(const DeltaSpec& delta, std::span<const double> mixed,
                                    DeltaMemory& memory) const {
  return bounded_convolution(delta, weights_.vector(delta.convolution), mixed, memory);
}

Bounded ReferenceDecoder::decays(const DeltaSpec& delta, std::span<const double> steps) const {
  return bounded_decays(steps, weights_.vector(delta.decay_log), weights_.vector(delta.step_bias),
                        delta.has_rates);
}

Bounded ReferenceDecoder::delta_norm(const DeltaSpec& delta, std::span<const double> heads) const {
  return bounded_norms(heads, weights_.vector(delta.norm), spec_.norm_epsilon);
}

DeltaResults ReferenceDecoder::follow_delta(const DeltaSpec& delta, const DeltaParts& parts,
                                            DeltaMemory& memory) const {
  const auto length = static_cast<std::size_t>(delta.key_length);
  DeltaResults all;
  all.convolved = convolved(delta, parts.mixed, memory);
  const MixedParts mixed = parts_of_mixed(delta, all.convolved.values);
  all.unit_q = bounded_units(mixed.q, length, query_factor_of(delta));
  all.unit_k = bounded_units(mixed.k, length, 1);
  all.decays = decays(delta, parts.steps);
  all.betas = bounded_sigmoids(parts.scores);
  all.attention = bounded_delta_rule(delta, all.unit_q.values, all.unit_k.values, mixed.v,
                                     all.decays.values, all.betas.values, memory);
  all.norm = delta_norm(delta, all.attention.values);
  all.gated = gated_by_silu(parts.z, all.norm.values);
  return all;
}

void ReferenceDecoder::follow_state(std::size_t number, LayerStages& s,
                                    std::span<const std::uint64_t> positions) {
  const DecoderLayer& layer = spec_.layers[number];
  const DeltaSpec& delta = layer.delta;
  const auto product = [&](const char* stage, const MatrixSpec& matrix) {
    return checked_values(number, stage, without_error(weights_.product(matrix, s.attention_norm)));
  };
  DeltaParts parts;
  parts.mixed = product(delta.has_mixed_z() ? "mixed_and_z" : "mixed", delta.mixed);
  if (delta.has_mixed_z()) s.mixed_and_z = parts.mixed;
  if (!delta.has_mixed_z()) s.z = parts.z = product("z", delta.z);
  parts.scores = product(delta.has_mixed_steps() ? "scores_and_steps" : "scores", delta.scores);
  if (delta.has_mixed_steps()) s.scores_and_steps = parts.scores;
  if (!delta.has_mixed_steps()) parts.steps = product("steps", delta.steps);
  take_apart(delta, parts);
  s.mixed = parts.mixed;
  s.scores = parts.scores;
  s.steps = parts.steps;
  KeyValues& cache = caches_[number];
  cache.append({}, {}, positions);
  const DeltaResults all = follow_delta(delta, parts, cache.delta);
  s.convolved = checked_values(number, "convolved", all.convolved);
  s.unit_q = checked_values(number, "unit_q", all.unit_q);
  s.unit_k = checked_values(number, "unit_k", all.unit_k);
  s.decays = checked_values(number, "decays", all.decays);
  s.betas = checked_values(number, "betas", all.betas);
  s.attention = checked_values(number, "attention", all.attention);
  s.attention_heads_norm = checked_values(number, "attention_heads_norm", all.norm);
  s.gated_attention = checked_values(number, "gated_attention", all.gated);
}

// Compares the device's products and how it takes them apart; the device's and its own.
std::pair<DeltaParts, DeltaParts> LayerJudge::delta_parts(const DeltaSpec& delta,
                                                          const std::vector<double>& normed) {
  const char* const mixed = delta.has_mixed_z() ? "mixed_and_z" : "mixed";
  const char* const scores = delta.has_mixed_steps() ? "scores_and_steps" : "scores";
  DeltaParts given;
  DeltaParts own;
  own.mixed = product(mixed, delta.mixed, "attention_norm", normed);
  own.scores = product(scores, delta.scores, "attention_norm", normed);
  given.mixed = device_->at(mixed);
  given.scores = device_->at(scores);
  if (!delta.has_mixed_z()) {
    own.z = product("z", delta.z, "attention_norm", normed);
    given.z = device_->at("z");
  }
  if (!delta.has_mixed_steps()) {
    own.steps = product("steps", delta.steps, "attention_norm", normed);
    given.steps = device_->at("steps");
  }
  take_apart(delta, given);
  take_apart(delta, own);
  if (delta.has_mixed_z()) compare("mixed", "", without_error(given.mixed));
  if (delta.has_mixed_steps()) {
    compare("scores", "", without_error(given.scores));
    compare("steps", "", without_error(given.steps));
  }
  return {given, own};
}

std::vector<double> LayerJudge::delta_attention(std::size_t number,
                                                const std::vector<double>& normed) {
  const DeltaSpec& delta = reference_.spec().layers[number].delta;
  const auto length = static_cast<std::size_t>(delta.key_length);
  const StageValues& device = *device_;
  const auto [parts, own] = delta_parts(delta, normed);
  DeltaMemory& given = given_caches_[number].delta;
  compare("convolved", delta.convolution, reference_.convolved(delta, device.at("mixed"), given));
  const MixedParts mixed = parts_of_mixed(delta, device.at("convolved"));
  compare("unit_q", "", bounded_units(mixed.q, length, query_factor_of(delta)));
  compare("unit_k", "", bounded_units(mixed.k, length, 1));
  compare("decays", delta.decay_log, reference_.decays(delta, device.at("steps")));
  compare("betas", "", bounded_sigmoids(device.at("scores")));
  compare("attention", "",
          bounded_delta_rule(delta, device.at("unit_q"), device.at("unit_k"), mixed.v,
                             device.at("decays"), device.at("betas"), given));
  compare("attention_heads_norm", delta.norm, reference_.delta_norm(delta, device.at("attention")));
  compare("gated_attention", "", gated_by_silu(parts.z, device.at("attention_heads_norm")));
  if (!follows_own_) return {};
  return reference_.follow_delta(delta, own, own_caches_[number].delta).gated.values;
}

// Queries of the device are taken from its product; its own are returned, and their gates.
std::vector<double> LayerJudge::queries_of_both(const DecoderLayer& layer,
                                                const std::vector<double>& normed,
                                                std::vector<double>& own_gates) {
  const auto length = static_cast<std::size_t>(reference_.spec().key_length);
  const std::vector<double> both = product("queries_and_gates", layer.q, "attention_norm", normed);
  compare("q", "",
          without_error(columns_of(device_->at("queries_and_gates"), 2 * length, 0, length)));
  own_gates = columns_of(both, 2 * length, length, length);
  return columns_of(both, 2 * length, 0, length);
}

}  // namespace hiptool::reference
