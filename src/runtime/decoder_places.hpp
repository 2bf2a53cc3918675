// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Where each step of a decoder computes, as indices into the Backends of a runtime: where its
/// tensors are.
struct DecoderPlaces {
  std::size_t embedding = 0;
  std::vector<std::size_t> layers;
  std::size_t output_norm = 0;
  std::size_t output = 0;

  /// Whether there are layers, all at one place.
  bool are_layers_together() const;
};

/// The first of the Backends whose device has the tensor. Throws Error(not_found).
std::size_t place_of(std::span<const Backend> backends, const FindWeight& find,
                     const std::string& tensor);

/// Each step on the first of the Backends whose device has all of its tensors. Throws
/// Error(invalid_argument) without Backends, for two on a device and for a layer that is divided,
/// Error(not_found) for a tensor that none has.
DecoderPlaces find_places(std::span<const Backend> backends, const DecoderSpec& spec,
                          const FindWeight& find);

/// The layers that compute at that place, ascending.
std::vector<std::size_t> layers_at(const DecoderPlaces& places, std::size_t place);

/// 0, 1, ... of a decoder on one device.
std::vector<std::size_t> all_layers(const DecoderSpec& spec);

/// Those of the Backends on which a step computes: a device that only has copies computes nothing.
/// Throws what find_places() throws.
std::vector<Backend> backends_in_use(std::span<const Backend> all, const DecoderSpec& spec,
                                     const FindWeight& find);

}  // namespace hiptool::runtime
