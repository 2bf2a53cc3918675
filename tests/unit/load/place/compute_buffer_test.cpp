// SPDX-License-Identifier: MIT
/// Compute buffers compared with public logs of llama.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "hiptool/load_plan.hpp"

using namespace hiptool;

namespace {

// The keys of a model's GGUF: head_count, key_length, embedding_length, the number of tokens, and
// feed_forward_length (0 with experts).
struct BufferModel {
  const char* name;
  std::uint64_t heads;
  std::uint64_t head_length;
  std::uint64_t embedding;
  std::uint64_t vocabulary;
  std::uint64_t feed_forward;
  const char* architecture = "";
};

constexpr BufferModel qwen2_5_1_5b_sizes{"Qwen2.5 1.5B", 12, 128, 1536, 151'646, 8960};
constexpr BufferModel qwen2_5_3b_sizes{"Qwen2.5 3B", 16, 128, 2048, 151'936, 11'008};
constexpr BufferModel qwen2_5_coder_7b_sizes{"Qwen2.5 Coder 7B", 28, 128, 3584, 152'064, 18'944};
constexpr BufferModel qwen2_5_14b_sizes{"Qwen2.5 14B", 40, 128, 5120, 152'064, 13'824};
constexpr BufferModel llama3_2_3b_sizes{"Llama 3.2 3B", 24, 128, 3072, 128'256, 8192};
constexpr BufferModel mistral_7b_sizes{"Mistral 7B", 32, 128, 4096, 32'768, 14'336};
constexpr BufferModel glm_4_5_air_sizes{"GLM-4.5-Air", 96, 128, 4096, 151'552, 0};
constexpr BufferModel qwen3_6_35b_a3b_sizes{"Qwen3.6 35B-A3B", 16, 256, 2048, 248'320, 0};
constexpr BufferModel qwen3_8_27b_sizes{"Qwen3.8 27B", 24, 256, 5120, 248'320, 17'408};
constexpr BufferModel qwen3_5_27b_sizes{"Qwen3.5 27B", 24, 256, 5120, 248'320, 17'408};
constexpr BufferModel pythia_2_8b_sizes{"Pythia 2.8B", 32, 80, 2560, 50'304, 10'240};
constexpr BufferModel mistral_nemo_sizes{"Mistral Nemo", 32, 128, 5120, 131'072, 14'336};
constexpr BufferModel gpt_oss_20b_sizes{"gpt-oss-20b", 64, 64, 2880, 201'088, 0};
constexpr BufferModel gemma_4_26b_a4b_sizes{"Gemma 4 26B-A4B", 16, 512, 2816, 262'144, 0};
constexpr BufferModel gemma_4_e4b_sizes{"Gemma 4 E4B", 8, 512, 2560, 262'144, 10'240};
constexpr BufferModel bge_small_sizes{"BGE small", 12, 32, 384, 30'522, 1536, "bert"};

struct BufferLog {
  const char* address;
  const char* build;  // "b" and the number where the source names it
  const char* flags;  // empty where the source names none
  BufferModel model;
  std::uint64_t context;
  std::uint64_t batch;
  bool has_flash_attention;
  GraphReserve reserve;
  double logged_mib;
};

constexpr auto until_may = GraphReserve::until_may_2026;

// All with every layer on one device (the log of GLM-4.5-Air without its experts). Where a log is a
// file, its repository has the flags in a script or document.
constexpr std::array buffer_logs{
    BufferLog{
        "https://github.com/ggml-org/ci/blob/6531b58a4cae881d6f7e424be05efc5072928e94/llama.cpp/f4/"
        "c3dd5daa3a79f713813cf1aabdc5886071061d/ggml-4-x86-cuda-v100/"
        "pythia_2_8b-save-load-state.log",
        "b4893 (f4c3dd5da)", "llama-save-load-state -ngl 99 -c 0 -fa", pythia_2_8b_sizes, 2048, 512,
        true, until_may, 103.25},
    BufferLog{
        "https://github.com/ggml-org/ci/blob/6531b58a4cae881d6f7e424be05efc5072928e94/llama.cpp/f4/"
        "c3dd5daa3a79f713813cf1aabdc5886071061d/ggml-4-x86-cuda-v100/README.md",
        "b4893 (f4c3dd5da)", "llama-embedding -ngl 99 -c 0", bge_small_sizes, 512, 2048, false,
        until_may, 16.75},
    BufferLog{"https://github.com/deepyes02/yeti-ai/blob/5143492928be09eb6ad71c41251d72df0b0a0cca/"
              "llama_server.log",
              "b6050 (78452405), Metal", "llama-server --jinja -c 4096", mistral_nemo_sizes, 4096,
              512, false, until_may, 312.00},
    BufferLog{"https://github.com/ghghang2/my-repo/blob/be9e00003056a82f08c02ff4b5af4ce3e7bc54e3/"
              "llama_server.log",
              "b7772 (287a33017)",
              "llama-server --parallel 1 --ctx-size 32768 --n-gpu-layers 999 --flash-attn 1",
              gpt_oss_20b_sizes, 32'768, 512, true, until_may, 398.38},
    BufferLog{"https://github.com/ghghang2/v1.3/blob/17b24120c3f9f3a6b5baa8315467280b67d56c8f/"
              "llama_server.log",
              "b7772 (287a33017)",
              "llama-server --parallel 1 --ctx-size 65536 --n-gpu-layers 999 --flash-attn 1",
              gpt_oss_20b_sizes, 65'536, 512, true, until_may, 398.38},
    BufferLog{"https://github.com/madcamp-2025w-week4/FSD/blob/"
              "24e543482eecd8a694fb1dba7f541c3b4a8516ea/logs/llama-server.log",
              "b7896 (ec6c7421e)", "llama-server -m, all else by default", qwen2_5_14b_sizes,
              32'768, 512, true, until_may, 307.00},
    BufferLog{"https://github.com/ghghang2/repo/blob/b1e351b3ed2e53c910e88e3782372ff51875dd9b/"
              "llama_server.log",
              "b8193 (ecd99d6a9)",
              "llama-server --parallel 1 --ctx-size 16384 --flash-attn 1 --batch-size 1024 "
              "--ubatch-size 1024",
              gpt_oss_20b_sizes, 16'384, 1024, true, until_may, 796.75},
    BufferLog{"https://github.com/ghghang2/v1.5/blob/3e92fa7bf173a1cdc5b10e747f542d6806f40f86/"
              "llama_server.log",
              "b8193 (ecd99d6a9)",
              "llama-server --parallel 1 --flash-attn 1 --batch-size 512 --ubatch-size 512, n_ctx "
              "= 32768",
              qwen3_5_27b_sizes, 32'768, 512, true, until_may, 495.00},
    BufferLog{"https://github.com/acdtrx/llama-runner/blob/"
              "ac4543b96cfcbc347b01d12e9f3b5cf7eddd18e4/llama-server.log",
              "b8680 (15f786e65), Metal", "llama-server -ngl 99 -c 65536 --parallel 1 --jinja",
              gemma_4_e4b_sizes, 65'536, 512, true, until_may, 517.50},
    BufferLog{"https://github.com/ghghang2/v1.6/blob/c5c574035de38be83214f87ea0dcfddfff730a41/"
              "llama_server.log",
              "b8854 (de71b5f81)",
              "llama-server --parallel 2 --ctx-size 32768 --flash-attn 1 --batch-size 512 "
              "--ubatch-size 512",
              gemma_4_26b_a4b_sizes, 16'384, 512, true, until_may, 532.62},
    BufferLog{
        "https://github.com/ggml-org/llama.cpp/issues/28035", "b10701 (cc231cb0d), Vulkan",
        "llama-cli --gpu-layers 99 --ctx-size 32768 -b 512 -ub 512 --parallel 1 --flash-attn on",
        qwen3_8_27b_sizes, 32'768, 512, true, GraphReserve::server, 164.28},
    BufferLog{"https://github.com/abetlen/llama-cpp-python/issues/1943",
              "llama-cpp-python of early 2025", "", qwen2_5_coder_7b_sizes, 512, 512, true,
              until_may, 304.00},
    BufferLog{"https://github.com/SciSharp/LLamaSharp/issues/1099", "LLamaSharp", "",
              qwen2_5_3b_sizes, 4096, 512, true, until_may, 300.75},
    BufferLog{"https://github.com/ggml-org/llama.cpp/issues/10664", "not named", "n_ubatch = 8192",
              qwen2_5_1_5b_sizes, 8192, 8192, true, until_may, 4786.94},
    BufferLog{"https://github.com/ikawrakow/ik_llama.cpp/pull/689", "2025-08",
              "-fa -ub 4096 -c 131072", glm_4_5_air_sizes, 131'072, 4096, true, until_may, 3584.09},
    BufferLog{"https://github.com/fedora-copr/logdetective/pull/106", "llama-cpp-python 2025-01",
              "flash_attn = 0", mistral_7b_sizes, 2048, 512, false, until_may, 164.00},
    BufferLog{"https://github.com/fedora-copr/logdetective/pull/106", "llama-cpp-python 2025-01",
              "flash_attn = 0", mistral_7b_sizes, 32'768, 512, false, until_may, 2144.00},
    BufferLog{"https://github.com/SunOfHomeBoy/blogSrc (source/_posts, ollama_log.txt of 2025-06)",
              "Ollama 0.9.0 on the CPU", "flash_attn = 0", qwen2_5_14b_sizes, 8192, 512, false,
              until_may, 696.01},
    BufferLog{"https://github.com/ollama/ollama/blob/main/llm/llama_server_test.go",
              "llama-server of Ollama, ROCm, 2026", "", llama3_2_3b_sizes, 4096, 512, true,
              until_may, 256.50},
    BufferLog{"https://github.com/bricelancasterwcp-sudo/bloomery/blob/c570851c7b950ee9eb7ed8a67d3d"
              "9a7d3a149e7e/docs/superpowers/evidence/2026-08-14-2a-daemon-log-excerpt.txt",
              "b10200, Vulkan", "", qwen2_5_coder_7b_sizes, 16'384, 512, true,
              GraphReserve::all_logits, 304.00},
    BufferLog{"https://github.com/bricelancasterwcp-sudo/bloomery/blob/c570851c7b950ee9eb7ed8a67d3d"
              "9a7d3a149e7e/docs/superpowers/evidence/2026-08-21-reap48-qwen36-spike.md",
              "b10200, Vulkan", "", qwen3_6_35b_a3b_sizes, 54'784, 512, true,
              GraphReserve::all_logits, 493.00},
    BufferLog{"https://github.com/bricelancasterwcp-sudo/bloomery/blob/c570851c7b950ee9eb7ed8a67d3d"
              "9a7d3a149e7e/docs/superpowers/evidence/2026-08-21-reap48-qwen36-spike.md",
              "b10200, Vulkan", "", qwen3_6_35b_a3b_sizes, 231'168, 512, true,
              GraphReserve::all_logits, 493.00},
    BufferLog{"https://github.com/GenerelSchwerz/llama.cpp/pull/62", "llama-bench 2026, CUDA", "",
              qwen3_8_27b_sizes, 4096, 512, true, GraphReserve::all_logits, 505.0},
    BufferLog{"https://github.com/GenerelSchwerz/llama.cpp/pull/62", "llama-bench 2026, CUDA",
              "-ub 2048", qwen3_8_27b_sizes, 4096, 2048, true, GraphReserve::all_logits, 2054.0},
    BufferLog{"https://github.com/GenerelSchwerz/llama.cpp/pull/62", "one output, as llama-server",
              "", qwen3_8_27b_sizes, 4096, 512, true, GraphReserve::server, 132.0},
    BufferLog{"https://github.com/GenerelSchwerz/llama.cpp/pull/62", "one output, as llama-server",
              "-ub 2048", qwen3_8_27b_sizes, 4096, 2048, true, GraphReserve::server, 568.0},
};

// Parallel residuals without flash attention, of which about 10 MiB are not counted.
constexpr BufferLog neox_log{
    "https://github.com/ggml-org/ci/blob/6531b58a4cae881d6f7e424be05efc5072928e94/llama.cpp/f4/"
    "c3dd5daa3a79f713813cf1aabdc5886071061d/ggml-4-x86-cuda-v100/pythia_2_8b-tg-f16.log",
    "b4893 (f4c3dd5da)",
    "llama-cli -ngl 99 -c 0",
    pythia_2_8b_sizes,
    2048,
    512,
    false,
    until_may,
    162.00};

ModelSummary summary_of(const BufferModel& model) {
  ModelSummary summary;
  summary.architecture = model.architecture;
  summary.heads = {model.heads};
  summary.key_length = model.head_length;
  summary.embedding_length = model.embedding;
  summary.vocabulary_size = model.vocabulary;
  if (model.feed_forward > 0) {
    summary.feed_forward_length = {model.feed_forward};
  } else {
    summary.experts = 128;
  }
  return summary;
}

constexpr double buffer_mib = 1u << 20;

std::optional<double> mib_of(const ModelSummary& summary, std::uint64_t context,
                             const ComputeBufferOptions& options = {}) {
  const auto bytes = compute_buffer_bytes(summary, context, options);
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes) / buffer_mib;
}

ComputeBufferOptions with(GraphReserve reserve) {
  ComputeBufferOptions options;
  options.reserve = reserve;
  return options;
}

}  // namespace

TEST_CASE("compute buffers: within 6 % of public logs of llama.cpp") {
  for (const BufferLog& log : buffer_logs) {
    CAPTURE(std::string(log.address));
    CAPTURE(std::string(log.build));
    CAPTURE(std::string(log.flags));
    CAPTURE(std::string(log.model.name));
    const ComputeBufferOptions options{log.reserve, log.batch, log.has_flash_attention, 1};
    const auto estimate = mib_of(summary_of(log.model), log.context, options);
    REQUIRE(estimate.has_value());
    CHECK(*estimate == doctest::Approx(log.logged_mib).epsilon(0.06));
  }
}

TEST_CASE("compute buffers: GPT-NeoX without flash attention is 6.2 % short") {
  const ComputeBufferOptions options{neox_log.reserve, neox_log.batch, false, 1};
  const auto estimate = mib_of(summary_of(neox_log.model), neox_log.context, options);
  CHECK(estimate == 152.0);
  CHECK(*estimate / neox_log.logged_mib > 0.938);
}

TEST_CASE("compute buffers: ten of the logs name the build and the flags") {
  const auto names_both = [](const BufferLog& log) {
    return std::string(log.build).find_first_of("0123456789") == 1 && log.build[0] == 'b' &&
           log.flags[0] != '\0';
  };
  CHECK(std::count_if(buffer_logs.begin(), buffer_logs.end(), names_both) >= 10);
}

TEST_CASE("compute buffers: exact where the logits, the mask or the scores are the most") {
  CHECK(mib_of(summary_of(qwen2_5_coder_7b_sizes), 512) == 304.0);
  CHECK(mib_of(summary_of(qwen2_5_3b_sizes), 4096) == 300.75);
  CHECK(mib_of(summary_of(llama3_2_3b_sizes), 4096) == 256.5);
  CHECK(compute_buffer_bytes(summary_of(glm_4_5_air_sizes), 131'072, 4096) == 3584u << 20);
  const ComputeBufferOptions scores{until_may, 512, false, 1};
  CHECK(mib_of(summary_of(qwen2_5_14b_sizes), 8192, scores) == 696.0);
  CHECK(mib_of(summary_of(mistral_7b_sizes), 2048, scores) == 164.0);
}

TEST_CASE("compute buffers: batches are no longer than the context") {
  CHECK(mib_of(summary_of(qwen2_5_coder_7b_sizes), 100) == 152.0);
}

TEST_CASE("compute buffers: encoders have no logits and look at no more than their batch") {
  const ModelSummary summary = summary_of(bge_small_sizes);
  const ComputeBufferOptions scores{until_may, 512, false, 1};
  CHECK(mib_of(summary, 512, scores) == 16.0);
  CHECK(mib_of(summary, 8192, scores) == 16.0);
  for (const char* name : {"nomic-bert-moe", "roberta", "modernbert", "gemma-embedding"}) {
    ModelSummary other = summary;
    other.architecture = name;
    CHECK(mib_of(other, 8192, scores) == 16.0);
  }
  // Of an encoder without a rule only a bound of its cache is known.
  ModelSummary unlisted = summary;
  unlisted.architecture = "albert";
  unlisted.caches.assign(12, LayerCache{12, 32, 32});
  CHECK(mib_of(unlisted, 8192, scores) == 16.0);
  unlisted.is_decoder = true;
  CHECK(mib_of(unlisted, 8192, scores) != 16.0);
  ModelSummary decoder = summary;
  for (const char* name : {"llama", "llada"}) {  // a diffusion model has logits
    decoder.architecture = name;
    CHECK(mib_of(decoder, 512, scores).value() > 60);
  }
}

TEST_CASE("compute buffers: layers with windows have a second, smaller mask") {
  ModelSummary summary = summary_of(mistral_7b_sizes);
  const auto whole = mib_of(summary, 131'072);
  summary.caches = {{8, 128, 128, 0, 1024, 0}, {8, 128, 128, 0, 0, 0}};
  CHECK(mib_of(summary, 131'072).value() == whole.value() + 6 * 1536 * 512 / buffer_mib);
  summary.caches = {{8, 128, 128, 0, 1024, 0}, {0, 0, 0, 0, 0, 64}};
  CHECK(mib_of(summary, 131'072) == mib_of(summary, 1536));
}

TEST_CASE("compute buffers: llama-server needs the logits of its sequences alone") {
  const ModelSummary summary = summary_of(qwen3_8_27b_sizes);
  ComputeBufferOptions options = with(GraphReserve::server);
  // A context for which the logits of all tokens are still the most.
  CHECK(mib_of(summary, 8192, options).value() < mib_of(summary, 8192).value() / 3);
  options.sequences = 512;
  CHECK(mib_of(summary, 8192, options) == mib_of(summary, 8192));
  options.sequences = 100'000;  // no more than the tokens of a batch
  CHECK(mib_of(summary, 8192, options) == mib_of(summary, 8192));
}

TEST_CASE("compute buffers: what is unknown") {
  const ModelSummary known = summary_of(qwen2_5_coder_7b_sizes);
  ModelSummary summary = known;
  summary.has_latent_attention = true;
  CHECK_FALSE(mib_of(summary, 512).has_value());
  for (auto number : {&ModelSummary::embedding_length, &ModelSummary::vocabulary_size,
                      &ModelSummary::key_length}) {
    summary = known;
    (summary.*number).reset();
    CHECK_FALSE(mib_of(summary, 512).has_value());
  }
  summary = known;
  summary.heads.clear();
  CHECK_FALSE(mib_of(summary, 512).has_value());
  summary = known;
  summary.vocabulary_size = UINT64_MAX;
  CHECK_FALSE(mib_of(summary, 512).has_value());
}

TEST_CASE("compute buffers: what llama-server needs is unknown without a log of the kind") {
  const ComputeBufferOptions options = with(GraphReserve::server);
  CHECK_FALSE(mib_of(summary_of(glm_4_5_air_sizes), 512, options).has_value());
  ModelSummary summary = summary_of(qwen2_5_coder_7b_sizes);
  CHECK(mib_of(summary, 512, options).has_value());
  for (const std::string name : {"gemma3n", "gemma3n_text", "gemma4"}) {
    summary.architecture = name;
    CHECK_FALSE(mib_of(summary, 512, options).has_value());
    CHECK(mib_of(summary, 512).has_value());
  }
  summary.architecture = "gemma3";
  CHECK(mib_of(summary, 512, options).has_value());
  summary.feed_forward_length.clear();
  CHECK_FALSE(mib_of(summary, 512, options).has_value());
}
