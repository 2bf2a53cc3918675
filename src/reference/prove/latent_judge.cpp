// SPDX-License-Identifier: MIT
// Queries, keys and values by way of latents: LayerJudge.
#include <utility>

#include "reference/prove/layer_judge.hpp"

namespace hiptool::reference {

// Keys by a matrix that the file has transposed.
std::vector<double> LayerJudge::transposed(const DecoderLayer& layer,
                                           const std::vector<double>& own) {
  const MatrixSpec& matrix = layer.latent.k_up;
  std::vector<double> inputs = device_->at("latent_norm");
  inputs.insert(inputs.end(), own.begin(), own.end());
  const Bounded all = reference_.transposed_product(matrix, layer, inputs);
  const std::vector<double>& found = device_->at("k");
  const std::span<const double> values(all.values);
  compare("k", matrix.weight, values.first(found.size()), all.bounds, found);
  if (after_product_) after_product_(reference_.tensor(matrix.weight).size_bytes);
  const auto rest = values.subspan(found.size());
  return {rest.begin(), rest.end()};
}

LayerJudge::OwnHeads LayerJudge::latent_heads(const DecoderLayer& layer,
                                              const std::vector<double>& normed) {
  const DecoderSpec& spec = reference_.spec();
  const LatentSpec& latent = layer.latent;
  const auto length = static_cast<std::size_t>(latent.length);
  const auto of_value = static_cast<std::size_t>(spec.value_length);
  const auto turned = static_cast<std::size_t>(spec.rope.dimensions);
  const std::size_t plain = static_cast<std::size_t>(spec.key_length) - turned;
  const auto own_latent_norm = [&](const std::string& weight, const std::vector<double>& inputs) {
    return follows_own_ ? reference_.norm(weight, inputs, latent.norm_epsilon).values
                        : std::vector<double>();
  };
  OwnHeads own;
  if (latent.query_length > 0) {
    const std::vector<double> query =
        product("query_latent", latent.query_down, "attention_norm", normed);
    compare("query_latent_norm", latent.query_norm,
            reference_.norm(latent.query_norm, device_->at("query_latent"), latent.norm_epsilon));
    own.q = product("q", layer.q, "query_latent_norm", own_latent_norm(latent.query_norm, query));
  } else {
    own.q = product("q", layer.q, "attention_norm", normed);
  }
  const std::vector<double> both = product("latent", latent.down, "attention_norm", normed);
  const auto vectors_of = [&](const std::vector<double>& all) {
    return columns_of(all, length + turned, 0, length);
  };
  compare("latent_norm", latent.norm,
          reference_.norm(latent.norm, vectors_of(device_->at("latent")), latent.norm_epsilon));
  const std::vector<double> vectors = own_latent_norm(latent.norm, vectors_of(both));
  std::vector<double> keys;  // the device's, as far as heads do not share them
  if (latent.up.weight.empty()) {
    own.k = transposed(layer, vectors);
    own.v = product("v", latent.v_up, "latent_norm", vectors);
    keys = device_->at("k");
  } else {
    const std::size_t width = plain + of_value;
    const std::vector<double> all = product("keys_and_values", latent.up, "latent_norm", vectors);
    own.k = columns_of(all, width, 0, plain);
    own.v = columns_of(all, width, plain, of_value);
    const std::vector<double>& given = device_->at("keys_and_values");
    keys = columns_of(given, width, 0, plain);
    compare("v", "", without_error(columns_of(given, width, plain, of_value)));
  }
  compare("rotated_q", "", reference_.rotated(layer, device_->at("q"), "", positions_));
  compare("rotated_k", "",
          reference_.rotated(layer, latent_keys(spec, layer, keys, device_->at("latent")), "",
                             positions_));
  own.q = own_turned(layer, own.q, "");
  own.k = own_turned(layer, latent_keys(spec, layer, own.k, both), "");
  return own;
}

}  // namespace hiptool::reference
