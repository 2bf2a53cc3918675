// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "prove/reference_decoder.hpp"
#include "support.hpp"
#include "unit/cli/commands/make_model/sample_models.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ModelRuntime::Options of_context(std::uint64_t tokens, std::uint64_t chunk = 128) {
  ModelRuntime::Options options;
  options.context_tokens = tokens;
  options.chunk_tokens = chunk;
  return options;
}

std::vector<float> host_logits(ModelRuntime& runtime, const std::vector<std::uint32_t>& ids) {
  return runtime.decode_step(ids).to_host<float>(runtime.backend().stream());
}

std::vector<double> reference_logits(const ModelFile& model, const std::vector<std::uint32_t>& ids,
                                     std::uint64_t sequence_tokens) {
  prove::ReferenceOptions options;
  options.sequence_tokens = sequence_tokens;
  return prove::ReferenceDecoder(model, DecoderSpec::read(model), options).decode(ids);
}

}  // namespace

TEST_CASE("runtime: logits of the device are those of the reference and of transformers") {
  Platforms platforms;
  const Backend backend(device(platforms));
  double largest = 0;
  for (const Golden& golden : goldens) {
    const std::string_view format = to_string(golden.format);
    CAPTURE(format);
    CAPTURE(golden.architecture);
    CAPTURE(to_string(golden.rope));
    CAPTURE(golden.window);
    CAPTURE(golden.type);
    CAPTURE(golden.tokens);
    const TemporaryFolder folder;
    const ModelFile model = made_model(folder, golden);
    const LoadedModel loaded = load_model(model, backend.device());
    const auto make = [&] {
      return ModelRuntime(backend, loaded, DecoderSpec::read(model), of_context(golden.tokens));
    };
    if (std::string_view(golden.type) == "F8_E4M3") {
      CHECK(code_of([&] { make(); }) == ErrorCode::unsupported);
      continue;
    }
    ModelRuntime runtime = make();
    const std::vector<std::uint32_t> ids = prompt_ids(golden.tokens);
    const std::vector<float> found = host_logits(runtime, ids);
    CHECK(runtime.position() == golden.tokens);
    const double difference =
        largest_difference(found, reference_logits(model, ids, golden.tokens)) / golden.deviation;
    CHECK(difference <= 1e-5);
    if (difference > largest) largest = difference;
    std::vector<double> kept;
    for (std::size_t i = 0; i < found.size(); i += 5) kept.push_back(found[i]);
    CHECK(largest_difference(kept, golden.logits) <= 1e-5 * golden.deviation);
  }
  MESSAGE("largest difference ", largest, " standard deviations");
}
