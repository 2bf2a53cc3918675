// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

/// Which elements of a head a rotary embedding turns together, of d rotated ones.
enum class RopePairs {
  neighbours,  ///< (2i, 2i + 1): "NORM" in ggml; llama in a GGUF, whose converter reorders q and k
  halves,      ///< (i, i + d/2): "NEOX" in ggml; all files of Hugging Face, qwen2 and qwen3
};

enum class RopeScaling {
  none,
  linear,
  yarn,
  llama3,
  longrope,
  dynamic,  ///< none up to original_context; beyond it every token changes the base: not computed
};

/// A rotary embedding (Su et al. 2021). Pair i of position p turns by p x f(i), where
/// f(i) = base^(-2i / dimensions) changed as `scaling` says; cosine and sine are then multiplied by
/// `attention_factor`. Formulas: Hugging Face transformers, modeling_rope_utils.py.
struct RopeSpec {
  RopePairs pairs = RopePairs::neighbours;
  std::uint64_t dimensions = 0;  ///< elements of a head that are turned, from the first; even
  double base = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;            ///< linear, yarn, llama3: frequencies are divided by it
  double attention_factor = 1;  ///< yarn, longrope: already computed where files leave it out
  std::uint64_t original_context = 0;  ///< yarn, llama3, longrope, dynamic: tokens before scaling
  double beta_fast = 32;               ///< yarn: turns in the original context: above, unscaled
  double beta_slow = 1;                ///< yarn: below, divided by the factor
  bool truncates = true;               ///< yarn: the limits of the ramp are whole numbers
  double low_frequency_factor = 1;     ///< llama3
  double high_frequency_factor = 4;    ///< llama3
  /// Divisors of the frequencies, one for each pair: an F32 tensor of the file (GGUF: rope_freqs,
  /// for llama3; rope_factors_*), or numbers of config.json. longrope: `long_*` where the sequence
  /// is longer than original_context, else the others.
  std::string divisors_tensor;
  std::string long_divisors_tensor;
  std::vector<double> divisors;
  std::vector<double> long_divisors;
};

/// A matrix of a layer: y = W x + b, with W of rows x columns.
struct MatrixSpec {
  std::string weight;  ///< name of the tensor, whose rows are contiguous
  std::string bias;    ///< empty: none; else a vector of `rows` elements
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

/// The function of the gate in down(act(gate x) * up x).
enum class GateKind { silu };

/// The numbers and tensors of one layer.
struct DecoderLayer {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;  ///< head h uses the keys of kv head h / (heads / kv_heads)
  std::uint64_t window = 0;    ///< key j is visible from position i where i - j < window; 0: all
  std::uint64_t feed_forward = 0;
  std::string attention_norm;  ///< vector of `embedding` elements
  MatrixSpec q;                ///< heads x key_length rows
  MatrixSpec k;                ///< kv_heads x key_length rows
  MatrixSpec v;                ///< kv_heads x value_length rows
  std::string q_norm;          ///< of each head, before the rotary embedding; empty: none
  std::string k_norm;
  MatrixSpec attention_output;  ///< heads x value_length columns
  std::string feed_forward_norm;
  MatrixSpec gate;
  MatrixSpec up;
  MatrixSpec down;
};

/// Every number that a decoder computes with, and the names of its tensors, whose shapes were
/// checked: x = embedding[id]; in each layer x += attention(norm(x)) and x += mlp(norm(x)); the
/// logits are output x norm(x). Norms are RMS norms: x / sqrt(mean(x^2) + norm_epsilon) x weight.
/// Plain data; scores are multiplied by `attention_scale`.
struct DecoderSpec {
  std::string architecture;  ///< "llama", "qwen2", "qwen3", as files name it; "mistral" of configs
  std::uint64_t embedding = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t key_length = 0;      ///< elements of a head's key and query
  std::uint64_t value_length = 0;    ///< elements of a head's value
  std::uint64_t context_length = 0;  ///< tokens that it was trained for; 0: unknown
  double norm_epsilon = 0;
  double attention_scale = 0;  ///< 1 / sqrt(key_length) where files do not say
  GateKind gate = GateKind::silu;
  RopeSpec rope;
  std::string embedding_tensor;  ///< vocabulary x embedding
  std::string output_norm;
  MatrixSpec output;  ///< where is_tied the embedding once more
  bool is_tied = false;
  std::vector<DecoderLayer> layers;

  /// Reads the metadata of a GGUF (gguf.md, llama.cpp's gguf-py/gguf/constants.py), or the
  /// config.json next to safetensors (Hugging Face transformers); no tensor data. Architectures:
  /// llama (mistral, SmolLM2, Llama 3), qwen2, qwen3.
  ///
  /// Throws Error(input_failed), naming key and value, for an architecture, key or value that would
  /// change the arithmetic and is not known, for one that is missing or out of range, and for a
  /// tensor that is missing, has another shape or no place in the architecture;
  /// Error(host_out_of_memory). Blocks while it reads small parts of files.
  [[nodiscard]] HIPTOOL_API static DecoderSpec read(const ModelFile& model);
};

/// "none", "linear", "yarn", "llama3", "longrope", "dynamic".
[[nodiscard]] HIPTOOL_API std::string_view to_string(RopeScaling scaling) noexcept;

}  // namespace hiptool
