// SPDX-License-Identifier: MIT
// What the host passes to kernels of pooling, upsampling and convolution; both include it.
#pragma once
#include "hiptool_operands.h"

namespace hiptool_ops {

enum class PoolKind : uint32_t { average, largest };

// Windows of elements, each of which becomes one.
struct Windows {
  Operands<2> all;  // first element of the window, result
  uint64_t rows;    // of a window
  uint64_t columns;
  uint64_t row_stride;  // in the input
  uint64_t column_stride;
  PoolKind kind;
};

// One axis of an upsampling to the nearest element.
struct NearestAxis {
  uint64_t in;  // dimension of the input
  uint64_t out;
  uint64_t stride;  // in the input
  Divisor by_out;
};
struct Nearest {
  Operands<4> all;  // image in the input, row and column of the result, result
  NearestAxis rows;
  NearestAxis columns;
  uint32_t is_wide;  // products of places and dimensions do not fit 31 bits: no divisors
};

// One axis of a linear interpolation.
struct LinearAxis {
  double scale;
  uint64_t last;    // the largest place of the input
  uint64_t stride;  // in the input
};
struct Bilinear {
  Operands<4> all;  // as those of Nearest
  LinearAxis rows;
  LinearAxis columns;
  uint32_t aligns_corners;
};

}  // namespace hiptool_ops
