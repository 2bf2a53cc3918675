// SPDX-License-Identifier: MIT
/// Small decoders of make-model, and what transformers computes with them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"
#include "model_writer/model_writer.hpp"
#include "support.hpp"

namespace hiptool::test {

/// Every fifth logit of the last of that many tokens, as transformers computes it.
struct Golden {
  ModelFormat format;
  std::string architecture;
  RopeScaling rope;
  std::uint64_t window;
  bool is_tied;
  std::string type;
  std::uint32_t tokens;
  double deviation;
  std::vector<double> logits;
};

/// Made by tests/goldens/make_goldens.py.
inline const std::vector<Golden> goldens{
#include "goldens.inc"
};

/// Whether none before it has the same format, architecture and type of weights: others differ in
/// numbers alone, not in what is launched.
inline bool is_first_of_kind(const Golden& golden) {
  for (const Golden& other : goldens) {
    if (&other == &golden) break;
    if (other.format == golden.format && other.architecture == golden.architecture &&
        other.type == golden.type) {
      return false;
    }
  }
  return true;
}

inline ModelFile made_model(const TemporaryFolder& folder, ModelFormat format,
                            model_writer::SampleDecoder decoder, std::vector<std::string> types) {
  model_writer::ModelWriterOptions options;
  options.path = folder / (format == ModelFormat::gguf ? "m.gguf" : "m.safetensors");
  options.format = format;
  options.types = std::move(types);
  options.seed = 1;
  options.decoder = std::move(decoder);
  return ModelFile::open(model_writer::write_model(options).path);
}

inline ModelFile made_model(const TemporaryFolder& folder, const Golden& golden) {
  return made_model(folder, golden.format,
                    {golden.architecture, golden.rope, golden.window, golden.is_tied},
                    {golden.type});
}

inline std::vector<std::uint32_t> prompt_ids(std::uint32_t count) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) ids.push_back((7 * i * i + 3 * i + 1) % 331);
  return ids;
}

template <class Left, class Right>
double largest_difference(const Left& left, const Right& right) {
  REQUIRE(left.size() == right.size());
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double difference = std::abs(static_cast<double>(left[i]) - right[i]);
    // A comparison that NaN passes would hide it.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace hiptool::test
