// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/libraries.hpp"
#include "hiptool/tensor.hpp"

/// Convolution, pooling and upsampling of images. The rules of hiptool/ops.hpp hold here as well:
/// two forms, errors before anything is queued, the same bits on every platform. Tensors are
/// [images, channels, height, width] (of 1-D operations [images, channels, length]) with any
/// strides; Error(invalid_argument) for another rank. The output shares no memory with the inputs.
namespace hiptool::ops {

/// Of the two axes of an image, the height first.
using HeightWidth = std::array<std::uint64_t, 2>;

// ---- Convolution (cross-correlation: the kernel is not turned) of f16, bf16, f32 and f64, else
// Error(unsupported). Sums are f64 for f64 and f32 otherwise, rounded once; their order depends
// only on dtype, shapes and options. Around the image are zeros; where the sum runs over them, a
// weight of infinity or NaN makes NaN.

struct ConvOptions {
  HeightWidth stride{1, 1};
  HeightWidth padding{0, 0};  ///< zeros on each side of the image
  HeightWidth dilation{1, 1};
  HeightWidth output_padding{0, 0};  ///< more results at the end; transposed convolutions only
  std::uint64_t groups = 1;
  /// Bytes of scratch memory at a time, unless one result needs more. Copies of weights, and of a
  /// transposed convolution's input, whose layout does not fit matrices come on top. Work in
  /// smaller parts may add up long sums in another order.
  std::uint64_t workspace_bytes = std::uint64_t{256} << 20;
  /// Whether a vendor's library may compute. One for convolutions is tried first, which chooses an
  /// algorithm within workspace_bytes and keeps it for the shape: the first call may block for
  /// seconds. Without one, and in transposed convolutions, one for products serves our own way.
  Library library = Library::none;
  /// A library may round factors of f32 to TF32 (11 bits, NVIDIA's) if that is faster.
  bool allows_tf32 = false;
};

struct Conv1dOptions {
  std::uint64_t stride = 1;
  std::uint64_t padding = 0;
  std::uint64_t dilation = 1;
  std::uint64_t output_padding = 0;
  std::uint64_t groups = 1;
  std::uint64_t workspace_bytes = std::uint64_t{256} << 20;
  Library library = Library::none;
  bool allows_tf32 = false;
};

/// x [images, in channels, height, width] and weights [out channels, in channels / groups, kernel
/// height, kernel width] of the same dtype give [images, out channels, ..], with (size + 2 padding
/// - dilation (kernel - 1) - 1) / stride + 1 results along each axis, rounded down. Both numbers of
/// channels are multiples of the groups, of which each has its own part of them.
///
/// Throws Error(invalid_argument) for channels that do not fit, a kernel without elements or larger
/// than the padded image, and for a stride, a dilation or groups of 0.
[[nodiscard]] HIPTOOL_API Tensor conv2d(const Backend& backend, const Tensor& x,
                                        const Tensor& weights, const ConvOptions& options = {});
HIPTOOL_API void conv2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                             const Tensor& weights, const ConvOptions& options = {});

/// x [images, in channels, length], weights [out channels, in channels / groups, kernel].
[[nodiscard]] HIPTOOL_API Tensor conv1d(const Backend& backend, const Tensor& x,
                                        const Tensor& weights, const Conv1dOptions& options = {});
HIPTOOL_API void conv1d_into(const Backend& backend, Tensor& out, const Tensor& x,
                             const Tensor& weights, const Conv1dOptions& options = {});

/// The adjoint of conv2d with the same options: every element of x is multiplied by the kernel and
/// added to the results that conv2d would have made it of. Weights are [in channels, out channels /
/// groups, kernel height, kernel width]; there are (size - 1) stride - 2 padding + dilation (kernel
/// - 1) + output padding + 1 results along each axis, at least 1. Errors as conv2d.
[[nodiscard]] HIPTOOL_API Tensor conv_transpose2d(const Backend& backend, const Tensor& x,
                                                  const Tensor& weights,
                                                  const ConvOptions& options = {});
HIPTOOL_API void conv_transpose2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                                       const Tensor& weights, const ConvOptions& options = {});

/// x [images, in channels, length], weights [in channels, out channels / groups, kernel].
[[nodiscard]] HIPTOOL_API Tensor conv_transpose1d(const Backend& backend, const Tensor& x,
                                                  const Tensor& weights,
                                                  const Conv1dOptions& options = {});
HIPTOOL_API void conv_transpose1d_into(const Backend& backend, Tensor& out, const Tensor& x,
                                       const Tensor& weights, const Conv1dOptions& options = {});

// ---- Pooling: u8, u32, i64, f16, bf16, f32 and f64, else Error(unsupported). A result for every
// window that is inside the image: (height - kernel) / stride + 1 of them, rounded down. Throws
// Error(invalid_argument) for a kernel that is larger than the image, and for a kernel or a stride
// of 0. With Library::automatic MIOpen or cuDNN compute f32 and f16, with sums in f32; what the
// largest of NaN is, and the sign of zero, are then the library's.

/// The sum of a window, row by row, divided by its elements. f16 and bf16 are added and divided in
/// f32 and rounded once; sums of integers have 64 bits, wrap, and quotients are truncated.
[[nodiscard]] HIPTOOL_API Tensor avg_pool2d(const Backend& backend, const Tensor& x,
                                            const HeightWidth& kernel, const HeightWidth& stride,
                                            Library library = Library::none);
HIPTOOL_API void avg_pool2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                                 const HeightWidth& kernel, const HeightWidth& stride,
                                 Library library = Library::none);

/// The largest element of a window. NaN propagates; of the two zeros +0 is larger.
[[nodiscard]] HIPTOOL_API Tensor max_pool2d(const Backend& backend, const Tensor& x,
                                            const HeightWidth& kernel, const HeightWidth& stride,
                                            Library library = Library::none);
HIPTOOL_API void max_pool2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                                 const HeightWidth& kernel, const HeightWidth& stride,
                                 Library library = Library::none);

// ---- Upsampling, or downsampling, to any size. Those that write into a tensor take the size from
// it. Throws Error(invalid_argument) where an image without elements would have to become one with
// elements.

/// Element i of n along an axis is element floor(i * m / n) of the m of the input, bit for bit.
/// Every dtype. Throws Error(unsupported) where n * m does not fit 64 bits.
[[nodiscard]] HIPTOOL_API Tensor upsample_nearest1d(const Backend& backend, const Tensor& x,
                                                    std::uint64_t length);
HIPTOOL_API void upsample_nearest1d_into(const Backend& backend, Tensor& out, const Tensor& x);
[[nodiscard]] HIPTOOL_API Tensor upsample_nearest2d(const Backend& backend, const Tensor& x,
                                                    const HeightWidth& size);
HIPTOOL_API void upsample_nearest2d_into(const Backend& backend, Tensor& out, const Tensor& x);

struct BilinearOptions {
  bool aligns_corners = false;
  /// By how much each axis grows, where that is not the quotient of the sizes (PyTorch's
  /// scale_factor); without effect when corners are aligned. Positive and finite.
  std::optional<double> height_factor;
  std::optional<double> width_factor;
};

/// Linear interpolation along both axes, by the rule of PyTorch. f16, bf16, f32 and f64, else
/// Error(unsupported).
///
/// Element i of n along an axis is at i (m - 1) / (n - 1) of the input (0 for n = 1) when corners
/// are aligned, else at max(0, (i + 0.5) s - 0.5), s = 1 / factor or m / n. That is computed in
/// f64. The elements there, a and b, are the one at the whole part of it, at most m - 1, and the
/// next one, if there is one. The weight v of b is the rest of the position, at most 1, rounded to
/// f32 (of f64: kept), the weight of a is u = 1 - v; the result u a + v b, of rows first, then of
/// these two, every operation rounded to f32 (f64), and at the end to the dtype. A weight of 0 is a
/// factor as well: infinity and NaN become NaN. Within 6 u of the largest of the four elements, u =
/// 2^-24 (f64: 2^-53), 4 times the least number of f32 (f64) and half an ulp of the dtype.
[[nodiscard]] HIPTOOL_API Tensor upsample_bilinear2d(const Backend& backend, const Tensor& x,
                                                     const HeightWidth& size,
                                                     const BilinearOptions& options = {});
HIPTOOL_API void upsample_bilinear2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                                          const BilinearOptions& options = {});

}  // namespace hiptool::ops
