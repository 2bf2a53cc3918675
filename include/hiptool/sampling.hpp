// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool {

/// How the next token is chosen from logits.
struct SamplingOptions {
  /// Logits are divided by it. 0: greedy, the token of the largest logit, whatever the others say.
  double temperature = 0;
  std::uint64_t top_k = 0;  ///< number of tokens with the largest logits to choose from; 0: all
  /// Of these, in the order of their probabilities, only the first that together have at least this
  /// share, from above 0 to 1 (Holtzman et al., The curious case of neural text degeneration,
  /// 2020).
  double top_p = 1;
  std::uint64_t seed = 0;
};

/// The id of a token, drawn with probabilities proportional to e^(logit / temperature) among those
/// that the options leave. Of equal logits the lowest id comes first. -infinity is never chosen.
///
/// Computed on the host in double by operations that IEEE 754 defines to the bit, sums in ascending
/// order of ids, so that the same logits give the same id on every machine. The random number is u
/// = Philox4x32-10 with the seed as key and `draw` as counter: the upper 53 bits of its first two
/// words, as 2 x draw of ops::rand_uniform for f64. A decoder that passes the position of the last
/// token continues in the same way wherever its prompt ended.
///
/// Throws Error(invalid_argument) without logits, with more than 2^32, and for options out of
/// range; Error(corrupt_data), naming the id, for a logit that is NaN or +infinity, and where all
/// are -infinity. Does not block.
[[nodiscard]] HIPTOOL_API std::uint32_t sample_token(std::span<const float> logits,
                                                     const SamplingOptions& options,
                                                     std::uint64_t draw);

/// The choice of a token on the device, so that ids need not visit the host between two steps. Made
/// of other operations: about 300 launches with top_k and top_p, 1 where it is greedy. Not for
/// several threads at a time.
class HIPTOOL_API TokenSampler {
 public:
  /// Allocates and copies 8 bytes for each token of the vocabulary; waits for that. Throws
  /// Error(invalid_argument) for a vocabulary of 0 or of more than 2^20 tokens, and what
  /// Backend::empty throws.
  TokenSampler(const Backend& backend, std::uint64_t vocabulary);

  /// Queues the choice from logits f32 [vocabulary] and returns the id, u32 [1], as
  /// ops::embedding_rows takes it. The id equals sample_token() with the same arguments, unless
  /// the random number or a share is within rounding (about 1e-14) of the border between two
  /// tokens: sums are f64, in the order of ops::sum. The same bits on every device. Does not block.
  ///
  /// Where sample_token() reports bad logits the id is 2^32 - 1, whose row is zeros. Throws
  /// Error(invalid_argument) for other shapes and dtypes and for options out of range.
  [[nodiscard]] Tensor sample(const Tensor& logits, const SamplingOptions& options,
                              std::uint64_t draw) const;

 private:
  Backend backend_;
  std::uint64_t vocabulary_;
  Tensor numbers_;  // i64: 0, 1, .. for each token
};

/// Throws what sample_token() throws for options out of range.
HIPTOOL_API void require_valid(const SamplingOptions& options);

}  // namespace hiptool
