// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "hiptool/conv.hpp"
#include "hiptool/error.hpp"
#include "ops/backend_state.hpp"
#include "ops/images.hpp"

namespace hiptool::ops {
namespace {

constexpr std::array interpolated_types{DType::f16, DType::bf16, DType::f32, DType::f64};

/// Of an upsampling: the output has the images and channels of the input.
void require_upsampled(const Backend& backend, std::string_view operation, std::size_t rank,
                       const Tensor& x, Tensor& out) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, operation, tensors);
  require_rank(operation, x, rank);
  require_rank(operation, out, rank);
  std::array<std::uint64_t, 4> dims{};
  std::copy_n(out.dims().begin(), rank, dims.begin());
  std::copy_n(x.dims().begin(), 2, dims.begin());
  require_output(operation, std::span(tensors).first(1), out, x.dtype(),
                 std::span(dims).first(rank));
  require_separate(operation, std::span(tensors).first(1), out);
  if (out.element_count() != 0 && x.element_count() == 0) {
    refuse(operation, describe(x) + " has no elements to make " + describe(out) + " of");
  }
}

hiptool_ops::NearestAxis nearest_axis(const char* operation, const Tensor& x, const Tensor& out,
                                      std::size_t axis, std::uint32_t& is_wide) {
  const std::uint64_t in_size = x.dims()[axis];
  const std::uint64_t out_size = out.dims()[axis];
  if (in_size > std::numeric_limits<std::uint64_t>::max() / out_size) {
    throw Error(ErrorCode::unsupported, operation,
                std::string(operation) + ": " + describe(x) + " to " + describe(out) +
                    ": the product of two sizes does not fit 64 bits");
  }
  hiptool_ops::NearestAxis result{in_size, out_size, x.layout().strides()[axis], {}};
  if (in_size * out_size >> 31 == 0) {
    result.by_out = make_divisor(out_size);
  } else {
    is_wide = 1;
  }
  return result;
}

/// Of images that have been checked.
void run_nearest(const Backend& backend, const char* operation, const Tensor& x,
                 const Tensor& out) {
  if (out.element_count() == 0) return;
  hiptool_ops::Nearest work{};
  work.rows = nearest_axis(operation, x, out, 2, work.is_wide);
  work.columns = nearest_axis(operation, x, out, 3, work.is_wide);
  work.all = image_operands(x.layout(), out.layout());
  const Kernel kernel = state_of(backend).kernel(
      "ops_pool", "hiptool_upsample_nearest_" + std::to_string(element_size_bytes(x.dtype())));
  launch_elements(backend, kernel, work.all.count, 1, work, x.address(), out.address());
}

hiptool_ops::LinearAxis linear_axis(const Tensor& x, const Tensor& out, std::size_t axis,
                                    bool aligns_corners, std::optional<double> factor) {
  const std::uint64_t in_size = x.dims()[axis];
  const std::uint64_t out_size = out.dims()[axis];
  hiptool_ops::LinearAxis result{0, in_size - 1, x.layout().strides()[axis]};
  if (!aligns_corners) {
    result.scale =
        factor ? 1 / *factor : static_cast<double>(in_size) / static_cast<double>(out_size);
  } else if (out_size > 1) {
    result.scale = static_cast<double>(in_size - 1) / static_cast<double>(out_size - 1);
  }
  return result;
}

void require_factor(std::optional<double> factor) {
  if (!factor || (std::isfinite(*factor) && *factor > 0 && std::isfinite(1 / *factor))) return;
  refuse("upsample_bilinear2d",
         "the factor " + std::to_string(*factor) + " is not a positive number");
}

Tensor empty_upsampled(const Backend& backend, std::string_view operation, const Tensor& x,
                       std::span<const std::uint64_t> size) {
  require_rank(operation, x, 2 + size.size());
  std::array<std::uint64_t, 4> dims{x.dims()[0], x.dims()[1]};
  std::copy(size.begin(), size.end(), dims.begin() + 2);
  return backend.empty(x.dtype(), std::span(dims).first(2 + size.size()));
}

}  // namespace

void require_rank(std::string_view operation, const Tensor& tensor, std::size_t rank) {
  if (tensor.layout().rank() == rank) return;
  refuse(operation, describe(tensor) + " is not [images,channels," +
                        (rank == 3 ? "length]" : "height,width]"));
}

Tensor as_image(const Tensor& tensor) {
  const auto dims = tensor.dims();
  const auto strides = tensor.layout().strides();
  return tensor.with_layout(Layout::strided(ImageDims{dims[0], dims[1], 1, dims[2]},
                                            ImageDims{strides[0], strides[1], 0, strides[2]},
                                            tensor.layout().start_offset()));
}

hiptool_ops::Operands<4> image_operands(const Layout& images, const Layout& out) {
  const ImageDims dims{out.dims()[0], out.dims()[1], out.dims()[2], out.dims()[3]};
  const Layout firsts =
      Layout::strided(dims, ImageDims{images.strides()[0], images.strides()[1], 0, 0});
  const Layout rows = Layout::strided(dims, ImageDims{0, 0, 1, 0});
  const Layout columns = Layout::strided(dims, ImageDims{0, 0, 0, 1});
  return make_operands<4>(std::array<const Layout*, 4>{&firsts, &rows, &columns, &out}, 3);
}

void upsample_nearest1d_into(const Backend& backend, Tensor& out, const Tensor& x) {
  require_upsampled(backend, "upsample_nearest1d", 3, x, out);
  run_nearest(backend, "upsample_nearest1d", as_image(x), as_image(out));
}
Tensor upsample_nearest1d(const Backend& backend, const Tensor& x, std::uint64_t length) {
  Tensor out = empty_upsampled(backend, "upsample_nearest1d", x, std::span(&length, 1));
  upsample_nearest1d_into(backend, out, x);
  return out;
}

void upsample_nearest2d_into(const Backend& backend, Tensor& out, const Tensor& x) {
  require_upsampled(backend, "upsample_nearest2d", 4, x, out);
  run_nearest(backend, "upsample_nearest2d", x, out);
}
Tensor upsample_nearest2d(const Backend& backend, const Tensor& x, const HeightWidth& size) {
  Tensor out = empty_upsampled(backend, "upsample_nearest2d", x, size);
  upsample_nearest2d_into(backend, out, x);
  return out;
}

void upsample_bilinear2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                              const BilinearOptions& options) {
  require_upsampled(backend, "upsample_bilinear2d", 4, x, out);
  require_dtype("upsample_bilinear2d", x, interpolated_types);
  require_factor(options.height_factor);
  require_factor(options.width_factor);
  if (out.element_count() == 0) return;
  hiptool_ops::Bilinear work{};
  work.all = image_operands(x.layout(), out.layout());
  work.rows = linear_axis(x, out, 2, options.aligns_corners, options.height_factor);
  work.columns = linear_axis(x, out, 3, options.aligns_corners, options.width_factor);
  work.aligns_corners = options.aligns_corners ? 1 : 0;
  const Kernel kernel = state_of(backend).kernel(
      "ops_pool", "hiptool_upsample_bilinear_" + std::string(to_string(x.dtype())));
  launch_elements(backend, kernel, work.all.count, 1, work, x.address(), out.address());
}
Tensor upsample_bilinear2d(const Backend& backend, const Tensor& x, const HeightWidth& size,
                           const BilinearOptions& options) {
  Tensor out = empty_upsampled(backend, "upsample_bilinear2d", x, size);
  upsample_bilinear2d_into(backend, out, x, options);
  return out;
}

}  // namespace hiptool::ops
