// SPDX-License-Identifier: MIT
#include "runtime/decoder_places.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "hiptool/error.hpp"
#include "model/decoder_parts.hpp"

namespace hiptool::runtime {
namespace {

void require_backends(std::span<const Backend> backends) {
  if (backends.empty()) {
    throw Error(ErrorCode::invalid_argument, "make runtime", "there is no device to compute on",
                "pass the Backends of the devices that hold the model");
  }
  for (std::size_t i = 0; i < backends.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (!(backends[i].device() == backends[other].device())) continue;
      throw Error(ErrorCode::invalid_argument, "make runtime",
                  "two Backends are on " + backends[i].device().id(), "pass one for each device");
    }
  }
}

bool has_weight(const FindWeight& find, const Backend& backend, const std::string& tensor) {
  try {
    find(tensor, backend.device());
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return false;
  }
}

std::vector<std::string> tensors_of(const DecoderSpec& spec, const DecoderLayer& layer) {
  std::vector<std::string> all;
  for (const model::VectorPart& part : model::vectors_of(spec, layer)) all.push_back(*part.tensor);
  for (const MatrixSpec* matrix : model::matrices_of(layer)) {
    all.push_back(matrix->weight);
    all.push_back(matrix->bias);
    all.push_back(matrix->scales);
  }
  for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
    all.insert(all.end(), experts->weights.begin(), experts->weights.end());
    all.push_back(experts->bias);
    all.push_back(experts->scales);
    all.insert(all.end(), experts->block_scales.begin(), experts->block_scales.end());
  }
  std::erase(all, std::string());
  return all;
}

std::size_t place_of_all(std::span<const Backend> backends, const FindWeight& find,
                         const std::vector<std::string>& tensors, const std::string& step) {
  for (std::size_t place = 0; place < backends.size(); ++place) {
    const auto is_here = [&](const std::string& tensor) {
      return has_weight(find, backends[place], tensor);
    };
    if (std::ranges::all_of(tensors, is_here)) return place;
  }
  // A tensor that is nowhere, or another one elsewhere.
  std::string devices;
  for (const std::string& tensor : tensors) {
    const std::string id = backends[place_of(backends, find, tensor)].device().id();
    if (devices.find(id) == std::string::npos) devices += (devices.empty() ? "" : " and ") + id;
  }
  throw Error(ErrorCode::invalid_argument, "make runtime", step + " is divided among " + devices,
              "load the model with --split layer (SplitKind::layer), which keeps layers whole");
}

}  // namespace

std::size_t place_of(std::span<const Backend> backends, const FindWeight& find,
                     const std::string& tensor) {
  for (std::size_t place = 0; place + 1 < backends.size(); ++place) {
    if (has_weight(find, backends[place], tensor)) return place;
  }
  find(tensor, backends.back().device());  // throws where it is not there either
  return backends.size() - 1;
}

DecoderPlaces find_places(std::span<const Backend> backends, const DecoderSpec& spec,
                          const FindWeight& find) {
  require_backends(backends);
  DecoderPlaces places;
  places.embedding = place_of(backends, find, spec.embedding_tensor);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    places.layers.push_back(place_of_all(backends, find, tensors_of(spec, spec.layers[layer]),
                                         "layer " + std::to_string(layer)));
  }
  places.output_norm = place_of(backends, find, spec.output_norm);
  std::vector<std::string> output{spec.output.weight};
  for (const std::string* more : {&spec.output.bias, &spec.output.scales}) {
    if (!more->empty()) output.push_back(*more);
  }
  places.output = place_of_all(backends, find, output, "the output");
  return places;
}

bool DecoderPlaces::are_layers_together() const {
  return !layers.empty() &&
         std::ranges::all_of(layers, [this](std::size_t place) { return place == layers.front(); });
}

std::vector<std::size_t> layers_at(const DecoderPlaces& places, std::size_t place) {
  std::vector<std::size_t> layers;
  for (std::size_t layer = 0; layer < places.layers.size(); ++layer) {
    if (places.layers[layer] == place) layers.push_back(layer);
  }
  return layers;
}

std::vector<std::size_t> all_layers(const DecoderSpec& spec) {
  std::vector<std::size_t> layers(spec.layers.size());
  std::iota(layers.begin(), layers.end(), std::size_t{0});
  return layers;
}

std::vector<Backend> backends_in_use(std::span<const Backend> all, const DecoderSpec& spec,
                                     const FindWeight& find) {
  const DecoderPlaces places = find_places(all, spec, find);
  std::vector<Backend> used;
  for (std::size_t place = 0; place < all.size(); ++place) {
    const bool is_used = !layers_at(places, place).empty() || places.embedding == place ||
                         places.output_norm == place || places.output == place;
    if (is_used) used.push_back(all[place]);
  }
  return used;
}

}  // namespace hiptool::runtime
