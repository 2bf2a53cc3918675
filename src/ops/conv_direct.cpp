// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>

#include "ops/backend_state.hpp"
#include "ops/conv_columns.hpp"
#include "ops/images.hpp"

namespace hiptool::ops {

bool is_direct(const Tensor& weights, const ConvOptions& options, bool is_transposed) {
  // Tiles of products have 64 rows, of which a group would use that many.
  constexpr std::uint64_t most_channels = 2;
  // One thread makes each sum.
  constexpr std::uint64_t most_terms = 4096;
  const auto dims = weights.dims();
  const std::uint64_t outer = dims[0] / options.groups;
  const std::uint64_t out_channels = is_transposed ? dims[1] : outer;
  const std::uint64_t in_channels = is_transposed ? outer : dims[1];
  return out_channels <= most_channels && in_channels * dims[2] * dims[3] <= most_terms;
}

void run_direct(const Backend& backend, const Tensor& x, const Tensor& weights,
                const ConvOptions& options, bool is_transposed, Tensor& out) {
  const std::uint64_t groups = options.groups;
  const auto x_strides = x.layout().strides();
  const auto strides = weights.layout().strides();
  const std::size_t in_axis = is_transposed ? 0 : 1;
  const std::size_t out_axis = 1 - in_axis;
  hiptool_ops::Direct work{};
  work.channels = x.dims()[1] / groups;
  work.channel_strides[0] = x_strides[1];
  work.channel_strides[1] = strides[in_axis];
  work.row_strides[0] = x_strides[2];
  work.row_strides[1] = strides[2];
  work.column_strides[0] = x_strides[3];
  work.column_strides[1] = strides[3];
  work.is_transposed = is_transposed ? 1 : 0;

  const Layout results = split_channels(out, groups);
  const auto dims = results.dims();
  using Strides = std::array<std::uint64_t, 5>;
  const std::uint64_t group_stride = weights.dims()[0] / groups * strides[0];
  const Layout firsts =
      Layout::strided(dims, Strides{x_strides[0], work.channels * x_strides[1], 0, 0, 0});
  const Layout kernels = Layout::strided(dims, Strides{0, group_stride, strides[out_axis], 0, 0});
  const Layout rows = Layout::strided(dims, Strides{0, 0, 0, 1, 0});
  const Layout columns = Layout::strided(dims, Strides{0, 0, 0, 0, 1});
  work.all = make_operands<5>(
      std::array<const Layout*, 5>{&firsts, &kernels, &rows, &columns, &results}, 4);
  work.rows = fold_axis(x, weights, options, 0, dims[3], work.is_wide);
  work.columns = fold_axis(x, weights, options, 1, dims[4], work.is_wide);
  const Kernel convolve =
      state_of(backend).kernel("ops_conv", "hiptool_convolve_" + std::string(to_string(x.dtype())));
  launch_elements(backend, convolve, work.all.count, 1, work, x.address(), weights.address(),
                  out.address());
}

hiptool_ops::FoldAxis fold_axis(const Tensor& x, const Tensor& weights, const ConvOptions& options,
                                std::size_t i, std::uint64_t results, std::uint32_t& is_wide) {
  hiptool_ops::FoldAxis axis{weights.dims()[2 + i], options.padding[i], options.dilation[i],
                             options.stride[i],     x.dims()[2 + i],    {}};
  if ((results + options.padding[i]) >> 31 != 0 || options.stride[i] >> 31 != 0) {
    is_wide = 1;
  } else {
    axis.by_stride = make_divisor(options.stride[i]);
  }
  return axis;
}

Layout split_channels(const Tensor& out, std::uint64_t groups) {
  const auto dims = out.dims();
  return out.layout()
      .reshape({dims[0], groups, dims[1] / groups, dims[2], dims[3]})
      .value();  // an axis can always be split
}

}  // namespace hiptool::ops
