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
  Operands<4> all;  // as in Nearest
  LinearAxis rows;
  LinearAxis columns;
  uint32_t aligns_corners;
};

// The elements that each result of a convolution is made of, one row of the columns after the
// other. Rows and columns of the image are counted modulo 2^64, so that those before it exceed it.
struct Unfold {
  Operands<4> rows;  // image and channel in the input, row and column of the image, row of columns
  uint64_t first_row;
  uint64_t first_column;
  uint64_t height;
  uint64_t width;
  uint64_t row_stride;  // in the input
  uint64_t column_stride;
  uint64_t step;        // from one column of the image to the next one
  uint64_t length;      // of a row
  uint32_t group_bits;  // 2^this threads share a row
};

// One axis of a transposed convolution: element i of the result has those products j of the kernel
// and k of the input for which i + padding = k stride + j dilation.
struct FoldAxis {
  uint64_t kernel;
  uint64_t padding;
  uint64_t dilation;
  uint64_t stride;
  uint64_t size;  // of the input
  Divisor by_stride;
};
struct Fold {
  Operands<4> all;  // first product of the image and channel, row and column of the result, result
  FoldAxis rows;
  FoldAxis columns;
  uint32_t is_wide;  // places do not fit 31 bits: no divisors
};

// A convolution of which each thread makes one result.
struct Direct {
  Operands<5> all;  // image and group in the input, output channel in the weights, row and column
                    // of the result, result
  FoldAxis rows;    // of the input; what is divided is the result's place if it is transposed
  FoldAxis columns;
  uint64_t channels;            // of the input that each result has
  uint64_t channel_strides[2];  // in the input, in the weights
  uint64_t row_strides[2];
  uint64_t column_strides[2];
  uint32_t is_transposed;
  uint32_t is_wide;
};

}  // namespace hiptool_ops
