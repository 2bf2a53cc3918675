// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <fstream>

#include "builders.hpp"
#include "hiptool/model_summary.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

/// A folder as the hub has it: a model and its config.json.
class Folder {
 public:
  explicit Folder(std::string_view config) {
    write("model.safetensors",
          safetensors(R"({"t":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}})", 12));
    write("config.json", config);
  }

  void write(const char* name, std::string_view bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }
  ModelSummary summary() const {
    return summarize(ModelFile::open(folder_.path() / "model.safetensors"));
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("config.json: one that would take long to parse is passed over") {
  const auto array_of = [](std::string_view element, int count) {
    std::string text = R"({"num_hidden_layers":4,"a":[)";
    for (int index = 0; index < count; ++index) text.append(element);
    return text + "0]}";
  };
  const ModelSummary bomb = Folder(array_of("{},", 1'300'000)).summary();
  CHECK_FALSE(bomb.layers);
  REQUIRE(bomb.warnings.size() == 1);
  CHECK(bomb.warnings[0].find("more than 200000 values") != std::string::npos);
  // As many as are taken, and commas in a string, cost no time worth speaking of.
  CHECK(Folder(array_of("{},", 199'000)).summary().layers == 4);
  CHECK(Folder(array_of(R"(",,[[{{\"]",)", 100'000)).summary().layers == 4);
}

TEST_CASE("config.json: a plain language model") {
  const ModelSummary summary = Folder(R"({"architectures": ["MistralForCausalLM"],
      "model_type": "mistral", "_name_or_path": "some/mistral", "num_hidden_layers": 3,
      "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
      "max_position_embeddings": 32768, "sliding_window": 4096, "vocab_size": 32000,
      "num_local_experts": 8, "num_experts_per_tok": 2})")
                                   .summary();
  CHECK(summary.architecture == "mistral");
  CHECK(summary.name == "some/mistral");
  CHECK(summary.parameters == 6);
  CHECK(summary.layers == 3);
  CHECK(summary.heads == Counts{32, 32, 32});
  CHECK(summary.kv_heads == Counts{8, 8, 8});
  CHECK(summary.key_length == 128);
  CHECK(summary.value_length == 128);
  CHECK(summary.context_length == 32'768);
  CHECK(summary.sliding_window == 4096);
  CHECK(summary.vocabulary_size == 32'000);
  CHECK(summary.experts == 8);
  CHECK(summary.experts_used == 2);
  CHECK_FALSE(summary.is_recurrent);
  CHECK(summary.missing_keys.empty());
  CHECK(summary.warnings.empty());
}

TEST_CASE("config.json: YaRN serves more tokens than the training had") {
  // huggingface.co/Qwen/Qwen3-8B, "Processing Long Texts": 32768 x 4, while
  // max_position_embeddings stays 40960; vLLM derives the same.
  const auto context_of = [](const std::string& rope) {
    return Folder(R"({"model_type": "qwen3", "max_position_embeddings": 40960, )" + rope + "}")
        .summary()
        .context_length;
  };
  const std::string yarn = R"({"rope_type": "yarn", "factor": 4.0,
      "original_max_position_embeddings": 32768})";
  CHECK(context_of("\"rope_scaling\": " + yarn) == 131'072);
  CHECK(context_of("\"rope_parameters\": " + yarn) == 131'072);  // transformers 5
  CHECK(context_of(R"("rope_scaling": {"type": "yarn", "factor": 2,
      "original_max_position_embeddings": 32768})") == 65'536);
  // gpt-oss: already counted; never less than the training.
  CHECK(context_of(R"("rope_scaling": {"rope_type": "yarn", "factor": 1.0,
      "original_max_position_embeddings": 4096})") == 40'960);
  // Other kinds have counted it, and some numbers are none.
  for (const char* rope : {R"({"rope_type": "linear", "factor": 4.0,
                               "original_max_position_embeddings": 32768})",
                           R"({"rope_type": "yarn", "factor": 4.0})",
                           R"({"rope_type": "yarn", "original_max_position_embeddings": 32768})",
                           R"({"rope_type": "yarn", "factor": "4",
                               "original_max_position_embeddings": 32768})",
                           R"({"rope_type": "yarn", "factor": 1e300,
                               "original_max_position_embeddings": 32768})",
                           R"({"rope_type": "yarn", "factor": -4,
                               "original_max_position_embeddings": 32768})",
                           "null", "7", "[]", R"({"rope_type": 7})"}) {
    CAPTURE(rope);
    CHECK(context_of(std::string("\"rope_scaling\": ") + rope) == 40'960);
  }
}

TEST_CASE("config.json: other spellings, a window that is not used, as many KV heads as heads") {
  const ModelSummary summary = Folder(R"({"architectures": ["GPT2LMHeadModel"], "n_layer": 2,
      "n_head": 12, "n_embd": 768, "n_positions": 1024, "head_dim": 100, "sliding_window": 9,
      "use_sliding_window": false, "num_key_value_heads": null})")
                                   .summary();
  CHECK(summary.architecture == "GPT2LMHeadModel");
  CHECK(summary.kv_heads == Counts{12, 12});
  CHECK(summary.key_length == 100);
  CHECK(summary.context_length == 1024);
  CHECK_FALSE(summary.sliding_window.has_value());
}

TEST_CASE("config.json: the language part of a model that also sees") {
  const ModelSummary summary = Folder(R"({"model_type": "llava", "hidden_size": 1,
      "vision_config": {"num_hidden_layers": 24},
      "text_config": {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
                      "hidden_size": 512}, "vocab_size": 7})")
                                   .summary();
  CHECK(summary.architecture == "llama");
  CHECK(summary.layers == 2);
  CHECK(summary.key_length == 128);
  CHECK(summary.vocabulary_size == 7);
}

TEST_CASE("config.json: heads of each layer, layers without attention, compressed caches") {
  const ModelSummary each = Folder(R"({"num_hidden_layers": 3, "num_query_heads": [4, 8, 8],
      "num_kv_heads": [1, 2, 2], "head_dim": 64})")
                                .summary();
  CHECK(each.kv_heads == Counts{1, 2, 2});
  const ModelSummary mixed = Folder(R"({"num_hidden_layers": 4, "num_attention_heads": 4,
      "head_dim": 64, "layer_types": ["linear_attention", "full_attention", "mamba",
      "sliding_attention"]})")
                                 .summary();
  CHECK(mixed.kv_heads == Counts{0, 4, 0, 4});
  CHECK(mixed.is_recurrent);
  const ModelSummary latent = Folder(R"({"num_hidden_layers": 2, "num_attention_heads": 128,
      "num_key_value_heads": 128, "hidden_size": 7168, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64})")
                                  .summary();
  CHECK(latent.kv_heads == Counts{1, 1});
  CHECK(latent.key_length == 576);
  CHECK(latent.value_length == 512);
}

TEST_CASE("config.json: what cannot be used is a warning and no failure") {
  const auto warnings_of = [](std::string_view config) {
    const ModelSummary summary = Folder(config).summary();
    CHECK_FALSE(summary.layers.has_value());
    CHECK(summary.missing_keys.front() == "num_hidden_layers in config.json");
    REQUIRE(summary.warnings.size() == 1);
    return summary.warnings.front();
  };
  const auto says = [&](std::string_view config, std::string_view part) {
    const std::string warning = warnings_of(config);
    CAPTURE(warning);
    CHECK(warning.find(part) != std::string::npos);
  };
  says("", "it ends before a value");
  says("{\"num_hidden_layers\": 2", "it ends before ',' or '}'");
  says("[1]", "not a JSON object");
  says("{\"a\": \"\xff\"}", "a string is not valid UTF-8");
  says(R"({"num_hidden_layers": 1.5})", "not a whole number");
  says(R"({"model_max_length": 1e30})", "model_max_length in config.json is not a whole number");
  says(R"({"num_hidden_layers": -3})", "out of range");
  says(R"({"num_hidden_layers": 18446744073709551615})", "out of range");
  says("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", "too deeply");
  says("{\"a\": \"" + std::string(4u << 20, 'x') + "\"}", "4 MiB");
}

TEST_CASE("config.json: without one, or with a folder of that name") {
  const Folder folder("{}");
  std::filesystem::remove(folder.path() / "config.json");
  CHECK(folder.summary().warnings.empty());
  CHECK(folder.summary().missing_keys.size() == 2);
  std::filesystem::create_directory(folder.path() / "config.json");
  REQUIRE(folder.summary().warnings.size() == 1);
  CHECK(folder.summary().warnings[0].find("folder") != std::string::npos);
}

TEST_CASE("config.json: fields of a wrong kind are left out") {
  const ModelSummary summary = Folder(R"({"model_type": 5, "architectures": [7],
      "num_hidden_layers": "32", "num_attention_heads": {"a": 1}, "num_kv_heads": [1, "x"],
      "layer_types": [1, 2], "text_config": "none"})")
                                   .summary();
  CHECK_FALSE(summary.architecture.has_value());
  CHECK_FALSE(summary.layers.has_value());
  CHECK(summary.heads.empty());
  CHECK(summary.kv_heads.empty());
}

TEST_CASE("config.json: names of the context that a model was trained for") {
  // MPT and DBRX, Baichuan 2 13B and Kimi Linear, RWKV, GPT-2's first configuration.
  for (const char* name : {"max_position_embeddings", "max_seq_len", "model_max_length",
                           "context_length", "n_ctx", "max_seq_length"}) {
    CAPTURE(name);
    const std::string field = '"' + std::string(name) + "\": 4096";
    CHECK(Folder(R"({"model_type": "mpt", )" + field + "}").summary().context_length == 4096);
  }
  // Whichever comes first in the file.
  CHECK(Folder(R"({"model_max_length": 4096, "max_position_embeddings": 8192})")
            .summary()
            .context_length == 8192);
  // As a tokenizer without a limit has it.
  CHECK_FALSE(Folder(R"({"model_max_length": 1000000000000000019884624838656})")
                  .summary()
                  .context_length.has_value());
}

TEST_CASE("config.json: names of the experts") {
  struct Case {
    const char* fields;
    std::uint64_t experts, used;
  };
  // The files that these publishers have on Hugging Face.
  for (const Case& one :
       {Case{R"("model_type": "ernie4_5_moe", "moe_num_experts": 64, "moe_k": 6)", 64, 6},
        Case{R"("model_type": "ernie4_5_moe_vl", "moe_num_experts": [64, 48], "moe_k": 6)", 64, 6},
        Case{R"("model_type": "step3p5", "moe_num_experts": 288, "moe_top_k": 8)", 288, 8},
        Case{R"("model_type": "smallthinker", "moe_num_primary_experts": 64,
                "moe_num_active_primary_experts": 6)",
             64, 6},
        Case{R"("model_type": "dbrx", "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4})", 16,
             4},
        Case{R"("model_type": "hunyuan_v1_moe", "num_experts": 64, "moe_topk": [8, 8])", 64, 8},
        Case{R"("model_type": "gemma4_text", "num_experts": 128, "top_k_experts": 8)", 128, 8},
        Case{R"("model_type": "mixtral", "moe": {"num_experts": 8, "num_experts_per_tok": 2})", 8,
             2}}) {
    CAPTURE(one.fields);
    const ModelSummary summary = Folder("{" + std::string(one.fields) + "}").summary();
    CHECK(summary.experts == one.experts);
    CHECK(summary.experts_used == one.used);
  }
  const ModelSummary dense = Folder(R"({"num_experts": [], "moe_topk": ["a", -1]})").summary();
  CHECK_FALSE(dense.experts.has_value());
  CHECK_FALSE(dense.experts_used.has_value());
}

TEST_CASE("config.json: a missing file or link target is named") {
  const Folder folder("{}");
  const std::filesystem::path config = folder.path() / "config.json";
  CHECK(folder.summary().unreadable.empty());
  std::filesystem::remove(config);
  ModelSummary summary = folder.summary();
  CHECK(summary.unreadable == config.string() + " is missing");
  CHECK(summary.warnings.empty());
  const std::filesystem::path target = folder.path() / "blobs" / "abc";
  std::filesystem::create_symlink(target, config);
  summary = folder.summary();
  CHECK(summary.unreadable ==
        config.string() + " is a link to " + target.string() + ", which is missing");
  CHECK(summary.warnings == std::vector<std::string>{summary.unreadable});
  folder.write("params.json", R"({"n_layers": 2})");
  CHECK(folder.summary().unreadable.empty());
}
