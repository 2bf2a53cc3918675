// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

Platforms platforms_with_processors() {
  Platforms::Options options = Platforms::Options::from_environment();
  options.cpu_devices = 4;
  return Platforms(options);
}

/// Lists of devices to compute on: a processor alone, several of the tested platform, where there
/// are, and the tested one with processors, which on a GPU are another platform.
std::vector<std::vector<Device>> device_lists(Platforms& platforms) {
  const Device tested = device(platforms);
  std::vector<Device> same = platforms.devices(tested.platform());
  if (same.size() > 3) same.erase(same.begin() + 3, same.end());
  const std::vector<Device> processors = platforms.devices(Platform::cpu);
  std::vector<std::vector<Device>> lists{{processors.front()}};
  if (same.size() > 1) lists.push_back({same.back(), tested});
  if (same.size() > 2) lists.push_back(same);
  if (tested.platform() == Platform::cpu) return lists;
  lists.push_back({tested, processors.back()});
  lists.push_back({processors[2], tested, processors.back()});
  return lists;
}

LoadedModel load_by_layer(const ModelFile& model, const std::vector<Device>& devices) {
  LoadOptions options;
  options.split.kind = SplitKind::layer;
  return load_model(model, devices, options);
}

std::vector<Backend> backends_of(const std::vector<Device>& devices) {
  std::vector<Backend> backends;
  for (const Device& device : devices) backends.emplace_back(device);
  return backends;
}

struct DividedSample {
  const char* architecture;
  RopeScaling rope;
  std::uint64_t window;
  ModelFormat format;
  bool is_tied;
  std::string_view type;
};

constexpr std::array divided_samples{
    DividedSample{"llama", RopeScaling::llama3, 5, ModelFormat::gguf, false, "Q4_K"},
    DividedSample{"qwen2", RopeScaling::none, 5, ModelFormat::gguf, true, "F16"},
    DividedSample{"qwen3", RopeScaling::yarn, 5, ModelFormat::safetensors, true, "BF16"},
    DividedSample{"qwen3moe", RopeScaling::none, 0, ModelFormat::gguf, true, "Q4_K"},
    DividedSample{"qwen3moe", RopeScaling::none, 5, ModelFormat::safetensors, false, "BF16"},
    DividedSample{"gemma3", RopeScaling::linear, 5, ModelFormat::gguf, true, "Q5_K"},
    DividedSample{"gpt-oss", RopeScaling::yarn, 5, ModelFormat::gguf, false, "MXFP4"},
    DividedSample{"qwen3_next", RopeScaling::none, 0, ModelFormat::safetensors, false, "F32"},
    DividedSample{"qwen3_5_text", RopeScaling::none, 0, ModelFormat::safetensors, true, "BF16"},
    DividedSample{"qwen35", RopeScaling::none, 0, ModelFormat::gguf, false, "Q8_0"},
    DividedSample{"gpt-oss", RopeScaling::yarn, 5, ModelFormat::safetensors, false, "BF16"}};

}  // namespace

TEST_CASE("runtime: a processor, and a model divided by layers, compute the bits of one device") {
  Platforms platforms = platforms_with_processors();
  const std::vector<std::uint32_t> ids = prompt_ids(11);
  // On a GPU that a fake makes a token takes long.
  const std::size_t step = device(platforms).platform() == Platform::cpu ? 1 : 3;
  for (std::size_t index = 0; index < divided_samples.size(); index += step) {
    const DividedSample& sample = divided_samples[index];
    if (test::is_sanitized && sample.type != divided_samples.back().type) continue;
    CAPTURE(sample.architecture);
    const TemporaryFolder folder;
    const ModelFile model = made_model(
        folder, sample.format, {sample.architecture, sample.rope, sample.window, sample.is_tied},
        {std::string(sample.type)});
    const DecoderSpec spec = DecoderSpec::read(model);
    const Backend alone(device(platforms));
    const LoadedModel whole = load_model(model, alone.device());
    ModelRuntime expected(alone, whole, spec, of_context(12));
    const std::vector<Observed> stages = observed_stages(expected, ids);
    const std::vector<float> next = host_logits(expected, {7});

    for (const std::vector<Device>& devices : device_lists(platforms)) {
      CAPTURE(devices.size());
      CAPTURE(devices.front().id());
      const std::vector<Backend> backends = backends_of(devices);
      const LoadedModel loaded = load_by_layer(model, devices);
      for (const std::uint64_t chunk : {std::uint64_t{128}, std::uint64_t{3}}) {
        ModelRuntime runtime(backends, loaded, spec, of_context(12, chunk));
        const std::vector<Observed> found = observed_stages(runtime, ids);
        CHECK(found.back().values == stages.back().values);
        const Backend& input = runtime.input_backend();
        const Tensor id = Tensor::from_host<std::uint32_t>({input.allocator(), input.stream()},
                                                           std::vector<std::uint32_t>{7}, {1});
        const Tensor logits = chunk == 3 ? runtime.decode_step(id)
                                         : runtime.decode_step(std::vector<std::uint32_t>{7});
        CHECK(logits.to_host<float>(runtime.backend().stream()) == next);
        if (chunk == 3) continue;
        std::set<std::string> used;
        REQUIRE(found.size() == stages.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          CAPTURE(found[i].name);
          CHECK(found[i].values == stages[i].values);
          used.insert(found[i].device);
        }
        CHECK(used.size() == devices.size());
        CHECK(runtime.backend().device().id() == found.back().device);
      }
    }
  }
}

TEST_CASE("runtime: each device of a divided model has memory for its own layers only") {
  Platforms platforms = platforms_with_processors();
  const std::vector<Device> processors = platforms.devices(Platform::cpu);
  const std::vector<Device> devices{processors[0], processors[1]};
  const TemporaryFolder folder;
  const ModelFile model = made_model(folder, ModelFormat::gguf, {"llama"}, {"F32"});
  const DecoderSpec spec = DecoderSpec::read(model);
  const std::vector<Backend> backends = backends_of(devices);
  const ModelRuntime divided(backends, load_by_layer(model, devices), spec, of_context(64));
  // As in the test of the formula: three layers once, the rest on each device.
  const std::uint64_t cache = 64 * 4 * 6 * 48;
  const std::uint64_t scratch = 64 * 4 * (3 * 96 + 144 + 48 + 48 + 144 + 2 * 163);
  CHECK(divided.memory_bytes() == cache + 2 * scratch);

  LoadOptions copies;
  copies.split.kind = SplitKind::replicate;
  const LoadedModel replicated = load_model(model, devices, copies);
  const ModelRuntime first(backends, replicated, spec, of_context(64));
  CHECK(first.memory_bytes() == cache + scratch);
  CHECK(first.backend().device() == devices[0]);
}

TEST_CASE("runtime: what does not fit several devices is refused") {
  Platforms platforms = platforms_with_processors();
  const std::vector<Device> processors = platforms.devices(Platform::cpu);
  const std::vector<Device> devices{processors[0], processors[1]};
  const TemporaryFolder folder;
  const ModelFile model = made_model(folder, ModelFormat::gguf, {"llama"}, {"F32"});
  const DecoderSpec spec = DecoderSpec::read(model);
  const auto make = [&](const std::vector<Backend>& backends, const LoadedModel& loaded) {
    ModelRuntime(backends, loaded, spec, of_context(4));
  };
  LoadOptions options;
  options.split = {SplitKind::proportions, {1, 2}};
  const LoadedModel by_bytes = load_model(model, devices, options);
  const std::vector<Backend> both = backends_of(devices);
  CHECK_THROWS_WITH_AS(make(both, by_bytes), "layer 0 is divided among cpu:0 and cpu:1", Error);
  CHECK(code_of([&] { make(both, by_bytes); }) == ErrorCode::invalid_argument);

  const LoadedModel by_layer = load_by_layer(model, devices);
  make(both, by_layer);
  CHECK(code_of([&] { make({}, by_layer); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          make({both[0], both[1], both[0]}, by_layer);
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { make({both[0]}, by_layer); }) == ErrorCode::not_found);
  CHECK(code_of([&] { ModelRuntime(both[1], by_layer, spec); }) == ErrorCode::not_found);
}
