// SPDX-License-Identifier: MIT
/// What tests of ModelRuntime share.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/platform.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"

namespace hiptool::test {

inline ModelRuntime::Options of_context(std::uint64_t tokens, std::uint64_t chunk = 128) {
  ModelRuntime::Options options;
  options.context_tokens = tokens;
  options.chunk_tokens = chunk;
  return options;
}

inline std::vector<float> host_logits(ModelRuntime& runtime,
                                      const std::vector<std::uint32_t>& ids) {
  return runtime.decode_step(ids).to_host<float>(runtime.backend().stream());
}

/// Calls body(backend, loaded, spec) for decoders of which each has steps that the others do not
/// have: attention that reads its position from memory or does not, experts, windows, sinks. A
/// sanitizer gets only the decoder of that architecture.
template <class Body>
void for_each_kind_of_decoder(const std::string& if_sanitized, Body body) {
  std::set<std::string> architectures{"llama",     "qwen2",  "gemma3",  "gpt-oss",
                                      "deepseek2", "qwen35", "cohere2", "qwen3moe"};
  if (test::is_sanitized) architectures = {if_sanitized};
  Platforms platforms;
  const Backend backend(device(platforms));
  for (const Golden& golden : goldens) {
    if (architectures.erase(golden.architecture) == 0) continue;
    CAPTURE(golden.architecture);
    const TemporaryFolder folder;
    const LoadedModel loaded = load_model(made_model(folder, golden), backend.device());
    body(backend, loaded, DecoderSpec::read(loaded.model()));
  }
  CHECK(architectures.empty());
}

/// A value of a layer, as it was computed; numbers of experts too, which are exact.
struct Observed {
  std::string name;
  std::optional<std::size_t> layer;
  std::uint64_t position;
  std::vector<float> values;
  std::string device;
};

inline std::vector<Observed> observed_stages(ModelRuntime& runtime,
                                             const std::vector<std::uint32_t>& ids) {
  std::vector<Observed> all;
  runtime.observe([&](const DecoderStage& stage) {
    std::vector<float> values;
    if (stage.values.dtype() == DType::u32) {
      const auto numbers = stage.values.to_host<std::uint32_t>(stage.stream);
      values.assign(numbers.begin(), numbers.end());
    } else {
      values = stage.values.to_host<float>(stage.stream);
    }
    all.push_back({std::string(stage.name), stage.layer, stage.position, std::move(values),
                   stage.values.device().id()});
  });
  runtime.decode_step(ids);
  runtime.observe({});
  return all;
}

}  // namespace hiptool::test
