// SPDX-License-Identifier: MIT
/// Attention of one token from the products on, in one launch.
#pragma once
#include <cstdint>
#include <optional>

#include "hiptool/backend.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"

namespace hiptool::ops {

/// What happens to the rows of heads before they attend.
struct HeadSteps {
  const Tensor* query_norm = nullptr;  ///< f32 [key size]; null: none
  const Tensor* key_norm = nullptr;
  double norm_epsilon = 0;
  const RopeTables* tables = nullptr;  ///< by position; null: no rotation
  RopePairs pairs = RopePairs::halves;
  /// u32 [1]: the position, in place of options.first_position; null: that one.
  const Tensor* position = nullptr;
};

/// The products of a token: f32 [1, heads, size] without gaps.
struct TokenHeads {
  Tensor q;
  Tensor k;
  Tensor v;
};

/// Normalises and rotates the rows of heads of the token at options.first_position, stores its keys
/// and values in the cache and attends: the bits of rmsnorm_into, rope_into, kv_append and
/// attention_into one after the other; but q and k keep the products. False, and nothing is queued,
/// where tensors do not fit the kernel; none of this is checked for mistakes of a caller.
bool attend_token_into(const Backend& backend, Tensor& out, const TokenHeads& heads,
                       const KVCache& cache, const HeadSteps& steps,
                       const AttentionOptions& options);

}  // namespace hiptool::ops
