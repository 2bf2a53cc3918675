// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "reference/ops/values.hpp"

namespace hiptool::reference {

// Computed in long double; results are f32. The slack of a sum of k products is
// (8 sqrt(k) + k / 8) units of f32 of the root of the sum of their squares, as for matmul.

/// What a token sees, and what becomes of scores.
struct Attending {
  std::uint64_t first = 0;   ///< position of the first token
  std::uint64_t window = 0;  ///< 0: all keys up to the token's
  long double scale = 1;
  long double softcap = 0;  ///< 0: none
  /// Of each head a score more, of no key and without a value; empty: none.
  std::vector<long double> sinks = {};
};

/// q [tokens, heads, key size], keys and values [positions, cache heads, size]. The slack follows
/// the errors of scores, which are exponents, and of the two sums.
Expected attention(const Values& q, const Values& keys, const Values& values,
                   const Attending& options);

}  // namespace hiptool::reference
