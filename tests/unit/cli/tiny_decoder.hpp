// SPDX-License-Identifier: MIT
/// A decoder so small that a program computes with it within milliseconds, also without
/// optimisation.
#pragma once
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "unit/model/builders.hpp"

namespace hiptool::cli::testing {

/// A GGUF of the architecture llama with two layers, of random weights and with a chat template.
class TinyDecoder {
 public:
  /// With a gap, which the format does not allow but readers do, only --strict refuses it.
  static void write(const std::filesystem::path& path, bool has_gap = false) {
    TinyDecoder decoder;
    decoder.has_gap_ = has_gap;
    decoder.add_keys();
    decoder.add_tensors();
    test::write_file(path, test::Bytes()
                               .raw(decoder.gguf_.header())
                               .pad_to(decoder.gguf_.alignment)
                               .raw(decoder.data_.data())
                               .data());
  }

 private:
  static constexpr std::uint32_t layers = 2;
  static constexpr std::uint32_t embedding = 8;
  static constexpr std::uint32_t head_length = 32;  // whole blocks of quantised KV caches
  static constexpr std::uint32_t feed_forward = 8;
  static constexpr std::uint32_t vocabulary = 32;

  void text(const std::string& key, const std::string& value) {
    gguf_.pair(key, 8, test::Bytes().text(value));
  }
  void number(const std::string& key, std::uint32_t value) {
    gguf_.pair(key, 4, test::Bytes().u32(value));
  }

  void add_keys() {
    text("general.architecture", "llama");
    number("llama.block_count", layers);
    number("llama.context_length", 64);
    number("llama.embedding_length", embedding);
    number("llama.feed_forward_length", feed_forward);
    number("llama.attention.head_count", 1);
    number("llama.attention.head_count_kv", 1);
    number("llama.attention.key_length", head_length);
    number("llama.attention.value_length", head_length);
    number("llama.rope.dimension_count", head_length);
    number("llama.vocab_size", vocabulary);
    gguf_.pair("llama.attention.layer_norm_rms_epsilon", 6, test::Bytes().number(1e-5f));
    text("tokenizer.ggml.model", "none");
    text("tokenizer.chat_template", "{{ messages }}");
  }

  void add_tensors() {
    add("token_embd.weight", {embedding, vocabulary});
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      add(prefix + "attn_norm.weight", {embedding});
      add(prefix + "attn_q.weight", {embedding, head_length});
      add(prefix + "attn_k.weight", {embedding, head_length});
      add(prefix + "attn_v.weight", {embedding, head_length});
      add(prefix + "attn_output.weight", {head_length, embedding});
      add(prefix + "ffn_norm.weight", {embedding});
      add(prefix + "ffn_gate.weight", {embedding, feed_forward});
      add(prefix + "ffn_up.weight", {embedding, feed_forward});
      add(prefix + "ffn_down.weight", {feed_forward, embedding});
    }
    add("output_norm.weight", {embedding});
    add("output.weight", {embedding, vocabulary});
  }

  void add(const std::string& name, std::vector<std::uint64_t> shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    constexpr std::uint32_t f32 = 0;
    gguf_.tensor(name, std::move(shape), f32, data_.pad_to(gguf_.alignment).size());
    for (std::uint64_t i = 0; i < count; ++i) {
      data_.number(static_cast<float>(random_() % 1024) / 1024.0f - 0.5f);
    }
    if (has_gap_) data_.zeros(gguf_.alignment);
  }

  test::Gguf gguf_;
  test::Bytes data_;
  std::mt19937_64 random_{1};
  bool has_gap_ = false;
};

}  // namespace hiptool::cli::testing
