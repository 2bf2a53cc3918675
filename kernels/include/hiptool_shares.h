// SPDX-License-Identifier: MIT
// What the host passes to the kernel of experts that are chosen by their shares; both include it.
#pragma once
#include "hiptool_layers.h"

namespace hiptool_ops {

// See ExpertsSpec of hiptool/decoder_spec.hpp.
struct ShareRouting {
  uint64_t tokens;
  uint64_t score_stride;  // from token to token; scores of a token are neighbours
  uint32_t experts;
  uint32_t used;
  uint32_t groups;
  uint32_t groups_used;
  uint32_t has_pairs;   // a group is as good as its two best experts, else as its best
  uint32_t is_sigmoid;  // else the softmax
  uint32_t is_normalised;
  float scale;
};

}  // namespace hiptool_ops
