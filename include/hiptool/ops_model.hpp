// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/tensor.hpp"

/// The exact path of a decoder: operations on weights as model files store them, f32 in between.
/// The rules of hiptool/ops.hpp hold here as well: two forms, errors before anything is queued, the
/// same bits on every platform. No token's result depends on how many tokens a call has: a prompt
/// in chunks of any length gives the bits of one that is fed token by token.
///
/// The other steps of a layer are rmsnorm (also of each head: its last axis), rope and gate of
/// hiptool/ops_rows.hpp and add of hiptool/ops.hpp.
namespace hiptool::ops {

/// A matrix of a model file in device memory: rows one after the other, blocks as in the file
/// (ggml-common.h of llama.cpp). Copying it shares the memory.
///
/// Types: the 25 quantised ones of GGUF that ggml converts to f32 (Q4_0 Q4_1 Q5_0 Q5_1 Q8_0, Q2_K
/// to Q6_K, the IQ, TQ and FP4 types, Q1_0 and Q2_0), and F32, F16, BF16 and F64.
class HIPTOOL_API QuantisedTensor {
 public:
  /// The buffer may be longer than the matrix. Throws Error(unsupported) that names the type when
  /// there are no kernels for it; Error(invalid_argument) when the columns are not a multiple of
  /// the block's elements, or the buffer is on no device or not at a multiple of 16 bytes;
  /// Error(out_of_bounds) when it is shorter than the matrix.
  QuantisedTensor(Buffer blocks, ElementType type, std::uint64_t rows, std::uint64_t columns);

  /// Throws Error(unsupported) that names the type when there are no kernels for it.
  static void require_type(ElementType type);

  /// A contiguous tensor [rows, columns] of f32, f16, bf16 or f64, whose memory is shared. Throws
  /// Error(unsupported) for other dtypes, Error(invalid_argument) for other layouts.
  explicit QuantisedTensor(const Tensor& numbers);

  [[nodiscard]] const Buffer& blocks() const noexcept { return blocks_; }
  [[nodiscard]] ElementType type() const noexcept { return type_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] const Device& device() const { return blocks_.device(); }

 private:
  void require_memory() const;

  Buffer blocks_;
  ElementType type_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::uint64_t row_bytes_ = 0;
};

/// x [tokens, columns] times the transposed weights [rows, columns]: f32 [tokens, rows], in f32
/// (F64 is rounded to f32). Of quantised weights a step, and a minimum where the type has one,
/// multiplies the sum of 16 neighbours' products and their sum of x:
/// kernels/include/hiptool_file_rows.h states the order of a sum, which depends on the type and the
/// columns only, and its error. From elements of 2^116 on such sums may be infinite or NaN where
/// the result is not. A result that is NaN is the canonical one; without columns it is 0. Throws
/// Error(invalid_argument) for other shapes, dtypes and devices, and for an output that overlaps x
/// or the weights.
[[nodiscard]] HIPTOOL_API Tensor quantised_matmul(const Backend& backend,
                                                  const QuantisedTensor& weights, const Tensor& x);
HIPTOOL_API void quantised_matmul_into(const Backend& backend, Tensor& out,
                                       const QuantisedTensor& weights, const Tensor& x);

/// The rows of these numbers as f32 [ids, columns], bit for bit as ggml converts them; NaN is the
/// canonical one. Ids of the host are copied before the call returns, and one that is not below
/// weights.rows() is Error(out_of_bounds) before anything is queued.
[[nodiscard]] HIPTOOL_API Tensor embedding_rows(const Backend& backend,
                                                const QuantisedTensor& weights,
                                                std::span<const std::uint32_t> ids);

/// The same by ids u32 [n] on the device, such as argmax writes. One that is out of range gives
/// zeros and is Error(out_of_bounds) at the next Backend::synchronize(); but 2^32 - 1 gives zeros
/// only, as in index_select.
[[nodiscard]] HIPTOOL_API Tensor embedding_rows(const Backend& backend,
                                                const QuantisedTensor& weights, const Tensor& ids);
HIPTOOL_API void embedding_rows_into(const Backend& backend, Tensor& out,
                                     const QuantisedTensor& weights, const Tensor& ids);

/// Keys and values of the tokens so far, by position: f32 [capacity, heads, key size] and
/// [capacity, heads, value size].
struct KVCache {
  Tensor keys;
  Tensor values;
};

/// New memory, uninitialised: attention reads only positions that were written. Throws what
/// Backend::empty throws.
[[nodiscard]] HIPTOOL_API KVCache make_kv_cache(const Backend& backend, std::uint64_t capacity,
                                                std::uint64_t heads, std::uint64_t key_size,
                                                std::uint64_t value_size);

/// Writes keys and values f32 [tokens, heads, size] of neighbouring tokens, the first of them at
/// that position. Throws Error(out_of_bounds) when they exceed the capacity,
/// Error(invalid_argument) for shapes and dtypes that differ from the cache.
HIPTOOL_API void kv_append(const Backend& backend, KVCache& cache, const Tensor& keys,
                           const Tensor& values, std::uint64_t position);

struct AttentionOptions {
  std::uint64_t first_position = 0;  ///< of the first token
  /// Key j is visible from token i when i - j < window; absent: all keys up to i.
  std::optional<std::uint64_t> window = {};
  std::optional<double> scale = {};  ///< of scores; absent: 1 / sqrt(key size)
  double softcap = 0;                ///< scores become softcap tanh(score / softcap); 0: they stay
  /// f32 [heads], contiguous: of each head a further score without key and value, which lowers the
  /// weights of the keys. With causal attention only.
  std::optional<Tensor> sinks = {};
  /// False: every token sees all positions of the cache, as in an encoder or over another text.
  /// Then positions and capacity do not matter, and a window is refused. DecoderCache::get() has
  /// the tokens so far. Needs memory for copies of q and of the result.
  bool is_causal = true;
};

/// Attention, causal if not stated otherwise, of q [tokens, heads, key size], tokens at
/// neighbouring positions: the result is [tokens, heads, value size], the sum of e^(score) value
/// over the sum of e^(score), with score = scale q key. Heads are a multiple of the heads of the
/// cache; head h uses the keys and values of head h / (heads / cache heads). Keys of all visible
/// positions have been appended, including the tokens' own. f32; scale and softcap are rounded to
/// it; kernels/ops/attention.hip states the order of sums. A token with NaN or +infinity among its
/// scores, or nothing but -infinity, becomes NaN.
///
/// Other masks are added to scores of their own: see add_mask of hiptool/ops_rows.hpp.
///
/// Throws Error(out_of_bounds) when the last token is not below the capacity; Error(unsupported)
/// for sizes of 0 and above 256; Error(invalid_argument) for other shapes, dtypes and devices, a
/// cache whose last axis has not stride 1 or, not causal, without positions, other sinks, a window
/// of 0, a softcap that is negative or not finite, and an output that overlaps an input.
[[nodiscard]] HIPTOOL_API Tensor attention(const Backend& backend, const Tensor& q,
                                           const KVCache& cache,
                                           const AttentionOptions& options = {});
HIPTOOL_API void attention_into(const Backend& backend, Tensor& out, const Tensor& q,
                                const KVCache& cache, const AttentionOptions& options = {});

/// How a model derives the frequencies of rope; the defaults leave them as they are. Public sources
/// are transformers' modeling_rope_utils.py and llama.cpp's ggml_rope_ext.
struct RopeOptions {
  std::uint64_t rotary = 0;  ///< elements of a head that are rotated; even
  double base = 10000;       ///< freq_base: pair i turns by base^(-2 i / rotary) a position
  /// Divides the frequency of each pair: GGUF's rope_freqs.weight (Llama 3), rope_factors_long and
  /// rope_factors_short. Empty: none.
  std::vector<double> factors = {};
  double linear_factor = 1;  ///< divides all frequencies: scaling of type linear

  /// Llama 3 by the numbers of config.json; files of GGUF have the factors instead.
  struct Llama3 {
    double factor = 8;
    double low_frequency_factor = 1;
    double high_frequency_factor = 4;
    double original_context = 8192;
  };
  std::optional<Llama3> llama3 = {};

  /// YaRN (arXiv 2309.00071): pairs that turn often keep their frequency, the others are divided by
  /// the factor, those between are blended.
  struct Yarn {
    double factor = 1;
    double original_context = 0;
    double beta_fast = 32;
    double beta_slow = 1;
    bool truncates = true;  ///< the limits of the blend are whole numbers of pairs
  };
  std::optional<Yarn> yarn = {};
};

/// Radians a position for each pair, computed on the host in double. Throws Error(invalid_argument)
/// for an odd number of elements and one above 2^20, a number of factors other than the number of
/// pairs, numbers that are not positive and finite, more than one scaling.
[[nodiscard]] HIPTOOL_API std::vector<double> rope_frequencies(const RopeOptions& options);

/// By what YaRN multiplies cosines and sines: 0.1 ln(factor) + 1, 1 for factors up to 1.
[[nodiscard]] HIPTOOL_API double yarn_magnitude(double factor);
/// By what longrope multiplies them: sqrt(1 + ln(factor) / ln(original context)) with factor =
/// context / original context, 1 for factors up to 1.
[[nodiscard]] HIPTOOL_API double longrope_magnitude(double factor, double original_context);

/// What ops::rope takes: f32 [tokens, pairs].
struct RopeTables {
  Tensor cosines;
  Tensor sines;
};

/// Cosines and sines of position times frequency, times the magnitude: in f64 by functions of our
/// own, rounded once to f32, so that the same frequencies give the same bits on every platform.
/// Frequencies are f64 [pairs]; tokens are at neighbouring positions. Throws
/// Error(invalid_argument) for other shapes and dtypes.
[[nodiscard]] HIPTOOL_API RopeTables rope_tables(const Backend& backend, const Tensor& frequencies,
                                                 std::uint64_t first_position, std::uint64_t tokens,
                                                 double magnitude = 1);
/// The same for positions u32 [tokens].
[[nodiscard]] HIPTOOL_API RopeTables rope_tables(const Backend& backend, const Tensor& frequencies,
                                                 const Tensor& positions, double magnitude = 1);

}  // namespace hiptool::ops
