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
  /// Elements of a head that are turned: the first, with latents the last; even.
  std::uint64_t dimensions = 0;
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
  /// Where matrices share a tensor, one after the other: where this one begins, and the rows of
  /// all; 0: the tensor is this matrix.
  std::uint64_t first_row = 0;
  std::uint64_t tensor_rows = 0;
  /// Empty; or the tensor has numbers in FP8, of which that in row r and column c is multiplied by
  /// element (r / block_rows, c / block_columns) of this one: Hugging Face's fp8 of DeepSeek V3.
  std::string scales;
  std::uint64_t block_rows = 0;
  std::uint64_t block_columns = 0;
};

/// Matrices of one shape, one for each expert: y = W_e x + b_e.
struct ExpertMatrices {
  /// One tensor with all of them, experts x rows x columns, or one tensor for each expert.
  std::vector<std::string> weights;
  std::string bias;  ///< empty: none; else experts x rows elements, or as `row_step` says
  /// Empty; or the one tensor has the codes of MXFP4, experts x rows x blocks x 16 bytes with
  /// element 2i in the low half of byte i, and this one an exponent for each block: Hugging Face's
  /// gpt-oss.
  std::string scales;
  /// Where two sets of matrices share a tensor (and a bias): row r is row first_row + row_step r of
  /// an expert's row_step x rows.
  std::uint64_t first_row = 0;
  std::uint64_t row_step = 1;
  /// Or all rows of one set follow the rows of the other set, from first_row on, of this many rows
  /// of each expert, as in transformers; 0: they do not.
  std::uint64_t tensor_rows = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  /// Empty; or MatrixSpec::scales of each of `weights`.
  std::vector<std::string> block_scales;
  std::uint64_t block_rows = 0;
  std::uint64_t block_columns = 0;
};

/// What makes the share of an expert of its score.
enum class ExpertShare {
  softmax,  ///< over all experts
  sigmoid,
};

/// A mixture of experts in place of one gate, up and down: the router gives each expert a score,
/// the `used` highest count (of equal ones those with the lower number), and the layer adds their
/// results by weights that are the softmax of the scores.
///
/// Where has_shares(), an expert counts by its share plus choice_bias, and only experts of the
/// `groups_used` best groups do: a group is count / groups neighbours, and as good as the sum of
/// its group_best highest ones. The weight is the share, without the bias, where is_normalised over
/// the sum of the used ones plus 1e-20, times `scale`: DeepSeek V2 and V3.
struct ExpertsSpec {
  std::uint64_t count = 0;    ///< 0: the layer has one gate, up and down
  std::uint64_t used = 0;     ///< of a token
  bool is_normalised = true;  ///< the weights of a token's experts add up to 1
  MatrixSpec router;          ///< count x embedding
  ExpertMatrices gate;        ///< of feed_forward rows
  ExpertMatrices up;
  ExpertMatrices down;
  ExpertShare share = ExpertShare::softmax;
  std::string choice_bias;  ///< empty: none; else a vector of `count` elements
  std::uint64_t groups = 1;
  std::uint64_t groups_used = 1;
  std::uint64_t group_best = 1;
  double scale = 1;
  std::uint64_t shared_feed_forward = 0;  ///< 0: none; else rows of an MLP that each token uses,
  MatrixSpec shared_gate;  ///< of the shared expert, whose output is added to the experts' sum
  MatrixSpec shared_up;
  MatrixSpec shared_down;
  /// One row, of `embedding` columns: the result of the shared one is multiplied by the sigmoid of
  /// its product with x; no weight: it is not. Qwen2-MoE and what came of it.
  MatrixSpec shared_score;

  [[nodiscard]] bool has_shares() const noexcept {
    return share == ExpertShare::sigmoid || !choice_bias.empty() || groups > 1 || scale != 1;
  }
  [[nodiscard]] bool has_shared() const noexcept { return shared_feed_forward > 0; }
};

/// Keys and values of all heads by way of one short vector (DeepSeek V2, section 2.1): `down` x has
/// the latent, followed by a key of rope.dimensions elements, which all heads share; the latent is
/// normed, and `up` makes of it for each head the first elements of its key and its value. The
/// last rope.dimensions elements of queries and keys are rotated.
struct LatentSpec {
  std::uint64_t length = 0;  ///< of the latent; 0: the layer has k and v
  MatrixSpec down;           ///< length + rope.dimensions rows
  std::string norm;
  MatrixSpec up;  ///< heads x (key_length - rope.dimensions + value_length) rows; or k_up and v_up
  /// Of a GGUF: for each head transposed, heads x length rows of key_length - rope.dimensions
  /// columns. It has no bias.
  MatrixSpec k_up;
  MatrixSpec v_up;                 ///< heads x value_length rows
  std::uint64_t query_length = 0;  ///< 0: q is a matrix of x; else of query_down x, which is normed
  MatrixSpec query_down;
  std::string query_norm;
  double norm_epsilon = 0;  ///< of both norms; transformers does not take the other norms' here
};

/// A state in place of keys and values: Gated DeltaNet (Yang et al. 2024, arXiv 2412.06464), as
/// Qwen3-Next has it. Of x come q and k (of key heads) and v and z (of value heads), b and a (one
/// number of each value head). Each channel c of q, k and v, in this order and head after head, is
/// then silu(sum over i of convolution[c, i] x its value of taps - 1 - i tokens before), with 0
/// before the first token. q and k of each head are divided by sqrt(|q|^2 + 1e-6), q also by
/// sqrt(key_length). With beta = sigmoid(b) and decay = e^(-e^decay_log softplus(a + step_bias)) a
/// value head's state S of key_length x value_length, 0 before the first token, becomes
/// S' = decay S, S = S' + k (beta (v - S'^T k))^T, and gives o = S^T q. The layer's result is
/// attention_output x (norm(o) silu(z)), the norm of each head without norm_offset.
struct DeltaSpec {
  std::uint64_t key_heads = 0;    ///< 0: the layer has keys and values
  std::uint64_t value_heads = 0;  ///< head h uses q and k of head h / (value_heads / key_heads),
  bool is_tiled = false;          ///< or of head h % key_heads: a GGUF of qwen35
  std::uint64_t key_length = 0;
  std::uint64_t value_length = 0;
  std::uint64_t taps = 0;
  MatrixSpec mixed;   ///< all q, all k and all v,
  MatrixSpec z;       ///< without a weight: `mixed` has of each key head after the other its q, its
                      ///< k, and v and z of its value heads
  MatrixSpec scores;  ///< all b,
  MatrixSpec steps;   ///< all a; without a weight: `scores` has of each key head after the other b
                      ///< and a of its value heads
  std::string convolution;  ///< channels x taps elements
  std::string decay_log;    ///< value_heads elements, as is step_bias
  bool has_rates = false;   ///< decay_log has the numbers -e^decay_log: a GGUF
  std::string step_bias;
  std::string norm;  ///< value_length elements

  [[nodiscard]] std::uint64_t keys() const noexcept { return key_heads * key_length; }
  [[nodiscard]] std::uint64_t values() const noexcept { return value_heads * value_length; }
  [[nodiscard]] bool has_mixed_z() const noexcept { return z.weight.empty(); }
  [[nodiscard]] bool has_mixed_steps() const noexcept { return steps.weight.empty(); }
  /// Of the convolution.
  [[nodiscard]] std::uint64_t channels() const noexcept { return 2 * keys() + values(); }
};

/// The function of the gate in down(act(gate x) * up x).
enum class GateKind {
  silu,
  gelu,  ///< by tanh: gelu_pytorch_tanh of transformers
  /// g sigmoid(gate_slope g) (u + 1) in place of act(gate x) * up x, with g = min(gate x,
  /// gate_limit) and u = up x within +-gate_limit: gpt-oss.
  clamped_silu,
};

/// The numbers and tensors of one layer.
struct DecoderLayer {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;  ///< head h uses the keys of kv head h / (heads / kv_heads)
  std::uint64_t window = 0;    ///< key j is visible from position i where i - j < window; 0: all
  std::uint64_t feed_forward = 0;  ///< rows of gate and up, of each expert where there are some
  bool has_local_rope = false;     ///< DecoderSpec::local_rope, not rope
  bool has_rope = true;            ///< false: queries and keys are not turned
  std::string attention_norm;      ///< vector of `embedding` elements; empty: none
  MatrixSpec q;                    ///< heads x key_length rows; of `embedding` columns, or as
                                   ///< LatentSpec::query_length says
  MatrixSpec k;                    ///< kv_heads x key_length rows
  MatrixSpec v;                    ///< kv_heads x value_length rows
  std::string q_norm;  ///< of each head, or has_row_norms, before the rotary embedding; empty: none
  std::string k_norm;
  std::string sinks;                ///< empty: none; else a score of each head, which has no value
  MatrixSpec attention_output;      ///< heads x value_length columns
  std::string attention_post_norm;  ///< of what attention adds to x; empty: none
  std::string feed_forward_norm;    ///< empty: none
  std::string feed_forward_post_norm;  ///< of what the MLP adds to x; empty: none
  MatrixSpec gate;                     ///< this, up and down without experts only
  MatrixSpec up;
  MatrixSpec down;
  ExpertsSpec experts;
  LatentSpec latent;  ///< in place of k and v
  DeltaSpec delta;    ///< in place of q, k and v
  /// q has twice as many rows: of each head its query, followed by key_length elements whose
  /// sigmoid multiplies what attention gives.
  bool has_output_gate = false;

  [[nodiscard]] bool has_delta() const noexcept { return delta.key_heads > 0; }
  [[nodiscard]] bool has_experts() const noexcept { return experts.count > 0; }
  [[nodiscard]] bool has_latent() const noexcept { return latent.length > 0; }
};

/// Every number that a decoder computes with, and the names of its tensors, whose shapes were
/// checked: x = embedding[id]; in each layer x += attention(norm(x)) and x += mlp(norm(x)); the
/// logits are output x norm(x). Norms are RMS norms: x / sqrt(mean(x^2) + norm_epsilon) x (weight +
/// norm_offset).
/// Plain data; scores are multiplied by `attention_scale`. A softcap c makes c tanh(v / c) of v.
struct DecoderSpec {
  std::string architecture;  ///< as the file names it: "llama", "qwen3moe" of a GGUF
  std::uint64_t embedding = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t key_length = 0;      ///< elements of a head's key and query
  std::uint64_t value_length = 0;    ///< elements of a head's value
  std::uint64_t context_length = 0;  ///< tokens that it was trained for; 0: unknown
  double norm_epsilon = 0;
  double norm_offset = 0;        ///< 1 where files have norm weights without it
  double embedding_scale = 1;    ///< of rows of the embedding, an f32
  double attention_scale = 0;    ///< 1 / sqrt(key_length) where files do not say
  double residual_scale = 1;     ///< of what attention and MLP add to x, an f32
  double logit_scale = 1;        ///< an f32
  double attention_softcap = 0;  ///< of scores; 0: none
  double logit_softcap = 0;      ///< of logits; 0: none
  bool has_row_norms = false;    ///< q_norm and k_norm are of all heads of a token at once
  /// Norms take the mean off first: (x - mean) / sqrt(variance + norm_epsilon) x weight.
  bool has_layer_norms = false;
  /// x += attention(norm(x)) + mlp(norm(x)), with the same norm.
  bool is_parallel = false;
  /// Queries of position p, after their rotation, are multiplied by 1 + temperature_scale
  /// ln(1 + floor(p / temperature_tokens)): modeling_ministral3.py. 0: they are not.
  double temperature_scale = 0;
  std::uint64_t temperature_tokens = 0;
  GateKind gate = GateKind::silu;
  double gate_limit = 7;      ///< of clamped_silu
  double gate_slope = 1.702;  ///< likewise
  RopeSpec rope;
  RopeSpec local_rope;           ///< of layers that have it; of as many dimensions
  std::string embedding_tensor;  ///< vocabulary x embedding
  std::string output_norm;
  MatrixSpec output;  ///< where is_tied the embedding once more
  bool is_tied = false;
  std::vector<DecoderLayer> layers;

  /// Reads the metadata of a GGUF (gguf.md, llama.cpp's gguf-py/gguf/constants.py), or the
  /// config.json next to safetensors (Hugging Face transformers); no tensor data. Architectures:
  /// llama (mistral, mixtral, SmolLM2, Llama 3), qwen2, qwen3, qwen3moe (qwen3_moe of configs),
  /// gemma2, gemma3 (gemma3_text of configs), gpt-oss (gpt_oss of configs), phi3, smollm3, granite,
  /// mistral3 (ministral3 of configs), olmo2 (olmo2 and olmo3 of configs), exaone4, cohere2,
  /// deepseek2 (deepseek_v2, deepseek_v3 and kimi_k2 of configs), glm4moe (glm4_moe of configs); of
  /// configs only qwen3_next, qwen3_5_text and qwen3_5_moe_text. Of mistral3, gemma3, qwen3_5 and
  /// qwen3_5_moe folders with an encoder of images the text decoder.
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
