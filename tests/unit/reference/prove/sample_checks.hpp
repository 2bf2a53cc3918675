// SPDX-License-Identifier: MIT
/// What every architecture's proof has to show.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "hiptool/model_runtime.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/self_test.hpp"
#include "unit/reference/prove/prove_samples.hpp"

namespace hiptool::test {

/// A right device is right, with errors that are neither 0 nor near their bounds; the same in
/// chunks, and with a prompt of one token. The logits' errors are below that share of their bound.
inline void check_right(const ProvedSample& sample, std::uint32_t tokens,
                        std::initializer_list<unsigned> chunks, double logits_share = 0.1) {
  const reference::ProveResult whole = sample.prove(sample.spec, {}, tokens);
  CHECK(wrong_stage(whole) == "");
  REQUIRE(whole.logits.has_value());
  CHECK(whole.logits->max_error < logits_share * whole.logits->bound);
  for (const reference::LayerResult& layer : whole.layers) {
    CHECK(layer.max_error > 0);
    CHECK(layer.max_error < 0.8 * layer.bound);
  }
  for (const unsigned chunk : chunks) {
    CAPTURE(chunk);
    const reference::ProveResult in_chunks = sample.prove(sample.spec, {}, tokens, chunk);
    CHECK(wrong_stage(in_chunks) == "");
    REQUIRE(in_chunks.layers.size() == whole.layers.size());
    for (std::size_t i = 0; i < whole.layers.size(); ++i) {
      CHECK(in_chunks.layers[i].max_error == whole.layers[i].max_error);
    }
  }
  CHECK(wrong_stage(sample.prove(sample.spec, {}, 1)) == "");
}

/// The middle one of the logits' largest errors, in shares of their bound, in right computations of
/// the files that `sample_of_seed` makes: random weights make the share of one file up to ten times
/// that of another, whatever the order of sums.
template <class SampleOfSeed>
double median_logits_share(std::uint32_t tokens, const SampleOfSeed& sample_of_seed) {
  std::array<double, 15> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ProvedSample sample = sample_of_seed(i + 1);
    const reference::ProveResult whole = sample.prove(sample.spec, {}, tokens);
    REQUIRE(whole.logits.has_value());
    shares[i] = whole.logits->max_error / whole.logits->bound;
  }
  std::nth_element(shares.begin(), shares.begin() + shares.size() / 2, shares.end());
  return shares[shares.size() / 2];
}

/// The faults that the proof plants itself are each named.
inline void check_own_faults(const ProvedSample& sample) {
  constexpr std::uint32_t tokens = 3;
  ModelRuntime::Options sizes;
  sizes.context_tokens = tokens;
  const reference::ReferenceDecoder decoder(sample.model, sample.spec, {.sequence_tokens = tokens});
  const std::vector<reference::PlantedFault> planted = reference::self_test(
      sample.loaded, std::span(&sample.backend, 1),
      [&] { return ModelRuntime(sample.backend, sample.loaded, sample.spec, sizes); }, decoder,
      prompt_ids(tokens), {});
  CHECK(planted.size() == 5);
  for (const reference::PlantedFault& fault : planted) {
    CAPTURE(fault.tensor);
    CHECK(fault.is_named());
  }
}

}  // namespace hiptool::test
