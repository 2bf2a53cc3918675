// SPDX-License-Identifier: MIT
/// Compared with what llama.cpp logged for public models.
#include "load/place/kv_cache.hpp"

#include <doctest/doctest.h>

#include "hiptool/error.hpp"

using namespace hiptool;

namespace {

constexpr double logged_mib = 1u << 20;

struct LoggedModel {
  std::uint64_t layers;
  std::uint64_t heads;
  std::uint64_t kv_heads;
  std::uint64_t head_length;
  std::uint64_t embedding = 0;
  std::uint64_t vocabulary = 0;
};

ModelSummary summary_of_logged(const LoggedModel& shape) {
  ModelSummary summary;
  summary.layers = shape.layers;
  summary.heads.assign(static_cast<std::size_t>(shape.layers), shape.heads);
  summary.kv_heads.assign(static_cast<std::size_t>(shape.layers), shape.kv_heads);
  summary.key_length = summary.value_length = shape.head_length;
  if (shape.embedding > 0) summary.embedding_length = shape.embedding;
  if (shape.vocabulary > 0) summary.vocabulary_size = shape.vocabulary;
  return summary;
}

// The keys of each model's GGUF: block_count, head_count, head_count_kv, key_length (else
// embedding_length / head_count), embedding_length, and the number of tokens.
constexpr LoggedModel qwen2_5_coder_7b{28, 28, 4, 128, 3584, 152'064};
constexpr LoggedModel qwen2_5_1_5b{28, 12, 2, 128, 1536, 151'646};
constexpr LoggedModel qwen2_5_32b{64, 40, 8, 128, 5120, 152'064};
constexpr LoggedModel qwen3_8b{36, 32, 8, 128, 4096, 151'669};
constexpr LoggedModel qwen2_5_3b{36, 16, 2, 128, 2048, 151'936};
constexpr LoggedModel mistral_small_24b{40, 32, 8, 128, 5120, 131'072};
constexpr LoggedModel glm_4_5_air{46, 96, 8, 128, 4096, 151'552};
constexpr LoggedModel gpt_oss_20b{24, 64, 8, 64, 2880, 201'088};

double cache_mib(const LoggedModel& shape, std::uint64_t context, KvType type = KvType::f16) {
  return static_cast<double>(kv_cache_bytes(summary_of_logged(shape), context, type)) / logged_mib;
}

}  // namespace

TEST_CASE("KV cache: f16, as logged by llama.cpp") {
  // github.com/abetlen/llama-cpp-python/issues/1943 (Qwen2.5 Coder 7B, 512 tokens):
  // "KV self size = 28.00 MiB, K (f16): 14.00 MiB, V (f16): 14.00 MiB"
  CHECK(cache_mib(qwen2_5_coder_7b, 512) == 28.0);
  // github.com/SciSharp/LLamaSharp/issues/1099 (36 layers, n_embd_k_gqa = 256, 4096 tokens):
  // "KV self size = 144.00 MiB, K (f16): 72.00 MiB, V (f16): 72.00 MiB"
  CHECK(cache_mib(qwen2_5_3b, 4096) == 144.0);
  // github.com/ggml-org/llama.cpp/issues/10664 (n_ctx = 8192):
  // "KV self size = 224.00 MiB, K (f16): 112.00 MiB, V (f16): 112.00 MiB"
  CHECK(cache_mib(qwen2_5_1_5b, 8192) == 224.0);
  // github.com/ikawrakow/ik_llama.cpp/pull/689, the log of llama.cpp itself (n_ctx = 131072):
  // "KV buffer size = 23552.00 MiB"
  CHECK(cache_mib(glm_4_5_air, 131'072) == 23'552.0);
}

TEST_CASE("KV cache: q8_0 and q4_0, as logged by llama.cpp") {
  // github.com/ggml-org/llama.cpp/issues/11200 (kv_size = 32768, n_layer = 64, n_embd_k_gqa =
  // 1024): "KV self size = 4352.00 MiB, K (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB"
  CHECK(cache_mib(qwen2_5_32b, 32'768, KvType::q8_0) == 4352.0);
  // github.com/ggml-org/llama.cpp/pull/21551, table of Bonsai 8B (of Qwen3 8B's shape) and
  // Magidonia 24B (Mistral Small's): "kvcache size" of f16, q8_0 and q4_0. The contexts are those
  // of the sizes in f16.
  CHECK(cache_mib(qwen3_8b, 2560) == 360.0);
  CHECK(cache_mib(qwen3_8b, 2560, KvType::q8_0) == 191.25);
  CHECK(cache_mib(qwen3_8b, 2560, KvType::q4_0) == 101.25);
  CHECK(cache_mib(mistral_small_24b, 6656) == 1040.0);
  CHECK(cache_mib(mistral_small_24b, 6656, KvType::q8_0) == 552.5);
  CHECK(cache_mib(mistral_small_24b, 6656, KvType::q4_0) == 292.5);
}

TEST_CASE("KV cache: layers with a window, as logged by llama.cpp") {
  // github.com/ggml-org/llama.cpp/pull/17609 (gpt-oss 20B, 4096 tokens): the 12 layers with a
  // window have 18.00 MiB in 768 cells; the 12 others have 4096 cells.
  ModelSummary summary = summary_of_logged(gpt_oss_20b);
  for (std::uint64_t layer = 0; layer < 24; ++layer) {
    summary.caches.push_back({8, 64, 64, 0, layer % 2 == 0 ? 128u : 0u, 0});
  }
  CHECK(static_cast<double>(kv_cache_bytes(summary, 4096)) / logged_mib == 18.0 + 96.0);
  CHECK(static_cast<double>(kv_cache_bytes(summary, 256)) / logged_mib == 12.0);
  KvCacheOptions options(KvType::q8_0);
  options.values = KvType::q4_0;
  options.sequences = 2;
  CHECK(kv_cache_bytes(summary, 256, options) == 2 * 24 * 256 * 8 * (2 * 34 + 2 * 18));
}

TEST_CASE("KV cache: types, their names and what they do not divide") {
  for (const KvType type : {KvType::f16, KvType::q8_0, KvType::q4_0, KvType::f32, KvType::bf16,
                            KvType::q4_1, KvType::q5_0, KvType::q5_1, KvType::iq4_nl}) {
    CHECK(kv_type_from_name(to_string(type)) == type);
  }
  CHECK_FALSE(kv_type_from_name("q6_K").has_value());
  const ModelSummary odd = summary_of_logged({2, 4, 4, 80});
  CHECK(kv_cache_bytes(odd, 256) == 2 * 4 * 256 * 160 * 2);
  CHECK_THROWS_WITH(static_cast<void>(kv_cache_bytes(odd, 256, KvType::q8_0)),
                    doctest::Contains("do not divide the 80 elements of a head"));
  CHECK_THROWS_AS(static_cast<void>(kv_cache_bytes(odd, 256, KvType::q4_0)), Error);
  CHECK(kv_type_from_name("Q8_0") == KvType::q8_0);
  const auto layers = load::layer_cache_bytes(summary_of_logged({2, 4, 4, 64}), 1, KvType::q8_0);
  REQUIRE(layers.size() == 2);
  CHECK(layers[1].kv_cache == 256 * 4 * 128 / 32 * 34);
}
