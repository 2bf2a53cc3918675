// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "load/place/memory.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr ElementType::Entry bytes_entry{"U8", 1, 8};

TensorInfo tensor(const char* name, std::uint64_t size_bytes) {
  return {name, ElementType(bytes_entry), {size_bytes}, 0, 0, size_bytes, size_bytes};
}

ModelSummary shape(std::uint64_t layers, std::uint64_t kv_heads, std::uint64_t length) {
  ModelSummary summary;
  summary.layers = layers;
  summary.kv_heads.assign(static_cast<std::size_t>(layers), kv_heads);
  summary.key_length = length;
  summary.value_length = length;
  return summary;
}

// 4 layers of 100 MiB, embeddings of 50 and an output of 60: 510 MiB. At 1024 tokens the cache has
// 1024 x 8 x (64 + 64) x 2 = 2 MiB a layer.
struct Model {
  std::vector<TensorInfo> tensors{
      tensor("token_embd.weight", 50 * mib), tensor("blk.0.a", 60 * mib),
      tensor("blk.0.b", 40 * mib),           tensor("blk.1.a", 100 * mib),
      tensor("blk.2.a", 100 * mib),          tensor("blk.3.a", 100 * mib),
      tensor("output_norm.weight", 1 * mib), tensor("output.weight", 59 * mib)};
  ModelSummary summary = shape(4, 8, 64);

  ModelFit fit(const std::vector<DeviceMemory>& chosen,
               const std::vector<DeviceMemory>& others = {}) const {
    return fit_model(tensors, summary, 1024, chosen, others);
  }
};

DeviceMemory device(const char* id, std::uint64_t free_mib) {
  return {id, 100'000 * mib, free_mib * mib, false};
}

ErrorCode cache_error_of(const ModelSummary& summary, std::uint64_t context) {
  try {
    static_cast<void>(kv_cache_bytes(summary, context));
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("KV cache: Llama 3 8B takes 128 KiB a token, in all 1 GiB at 8192") {
  const ModelSummary llama = shape(32, 8, 128);
  CHECK(kv_cache_bytes(llama, 1) == 256 * 128 * 1024);  // whole steps of 256 tokens
  CHECK(kv_cache_bytes(llama, 256) == 256 * 128 * 1024);
  CHECK(kv_cache_bytes(llama, 257) == 512 * 128 * 1024);
  CHECK(kv_cache_bytes(llama, 8192) == std::uint64_t{1} << 30);
  CHECK(kv_cache_bytes(llama, 0) == 0);
}

TEST_CASE("KV cache: each layer by its own heads, keys and values of different length") {
  ModelSummary summary = shape(3, 0, 0);
  CHECK(kv_cache_bytes(summary, 1000) == 0);
  summary.kv_heads = {4, 0, 1};
  summary.key_length = 192;
  summary.value_length = 128;
  CHECK(kv_cache_bytes(summary, 10) == 256 * (4 + 1) * (192 + 128) * 2);
}

TEST_CASE("KV cache: missing metadata keys are named; contradictory metadata is refused") {
  ModelSummary summary;
  summary.missing_keys = {"llama.block_count"};
  CHECK(cache_error_of(summary, 1) == ErrorCode::not_found);
  CHECK_THROWS_WITH(static_cast<void>(kv_cache_bytes(summary, 1)),
                    doctest::Contains("llama.block_count is missing"));
  summary.missing_keys.emplace_back("b");
  CHECK_THROWS_WITH(static_cast<void>(kv_cache_bytes(summary, 1)),
                    doctest::Contains("llama.block_count, b are"));
  ModelSummary contradictory = shape(4, 8, 64);
  contradictory.layers = 3;
  CHECK(cache_error_of(contradictory, 1) == ErrorCode::invalid_argument);
  contradictory = shape(4, 8, 64);
  contradictory.value_length.reset();
  CHECK(cache_error_of(contradictory, 1) == ErrorCode::invalid_argument);
  const std::uint64_t huge = std::uint64_t{1} << 32;
  CHECK(cache_error_of(shape(1, huge, huge), 1) == ErrorCode::corrupt_data);
  CHECK(cache_error_of(shape(1, huge, 64), huge) == ErrorCode::corrupt_data);
  // 2^62 bytes are the limit, which two layers of that exceed.
  CHECK(kv_cache_bytes(shape(1, huge, 1), huge / 16) == std::uint64_t{1} << 62);
  CHECK(cache_error_of(shape(2, huge, 1), huge / 16) == ErrorCode::corrupt_data);
}

TEST_CASE("margin: 5 % or 64 MiB, in host memory none") {
  CHECK(load::margin_bytes(100, false) == 64 * mib);
  CHECK(load::margin_bytes(2000 * mib, false) == 100 * mib);
  CHECK(load::margin_bytes(2000 * mib, true) == 0);
  CHECK(load::margin_bytes(0, false) == 0);
}

TEST_CASE("fit: on one device, to the byte") {
  // 510 + 8 of cache + 64 of margin
  const Model model;
  ModelFit fit = model.fit({device("amd:0", 582)});
  CHECK(fit.verdict == FitVerdict::fits);
  CHECK(fit.is_held);
  CHECK(fit.weights_bytes == 510 * mib);
  CHECK(fit.kv_cache_bytes == 8 * mib);
  CHECK(fit.margin_bytes == 64 * mib);
  CHECK(fit.total_bytes == 582 * mib);
  CHECK(fit.shortfall_bytes == 0);
  CHECK(fit.max_context_tokens == 1024);
  CHECK(fit.split.empty());
  CHECK_FALSE(fit.gpu_layers.has_value());
  REQUIRE(fit.parts.size() == 1);
  CHECK(fit.parts[0].tensors == 8);
  CHECK(fit.parts[0].weights_bytes == 510 * mib);
  CHECK(fit.parts[0].kv_cache_bytes == 8 * mib);

  DeviceMemory short_by_one = device("amd:0", 582);
  *short_by_one.free_bytes -= 1;
  fit = model.fit({short_by_one});
  CHECK_FALSE(fit.is_held);
  CHECK(fit.shortfall_bytes == 1);
  CHECK(fit.max_context_tokens == 768);
  // Without the embeddings all layers and the output fit.
  CHECK(fit.verdict == FitVerdict::gpu_layers);
  CHECK(fit.gpu_layers == 5);

  CHECK(model.fit({{"cpu:0", 518 * mib, 518 * mib, true}}).is_held);
  CHECK(model.fit({{"nvidia:0", 582 * mib, std::nullopt, false}}).is_held);
  CHECK_FALSE(model.fit({{"nvidia:0", 582 * mib, 0, false}}).is_held);
}

TEST_CASE("fit: tensors are rounded up to 256 bytes") {
  const std::vector<TensorInfo> tensors{tensor("blk.0.a", 1), tensor("b", 257), tensor("c", 0)};
  const ModelSummary summary = shape(1, 0, 0);
  const DeviceMemory chosen = device("amd:0", 65);
  const ModelFit fit = fit_model(tensors, summary, 1, std::span(&chosen, 1));
  CHECK(fit.weights_bytes == 768);
  CHECK(fit.parts[0].tensor_bytes == 258);
  CHECK(fit.parts[0].tensors == 3);
}

TEST_CASE("fit: the number for -ngl counts the output first, then layers from the last") {
  const Model model;
  // output 60, then 102 for each layer; 64 of margin
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{
      {123, 0}, {124, 1}, {225, 1}, {226, 2}, {327, 2}, {328, 3}, {430, 4}, {531, 4}, {532, 5}};
  for (const auto& row : expected) {
    const ModelFit fit = model.fit({device("nvidia:0", row.first)});
    CAPTURE(row.first);
    CHECK(fit.gpu_layers == row.second);
    CHECK(fit.verdict == (row.second == 0 ? FitVerdict::does_not_fit : FitVerdict::gpu_layers));
    CHECK(fit.shortfall_bytes == (582 - row.first) * mib);
    const std::uint64_t layers = row.second == 0 ? 0 : row.second - 1;
    // Where not even the output fits, what the whole model would need.
    CHECK(fit.parts[0].weights_bytes == (row.second == 0 ? 510 : 60 + 100 * layers) * mib);
    CHECK(fit.parts[0].kv_cache_bytes == (row.second == 0 ? 8 : 2 * layers) * mib);
  }
  // In host memory there are no layers to hand to a GPU.
  const ModelFit host = model.fit({{"cpu:0", 400 * mib, 400 * mib, true}});
  CHECK_FALSE(host.gpu_layers.has_value());
  CHECK(host.verdict == FitVerdict::does_not_fit);
  CHECK(host.parts[0].tensors == 8);
  CHECK(host.parts[0].weights_bytes == 510 * mib);
}

TEST_CASE("fit: embeddings that are the output as well go to the GPU once more") {
  Model model;
  model.tensors.pop_back();  // output.weight
  // 451 of weights; after the layers 1 of norm and 50 of embeddings again
  CHECK(model.fit({device("nvidia:0", 114)}).gpu_layers == 0);
  CHECK(model.fit({device("nvidia:0", 115)}).gpu_layers == 1);
  CHECK(model.fit({device("nvidia:0", 217)}).gpu_layers == 2);
  CHECK(model.fit({device("nvidia:0", 600)}).weights_bytes == 451 * mib);
}

TEST_CASE("fit: a split keeps layers whole and fills devices alike") {
  const Model model;
  // 254 and 264 with the embeddings before two layers and the output after two.
  const ModelFit fit = model.fit({device("amd:0", 400), device("amd:1", 400)});
  CHECK(fit.verdict == FitVerdict::split);
  CHECK(fit.is_held);
  REQUIRE(fit.parts.size() == 2);
  CHECK(fit.parts[0].weights_bytes == 250 * mib);
  CHECK(fit.parts[0].kv_cache_bytes == 4 * mib);
  CHECK(fit.parts[1].weights_bytes == 260 * mib);
  CHECK(fit.parts[1].margin_bytes == 64 * mib);
  CHECK(fit.total_bytes == (518 + 128) * mib);
  REQUIRE(fit.split.size() == 2);
  CHECK(fit.split[0] == doctest::Approx(254.0 / 518));
  CHECK(fit.split[0] + fit.split[1] == doctest::Approx(1));

  const ModelFit uneven = model.fit({device("amd:0", 230), device("amd:1", 900)});
  REQUIRE(uneven.is_held);
  CHECK(uneven.parts[0].weights_bytes == 50 * mib);
  CHECK(uneven.parts[1].weights_bytes == 460 * mib);

  const ModelFit unused = model.fit({device("amd:0", 10), device("amd:1", 900)});
  REQUIRE(unused.is_held);
  CHECK(unused.parts[0].tensors == 0);
  CHECK(unused.parts[0].margin_bytes == 0);
  CHECK(unused.margin_bytes == 64 * mib);
}

TEST_CASE("fit: other devices of the machine help only as advice") {
  const Model model;
  const ModelFit fit = model.fit({device("amd:0", 400)}, {device("amd:1", 400)});
  CHECK(fit.verdict == FitVerdict::split);
  CHECK_FALSE(fit.is_held);
  CHECK(fit.shortfall_bytes == 182 * mib);
  CHECK(fit.parts.size() == 2);
  CHECK(fit.gpu_layers == 3);
  const ModelFit none = model.fit({device("amd:0", 100)}, {device("amd:1", 100)});
  CHECK(none.verdict == FitVerdict::does_not_fit);
  CHECK(none.parts.size() == 1);
  CHECK(none.gpu_layers == 0);
}

TEST_CASE("fit: memory that is enough in sum but not for whole layers does not hold a model") {
  const Model model;
  // 6 x 150 would hold 582, yet each only one layer of 102 and its margin not at all
  const std::vector<DeviceMemory> small(6, device("amd:0", 150));
  const ModelFit fit = model.fit(small);
  CHECK_FALSE(fit.is_held);
  CHECK(fit.shortfall_bytes > 0);
}

TEST_CASE("fit: layers that the metadata does not have, or no tensors at all") {
  Model model;
  model.tensors = {tensor("blk.7.a", 10 * mib), tensor("blk.4000000000.a", 10 * mib)};
  CHECK(model.fit({device("amd:0", 92)}).is_held);
  CHECK(model.fit({device("amd:0", 91)}).shortfall_bytes == 1 * mib);
  model.tensors.clear();
  CHECK(model.fit({device("amd:0", 72)}).is_held);
  CHECK_THROWS_AS(model.fit({}), Error);
}

TEST_CASE("fit: the maximum context") {
  Model model;
  // 8 KiB a token; (1000 - 510 - 64) MiB are left
  CHECK(model.fit({device("amd:0", 1000)}).max_context_tokens == 54'528);
  CHECK(model.fit({device("amd:0", 500)}).max_context_tokens == 0);
  CHECK_FALSE(
      model.fit({device("amd:0", 500), device("amd:1", 500)}).max_context_tokens.has_value());
  CHECK(model.fit({{"cpu:0", 518 * mib, 518 * mib, true}}).max_context_tokens == 1024);
  model.summary = shape(4, 0, 0);
  CHECK_FALSE(model.fit({device("amd:0", 1000)}).max_context_tokens.has_value());
  model.summary = shape(4, 1, 1);
  CHECK(model.fit({{"cpu:0", UINT64_MAX, UINT64_MAX, true}}).max_context_tokens == 1u << 30);
}

TEST_CASE("fit: the maximum context is no longer than the training") {
  Model model;
  model.summary.context_length = 4096;
  ModelFit fit = model.fit({device("amd:0", 1000)});
  CHECK(fit.max_context_tokens == 4096);
  CHECK(fit.memory_context_tokens == 54'528);
  fit = model.fit({device("amd:0", 582)});
  CHECK(fit.max_context_tokens == 1024);
  CHECK(fit.memory_context_tokens == 1024);
  model.summary.context_length = 0;  // as good as none
  CHECK(model.fit({device("amd:0", 1000)}).max_context_tokens == 54'528);
}

TEST_CASE("fit: every device of a model holds its compute buffers") {
  Model model;
  model.summary.embedding_length = 512;
  model.summary.heads.assign(4, 8);
  model.summary.vocabulary_size = 52'736 - 512;  // with the embeddings 512 x 52 736 x 4 = 103 MiB
  const std::uint64_t compute = 103 * mib;
  ModelFit fit = model.fit({device("amd:0", 582 + 103)});
  CHECK(fit.is_held);
  CHECK(fit.compute_bytes == compute);
  CHECK(fit.parts[0].compute_bytes == compute);
  CHECK(fit.parts[0].device.free_bytes == (582 + 103) * mib);
  CHECK(fit.total_bytes == (582 + 103) * mib);
  CHECK(fit.max_context_tokens == 1024);
  fit = model.fit({device("amd:0", 582 + 102)});
  CHECK_FALSE(fit.is_held);
  CHECK(fit.shortfall_bytes == mib);
  CHECK(fit.gpu_layers == 5);
  CHECK(model.fit({device("nvidia:0", 124 + 102)}).gpu_layers == 0);
  CHECK(model.fit({device("nvidia:0", 124 + 103)}).gpu_layers == 1);
  CHECK(model.fit({device("nvidia:0", 50)}).shortfall_bytes == (582 + 103 - 50) * mib);

  const ModelFit two = model.fit({device("amd:0", 450), device("amd:1", 502)});
  REQUIRE(two.is_held);
  CHECK(two.total_bytes == (518 + 128 + 206) * mib);
  CHECK(model.fit({device("amd:0", 350), device("amd:1", 350)}).shortfall_bytes ==
        (582 + 206 - 700) * mib);
  const ModelFit unused = model.fit({device("amd:0", 10), device("amd:1", 900)});
  REQUIRE(unused.is_held);
  CHECK(unused.parts[0].compute_bytes == 0);
  CHECK(unused.total_bytes == (582 + 103) * mib);
}

TEST_CASE("fit: the names of the verdicts") {
  CHECK(to_string(FitVerdict::fits) == "fits");
  CHECK(to_string(FitVerdict::split) == "split");
  CHECK(to_string(FitVerdict::gpu_layers) == "gpu_layers");
  CHECK(to_string(FitVerdict::does_not_fit) == "does not fit");
}
