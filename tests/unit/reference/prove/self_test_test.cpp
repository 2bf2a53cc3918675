// SPDX-License-Identifier: MIT
// Faults that the proof plants itself: each is named, and leaves no trace.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "model_writer/decoder_values.hpp"
#include "reference/prove/self_test.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

using reference::PlantedFault;
using reference::PlantedKind;

constexpr std::uint32_t prompt_tokens = 3;

std::vector<PlantedFault> plant_all(const ProvedSample& sample,
                                    const reference::ProveOptions& options = {}) {
  ModelRuntime::Options sizes;
  sizes.context_tokens = prompt_tokens;
  const reference::ReferenceDecoder reference(sample.model, sample.spec,
                                              {.sequence_tokens = prompt_tokens});
  return reference::self_test(
      sample.loaded, std::span(&sample.backend, 1),
      [&] { return ModelRuntime(sample.backend, sample.loaded, sample.spec, sizes); }, reference,
      prompt_ids(prompt_tokens), options);
}

std::map<std::string, std::uint64_t> digests_on_device(const ProvedSample& sample) {
  std::map<std::string, std::uint64_t> digests;
  for (const auto& [name, buffer] : sample.weights) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.size_bytes()));
    copy_d2h_and_wait(bytes, buffer);
    digests[name] = base::xxh3_64(bytes.data(), bytes.size());
  }
  return digests;
}

// "KIND LAYER TENSOR" of each.
std::vector<std::string> places_of(const std::vector<PlantedFault>& faults) {
  std::vector<std::string> places;
  for (const PlantedFault& fault : faults) {
    places.push_back(std::string(to_string(fault.kind)) + " " + std::to_string(fault.layer) + " " +
                     fault.tensor);
  }
  return places;
}

}  // namespace

TEST_CASE("self-test of a proof: each planted fault is named, whatever the type of the weights") {
  constexpr std::string_view architectures[] = {"llama", "qwen2", "qwen3"};
  // Each takes the time of ten small proofs.
  const std::size_t step = std::getenv("RELEASE") != nullptr ? 1 : is_sanitized ? 9 : 4;
  std::size_t at = 0;
  for (const bool is_gguf : {true, false}) {
    for (const std::string_view type : model_writer::weight_types(is_gguf)) {
      if (type.starts_with("F8")) continue;  // has no kernels
      if (at++ % step != 0) continue;
      CAPTURE(std::string(type));
      const ProvedSample sample(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors,
                                {std::string(architectures[at % 3])}, {std::string(type)}, at);
      const auto before = digests_on_device(sample);
      const std::vector<PlantedFault> faults = plant_all(sample);
      CHECK(faults.size() == 5);
      CHECK(faults.back().is_named());
      CHECK(faults.back().found->stage == "decoded_logits");
      for (const PlantedFault& fault : std::span(faults).first(4)) {
        CAPTURE(to_string(fault.kind));
        CAPTURE(fault.tensor);
        CHECK(fault.is_named());
        CHECK(fault.device == sample.backend.device().id());
        REQUIRE(fault.found.has_value());
        CHECK(fault.found->repeats == true);
        CHECK(fault.found->type == fault.type);
        CHECK(std::isnan(fault.found->got) == (fault.kind == PlantedKind::nan));
      }
      CHECK(digests_on_device(sample) == before);
    }
  }
}

TEST_CASE("self-test of a proof: where the faults are") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"Q4_0"});
  CHECK(places_of(plant_all(sample)) ==
        std::vector<std::string>{
            "weight_bit 0 blk.0.attn_q.weight", "norm_bit 0 blk.0.attn_norm.weight",
            "short_row 1 blk.1.attn_output.weight", "nan 2 blk.2.attn_v.weight",
            "decoding 2 blk.2.attn_output.weight"});
  reference::ProveOptions options;
  options.layers = {1, 2};
  CHECK(places_of(plant_all(sample, options)) ==
        std::vector<std::string>{
            "weight_bit 1 blk.1.attn_q.weight", "norm_bit 1 blk.1.attn_norm.weight",
            "short_row 1 blk.1.attn_output.weight", "nan 2 blk.2.attn_v.weight",
            "decoding 2 blk.2.attn_output.weight"});
  // No bits of it are NaN.
  const ProvedSample other(ModelFormat::gguf, {"llama"}, {"NVFP4"});
  CHECK(places_of(plant_all(other)).at(3) == "nan 2 blk.2.attn_norm.weight");
}

TEST_CASE("self-test of a proof: a fault that is not seen, and one that is seen elsewhere") {
  const ProvedSample sample(ModelFormat::gguf, {"qwen3"}, {"F16"});
  // What a right device has there, in place of what this one computes.
  std::map<std::size_t, std::vector<double>> right;
  reference::ProveOptions options;
  bool is_recording = true;
  options.alter = [&](const DecoderStage& stage) {
    if (stage.name != "q" || stage.layer != 0u) return;
    const auto tokens = static_cast<std::size_t>(stage.values.dims()[0]);
    if (is_recording) {
      const std::vector<float> values = stage.values.to_host<float>(sample.backend.stream());
      right[tokens] = {values.begin(), values.end()};
    } else {
      write_values(sample.backend, stage.values, right.at(tokens));
    }
  };
  CHECK(sample.prove(sample.spec, options, prompt_tokens).is_right());
  is_recording = false;
  std::vector<PlantedFault> faults = plant_all(sample, options);
  CHECK(!faults[0].found.has_value());
  CHECK(!faults[0].is_named());
  // The norm's fault changes what q should be, but is named first.
  for (std::size_t i = 1; i < faults.size(); ++i) CHECK(faults[i].is_named());

  options.alter = [&](const DecoderStage& stage) {
    if (stage.name != "k" || stage.layer != 1u) return;
    const std::vector<float> numbers = stage.values.to_host<float>(sample.backend.stream());
    std::vector<double> values(numbers.begin(), numbers.end());
    values[3] += 1;
    write_values(sample.backend, stage.values, values);
  };
  faults = plant_all(sample, options);
  CHECK(faults[0].is_named());
  REQUIRE(faults[2].found.has_value());
  CHECK(faults[2].found->stage == "k");
  CHECK(!faults[2].is_named());
  PlantedFault fault = faults[0];
  fault.found->row += 1;
  CHECK(!fault.is_named());
}

TEST_CASE("self-test of a proof: its progress grows over all faults to the end") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  reference::ProveOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done >= last);
    if (total != 0) CHECK(all == total);
    last = done;
    total = all;
  };
  plant_all(sample, options);
  CHECK(last > 0);
  CHECK(last == total);
}
