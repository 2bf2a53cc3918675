// SPDX-License-Identifier: MIT
#include "hiptool/model_summary.hpp"

#include <doctest/doctest.h>

#include "builders.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t type_u32 = 4;
constexpr std::uint32_t type_i32 = 5;
constexpr std::uint32_t type_text = 8;
constexpr std::uint32_t type_array = 9;
constexpr std::uint32_t type_u64 = 10;

Gguf& add_u32(Gguf& file, std::string_view key, std::uint32_t value) {
  return file.pair(key, type_u32, Bytes().u32(value));
}

Gguf& add_array(Gguf& file, std::string_view key, const std::vector<std::int32_t>& values) {
  Bytes bytes;
  bytes.u32(type_i32).u64(values.size());
  for (const std::int32_t value : values) bytes.number(value);
  return file.pair(key, type_array, bytes);
}

ModelSummary summary_of(const Gguf& file) {
  const TemporaryFile written(file.bytes());
  return summarize(ModelFile::open(written.path()));
}

// As Llama 3 8B has it, with some of its tensors.
Gguf llama() {
  Gguf file;
  file.architecture();
  file.pair("general.name", type_text, Bytes().text("A Llama"));
  add_u32(file, "general.file_type", 15);
  add_u32(file, "llama.block_count", 32);
  file.pair("llama.context_length", type_u64, Bytes().u64(8192));
  add_u32(file, "llama.embedding_length", 4096);
  add_u32(file, "llama.attention.head_count", 32);
  add_u32(file, "llama.attention.head_count_kv", 8);
  add_u32(file, "llama.vocab_size", 128'256);
  file.tensor("a", {256}, 12, 0).tensor("b", {256}, 12, 160).tensor("c", {256}, 0, 320);
  return file.data(1344);
}

}  // namespace

TEST_CASE("summary: what a GGUF tells, and what follows from it") {
  const ModelSummary summary = summary_of(llama());
  CHECK(summary.architecture == "llama");
  CHECK(summary.name == "A Llama");
  CHECK(summary.file_type == "Q4_K_M");
  CHECK(summary.parameters == 768);
  CHECK(summary.context_length == 8192);
  CHECK(summary.layers == 32);
  CHECK(summary.embedding_length == 4096);
  CHECK(summary.heads == std::vector<std::uint64_t>(32, 32));
  CHECK(summary.kv_heads == std::vector<std::uint64_t>(32, 8));
  CHECK(summary.key_length == 128);
  CHECK(summary.value_length == 128);
  CHECK(summary.vocabulary_size == 128'256);
  CHECK_FALSE(summary.experts.has_value());
  CHECK_FALSE(summary.sliding_window.has_value());
  CHECK_FALSE(summary.is_recurrent);
  CHECK(summary.missing_keys.empty());
  CHECK(summary.warnings.empty());
  REQUIRE(summary.types.size() == 2);
  CHECK(summary.types[0].type == "F32");
  CHECK(summary.types[0].size_bytes == 1024);
  CHECK(summary.types[1].type == "Q4_K");
  CHECK(summary.types[1].tensors == 2);
  CHECK(summary.types[1].size_bytes == 288);
}

TEST_CASE("summary: keys of their own stand above what would follow") {
  Gguf file = llama();
  add_u32(file, "llama.attention.key_length", 192);
  add_u32(file, "llama.attention.value_length", 64);
  add_u32(file, "llama.attention.sliding_window", 4096);
  add_u32(file, "llama.expert_count", 8);
  add_u32(file, "llama.expert_used_count", 2);
  Bytes tokens;
  tokens.u32(type_text).u64(3).text("a").text("b").text("c");
  file.pair("tokenizer.ggml.tokens", type_array, tokens);
  const ModelSummary summary = summary_of(file);
  CHECK(summary.key_length == 192);
  CHECK(summary.value_length == 64);
  CHECK(summary.sliding_window == 4096);
  CHECK(summary.experts == 8);
  CHECK(summary.experts_used == 2);
  CHECK(summary.vocabulary_size == 3);
}

TEST_CASE("summary: heads of each layer, where a hybrid model's have none") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 4);
  add_u32(file, "llama.embedding_length", 512);
  add_array(file, "llama.attention.head_count", {0, 8, 0, 8});
  add_array(file, "llama.attention.head_count_kv", {0, 2, 0, 4});
  add_u32(file, "llama.ssm.state_size", 16);
  const ModelSummary summary = summary_of(file);
  CHECK(summary.heads == std::vector<std::uint64_t>{0, 8, 0, 8});
  CHECK(summary.kv_heads == std::vector<std::uint64_t>{0, 2, 0, 4});
  CHECK(summary.key_length == 64);
  CHECK(summary.is_recurrent);
  CHECK(summary.missing_keys.empty());
}

TEST_CASE("summary: only every n-th layer of some recurrent models attends") {
  Gguf file;
  file.pair("general.architecture", type_text, Bytes().text("qwen3next"));
  add_u32(file, "qwen3next.block_count", 8);
  add_u32(file, "qwen3next.embedding_length", 2048);
  add_u32(file, "qwen3next.attention.head_count", 16);
  add_u32(file, "qwen3next.attention.head_count_kv", 2);
  add_u32(file, "qwen3next.full_attention_interval", 4);
  const ModelSummary summary = summary_of(file);
  CHECK(summary.kv_heads == std::vector<std::uint64_t>{0, 0, 0, 2, 0, 0, 0, 2});
}

TEST_CASE("summary: a model without attention needs no lengths") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 2);
  add_u32(file, "llama.attention.head_count", 0);
  CHECK(summary_of(file).missing_keys.empty());
}

TEST_CASE("summary: what is missing is named by its key") {
  Gguf file;
  file.architecture();
  ModelSummary summary = summary_of(file);
  CHECK(summary.missing_keys ==
        std::vector<std::string>{"llama.block_count", "llama.attention.head_count"});
  CHECK_FALSE(summary.layers.has_value());
  CHECK_FALSE(summary.vocabulary_size.has_value());
  CHECK(summary.types.empty());
  add_u32(file, "llama.block_count", 2);
  add_u32(file, "llama.attention.head_count_kv", 2);
  summary = summary_of(file);
  CHECK(summary.missing_keys == std::vector<std::string>{"llama.attention.key_length"});
}

TEST_CASE("summary: numbers beyond belief are passed over and said so") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 65'537);
  file.pair("llama.context_length", type_i32, Bytes().number<std::int32_t>(-1));
  file.pair("llama.embedding_length", type_u64, Bytes().u64((std::uint64_t{1} << 32) + 1));
  const ModelSummary summary = summary_of(file);
  CHECK_FALSE(summary.layers.has_value());
  CHECK_FALSE(summary.context_length.has_value());
  CHECK_FALSE(summary.embedding_length.has_value());
  REQUIRE(summary.warnings.size() == 3);
  CHECK(summary.warnings[0].find("llama.block_count") != std::string::npos);
}

TEST_CASE("summary: as many heads as layers, or they count for nothing") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 3);
  add_array(file, "llama.attention.head_count", {1, 2});
  add_array(file, "llama.attention.head_count_kv", {1, 2, -2});
  const ModelSummary summary = summary_of(file);
  CHECK(summary.heads.empty());
  CHECK(summary.kv_heads.empty());
  REQUIRE(summary.warnings.size() == 2);
  CHECK(summary.warnings[0].find("2 numbers for 3 layers") != std::string::npos);
}

TEST_CASE("summary: an array longer than any model has layers is not even read") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 3);
  add_array(file, "llama.attention.head_count", std::vector<std::int32_t>(65'537, 1));
  const ModelSummary summary = summary_of(file);
  CHECK(summary.heads.empty());
  CHECK(summary.warnings.empty());
}

TEST_CASE("summary: names of file types; unknown ones have none") {
  const auto name_of = [](std::uint32_t number) {
    Gguf file;
    file.architecture();
    return summary_of(add_u32(file, "general.file_type", number)).file_type;
  };
  CHECK(name_of(0) == "F32");
  CHECK(name_of(18) == "Q6_K");
  CHECK(name_of(32) == "BF16");
  CHECK(name_of(38) == "MXFP4");
  CHECK(name_of(41) == "Q2_0");
  CHECK(name_of(1025) == "F16 (guessed)");
  CHECK_FALSE(name_of(5).has_value());
  CHECK_FALSE(name_of(42).has_value());
  CHECK_FALSE(name_of(UINT32_MAX).has_value());
}

TEST_CASE("summary: a GGUF that changed since it was parsed is refused") {
  Gguf file;
  file.architecture();
  add_u32(file, "llama.block_count", 2);
  add_array(file, "llama.attention.head_count", {1, 2});
  TemporaryFile written(file.bytes());
  const ModelFile model = ModelFile::open(written.path());
  written.write(file.bytes() + "more");
  CHECK_THROWS_AS(summarize(model), Error);
}
