// SPDX-License-Identifier: MIT
#include "ops/conv_columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"

namespace hiptool::ops {
namespace {

/// Products whose bits do not depend on the platform, unless a library may compute them.
MatmulOptions products_for(const ConvOptions& options) {
  MatmulOptions of_products;
  of_products.library = options.library;
  of_products.allows_tf32 = options.allows_tf32;
  of_products.exact = options.library == Library::none;
  return of_products;
}

/// The tensor with these dimensions of the same elements, copied where strides do not express that.
Tensor reshaped(const Backend& backend, const Tensor& tensor, const ImageDims& dims) {
  if (const auto layout = tensor.layout().reshape(dims)) return tensor.with_layout(*layout);
  const Tensor copied = copy(backend, tensor);
  return copied.with_layout(copied.layout().reshape(dims).value());
}

/// Writes products of matrices [images, groups, rows, columns] to images [images, groups * rows,
/// height, width].
void multiply_to_images(const Backend& backend, const Tensor& a, const Tensor& b,
                        const MatmulOptions& options, Tensor& out) {
  const ImageDims dims{b.dims()[0], b.dims()[1], a.dims()[2], b.dims()[3]};
  if (const auto layout = out.layout().reshape(dims)) {
    Tensor matrices = out.with_layout(*layout);
    matmul_into(backend, matrices, a, b, options);
    return;
  }
  const Tensor products = matmul(backend, a, b, options);
  copy_into(backend, out, products.with_layout(products.layout().reshape(out.dims()).value()));
}

/// Elements of scratch memory.
std::uint64_t scratch_elements(const ConvOptions& options, DType dtype) {
  return options.workspace_bytes / element_size_bytes(dtype);
}

/// Consecutive images, rows and columns of the results.
struct Part {
  std::uint64_t first_image;
  std::uint64_t images;
  std::uint64_t first_row;
  std::uint64_t rows;
  std::uint64_t first_column;
  std::uint64_t columns;

  Tensor of(const Tensor& out) const {
    return out.with_layout(out.layout()
                               .narrow(0, first_image, images)
                               .narrow(2, first_row, rows)
                               .narrow(3, first_column, columns));
  }
};

/// What each result of this part is made of: [images, groups, channels / groups * kernel, results].
Tensor unfold_images(const Backend& backend, const Tensor& x, const HeightWidth& kernel,
                     const ConvOptions& options, const Part& part) {
  const auto strides = x.layout().strides();
  const std::uint64_t channels = x.dims()[1];
  Tensor columns = backend.empty(
      x.dtype(), {part.images, channels, kernel[0], kernel[1], part.rows, part.columns});
  hiptool_ops::Unfold work{};
  const std::array dims{part.images, channels, kernel[0], kernel[1], part.rows};
  using Strides = std::array<std::uint64_t, 5>;
  const Layout firsts = Layout::strided(dims, Strides{strides[0], strides[1], 0, 0, 0});
  const Layout rows =
      Layout::strided(dims, Strides{0, 0, options.dilation[0], 0, options.stride[0]});
  const Layout first_columns = Layout::strided(dims, Strides{0, 0, 0, options.dilation[1], 0});
  const Layout out_rows = Layout::strided(dims, columns.layout().strides().first(5));
  work.rows =
      make_operands<4>(std::array<const Layout*, 4>{&firsts, &rows, &first_columns, &out_rows}, 3);
  work.first_row = part.first_row * options.stride[0] - options.padding[0];
  work.first_column = part.first_column * options.stride[1] - options.padding[1];
  work.height = x.dims()[2];
  work.width = x.dims()[3];
  work.row_stride = strides[2];
  work.column_stride = strides[3];
  work.step = options.stride[1];
  work.length = part.columns;
  // About four elements for each thread of a row: finding the row costs more than an element.
  const std::uint64_t threads = std::bit_ceil(std::min<std::uint64_t>(part.columns, 128)) / 4;
  work.group_bits =
      static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(threads, 1))) - 1;
  const Tensor from = x.with_layout(x.layout().narrow(0, part.first_image, part.images));
  const Kernel unfold = state_of(backend).kernel(
      "ops_conv", "hiptool_unfold_" + std::to_string(element_size_bytes(x.dtype())));
  launch_elements(backend, unfold, work.rows.count << work.group_bits, 1, work, from.address(),
                  columns.address());
  return columns.with_layout(
      columns.layout()
          .reshape({part.images, options.groups, channels / options.groups * kernel[0] * kernel[1],
                    part.rows * part.columns})
          .value());
}

/// Calls the function with parts of the results of which each takes that many elements of scratch
/// memory as there are, at least one result.
template <class Function>
void each_part(std::span<const std::uint64_t> out, std::uint64_t each, std::uint64_t elements,
               Function function) {
  const std::uint64_t most = std::max<std::uint64_t>(1, elements / each);
  const std::uint64_t columns = std::min(most, out[3]);
  const std::uint64_t rows = columns < out[3] ? 1 : std::min(most / columns, out[2]);
  const std::uint64_t images = rows < out[2] ? 1 : std::min(most / (rows * columns), out[0]);
  for (std::uint64_t image = 0; image < out[0]; image += images) {
    for (std::uint64_t row = 0; row < out[2]; row += rows) {
      for (std::uint64_t column = 0; column < out[3]; column += columns) {
        function(Part{image, std::min(images, out[0] - image), row, std::min(rows, out[2] - row),
                      column, std::min(columns, out[3] - column)});
      }
    }
  }
}

bool is_pointwise(const HeightWidth& kernel, const ConvOptions& options) {
  const HeightWidth ones{1, 1};
  const HeightWidth zeros{0, 0};
  return kernel == ones && options.stride == ones && options.padding == zeros &&
         options.output_padding == zeros;
}

/// Adds the products of channels [first, first + count) of each group, which are [images, groups,
/// count * kernel, height * width], up to results.
void fold_products(const Backend& backend, const Tensor& products, const Tensor& x,
                   const Tensor& weights, const ConvOptions& options, const Tensor& out) {
  const auto dims = out.dims();  // [images, groups, count, height, width]
  const std::uint64_t plane = x.dims()[2] * x.dims()[3];
  const std::uint64_t channel = weights.dims()[2] * weights.dims()[3] * plane;
  using Strides = std::array<std::uint64_t, 5>;
  const Layout firsts =
      Layout::strided(dims, Strides{dims[1] * dims[2] * channel, dims[2] * channel, channel, 0, 0});
  const Layout rows = Layout::strided(dims, Strides{0, 0, 0, 1, 0});
  const Layout columns = Layout::strided(dims, Strides{0, 0, 0, 0, 1});
  hiptool_ops::Fold work{};
  work.all =
      make_operands<4>(std::array<const Layout*, 4>{&firsts, &rows, &columns, &out.layout()}, 3);
  work.rows = fold_axis(x, weights, options, 0, dims[3], work.is_wide);
  work.columns = fold_axis(x, weights, options, 1, dims[4], work.is_wide);
  const Kernel fold =
      state_of(backend).kernel("ops_conv", "hiptool_fold_" + std::string(to_string(out.dtype())));
  launch_elements(backend, fold, work.all.count, 1, work, products.address(), out.address());
}

}  // namespace

void run_conv(const Backend& backend, const Tensor& x, const Tensor& weights,
              const ConvOptions& options, Tensor& out) {
  const std::uint64_t groups = options.groups;
  const HeightWidth kernel{weights.dims()[2], weights.dims()[3]};
  const std::uint64_t terms = weights.dims()[1] * kernel[0] * kernel[1];
  const Tensor factors = reshaped(backend, weights, {1, groups, weights.dims()[0] / groups, terms});
  if (is_pointwise(kernel, options)) {
    const ImageDims matrices{x.dims()[0], groups, terms, x.dims()[2] * x.dims()[3]};
    if (const auto layout = x.layout().reshape(matrices)) {
      multiply_to_images(backend, factors, x.with_layout(*layout), products_for(options), out);
      return;
    }
  }
  // Columns, and results that have to be copied to where they belong.
  const std::uint64_t each = x.dims()[1] * kernel[0] * kernel[1] + out.dims()[1];
  each_part(out.dims(), each, scratch_elements(options, x.dtype()), [&](const Part& part) {
    const Tensor columns = unfold_images(backend, x, kernel, options, part);
    Tensor results = part.of(out);
    multiply_to_images(backend, factors, columns, products_for(options), results);
  });
}

void run_conv_transpose(const Backend& backend, const Tensor& x, const Tensor& weights,
                        const ConvOptions& options, Tensor& out) {
  const std::uint64_t groups = options.groups;
  const HeightWidth kernel{weights.dims()[2], weights.dims()[3]};
  const HeightWidth image{x.dims()[2], x.dims()[3]};
  const std::uint64_t in_channels = x.dims()[1] / groups;
  const std::uint64_t out_channels = weights.dims()[1];
  const std::uint64_t elements = kernel[0] * kernel[1];
  const auto matrices_of = [&](const Tensor& images) {
    return reshaped(backend, images, {images.dims()[0], groups, in_channels, image[0] * image[1]});
  };
  const auto factors_of = [&](const Tensor& all) {
    const Tensor rows = reshaped(backend, all, {1, groups, in_channels, out_channels * elements});
    return rows.with_layout(rows.layout().transpose(2, 3));
  };
  if (is_pointwise(kernel, options)) {
    multiply_to_images(backend, factors_of(weights), matrices_of(x), products_for(options), out);
    return;
  }
  // Products of halves are added up before they are rounded.
  const DType computed = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto widened = [&](const Tensor& tensor) {
    return tensor.dtype() == computed ? tensor : cast(backend, tensor, computed);
  };
  const Tensor factors = factors_of(widened(weights));
  const std::uint64_t each = groups * elements * image[0] * image[1];  // of a channel of each group
  const std::uint64_t most = std::max<std::uint64_t>(1, scratch_elements(options, computed) / each);
  const std::uint64_t channels = std::min(most, out_channels);
  const std::uint64_t images = channels < out_channels ? 1 : std::min(most / channels, x.dims()[0]);
  const Tensor results = out.with_layout(split_channels(out, groups));
  for (std::uint64_t first = 0; first < x.dims()[0]; first += images) {
    const std::uint64_t count = std::min(images, x.dims()[0] - first);
    const Tensor matrices = matrices_of(widened(x.with_layout(x.layout().narrow(0, first, count))));
    for (std::uint64_t channel = 0; channel < out_channels; channel += channels) {
      const std::uint64_t part = std::min(channels, out_channels - channel);
      const Tensor rows =
          factors.with_layout(factors.layout().narrow(2, channel * elements, part * elements));
      const Tensor products = matmul(backend, rows, matrices, products_for(options));
      fold_products(
          backend, products, x, weights, options,
          results.with_layout(results.layout().narrow(0, first, count).narrow(2, channel, part)));
    }
  }
}

}  // namespace hiptool::ops
