// SPDX-License-Identifier: MIT
#include "reference/ops/conv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "reference/ops/equal_products.hpp"

namespace hiptool::reference {
namespace {

/// Sums of products of some channels of an image, added where they belong.
class Sums {
 public:
  Sums(std::uint64_t channels, std::uint64_t rows, std::uint64_t columns, bool keeps_products)
      : rows_(rows),
        columns_(columns),
        keeps_products_(keeps_products),
        sums_(channels * rows * columns) {}

  void add(std::uint64_t channel, std::uint64_t row, std::uint64_t column, long double product) {
    Sum& sum = sums_[(channel * rows_ + row) * columns_ + column];
    sum.value += product;
    sum.squares += product * product;
    if (keeps_products_) sum.products.push_back(product);
    sum.magnitudes += std::fabs(product);
    sum.is_whole = sum.is_whole && product == std::rint(product);
  }

  void append_to(Expected& result, DType dtype, long double terms) const {
    const int digits = dtype == DType::f64 ? 53 : 24;
    for (const Sum& sum : sums_) {
      const long double value = sum.value == 0 ? 0 : sum.value;  // never -0
      long double slack = 0;
      const bool is_exact = sum.is_whole && sum.magnitudes <= std::ldexp(1.0L, digits);
      if (std::isfinite(value) && !is_exact) {
        slack = (8 * std::sqrt(terms) + terms / 8) * std::ldexp(1.0L, -digits) *
                std::sqrt(keeps_products_ ? grouped_squares(sum.products) : sum.squares);
        // Half a unit of the least numbers for each product.
        slack += terms * ulp_of(dtype == DType::f64 ? DType::f64 : DType::f32, 0);
        slack += ulp_of(dtype, std::fabs(value) + slack) / 2;
      }
      result.values.at.push_back(value);
      result.slack.push_back(slack);
    }
  }

 private:
  struct Sum {
    long double value = 0;
    long double squares = 0;
    long double magnitudes = 0;
    bool is_whole = true;
    std::vector<long double> products;
  };

  std::uint64_t rows_;
  std::uint64_t columns_;
  bool keeps_products_;
  std::vector<Sum> sums_;
};

bool is_whole(const Values& values) {
  return std::ranges::all_of(values.at,
                             [](long double value) { return value == std::rint(value); });
}

/// Whether the weights of an output channel, whose number the function returns, have many equal
/// ones. Others make no equal products but by chance.
template <class ChannelOf>
bool repeats_weights(const Values& weights, std::uint64_t channels, ChannelOf channel_of) {
  std::vector<std::vector<long double>> of_channel(channels);
  for (std::size_t i = 0; i < weights.at.size(); ++i) {
    of_channel[channel_of(i)].push_back(weights.at[i]);
  }
  return std::ranges::any_of(
      of_channel, [](std::vector<long double>& values) { return repeats(std::move(values)); });
}

/// The results, in parts whose products are few enough to be kept.
/// add_products(image, first channel, channel behind the last, sums) makes a part.
template <class AddProducts>
Expected sums_of(DType dtype, const std::array<std::uint64_t, 4>& dims, std::uint64_t terms,
                 bool keeps_products, AddProducts add_products) {
  constexpr std::uint64_t most_products = std::uint64_t{1} << 20;  // 16 MiB
  const std::uint64_t of_channel = std::max<std::uint64_t>(1, dims[2] * dims[3] * terms);
  const std::uint64_t step = std::max<std::uint64_t>(1, most_products / of_channel);
  Expected result;
  result.values.dims.assign(dims.begin(), dims.end());
  for (std::uint64_t image = 0; image < dims[0]; ++image) {
    for (std::uint64_t first = 0; first < dims[1]; first += step) {
      const std::uint64_t last = std::min(dims[1], first + step);
      Sums sums(last - first, dims[2], dims[3], keeps_products);
      add_products(image, first, last, sums);
      sums.append_to(result, dtype, static_cast<long double>(terms));
    }
  }
  const bool has_slack =
      std::ranges::any_of(result.slack, [](long double slack) { return slack > 0; });
  if (!has_slack) result.slack.clear();
  return result;
}

/// Calls the function with (both channels, place in the weights, row and column in the kernel).
template <class Function>
void each_weight(const Values& weights, Function function) {
  std::uint64_t place = 0;
  for (std::uint64_t outer = 0; outer < weights.dims[0]; ++outer) {
    for (std::uint64_t inner = 0; inner < weights.dims[1]; ++inner) {
      for (std::uint64_t i = 0; i < weights.dims[2]; ++i) {
        for (std::uint64_t j = 0; j < weights.dims[3]; ++j) {
          function(outer, inner, place++, static_cast<std::int64_t>(i),
                   static_cast<std::int64_t>(j));
        }
      }
    }
  }
}

std::int64_t as_signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }

Values with_height(const Values& line) {
  Values image = line;
  image.dims.insert(image.dims.end() - 1, 1);
  return image;
}

Expected without_height(Expected expected) {
  expected.values.dims.erase(expected.values.dims.begin() + 2);
  return expected;
}

ops::ConvOptions with_height(const ops::Conv1dOptions& line) {
  ops::ConvOptions options;
  options.stride[1] = line.stride;
  options.padding[1] = line.padding;
  options.dilation[1] = line.dilation;
  options.output_padding[1] = line.output_padding;
  options.groups = line.groups;
  return options;
}

}  // namespace

Expected conv2d(DType dtype, const Values& x, const Values& weights,
                const ops::ConvOptions& options) {
  const auto size = [&](std::size_t i) {
    const std::uint64_t reach = options.dilation[i] * (weights.dims[2 + i] - 1) + 1;
    return (x.dims[2 + i] + 2 * options.padding[i] - reach) / options.stride[i] + 1;
  };
  const std::uint64_t out_channels = weights.dims[0];
  const std::uint64_t terms = weights.dims[1] * weights.dims[2] * weights.dims[3];
  const bool repeats =
      !(is_whole(x) && is_whole(weights)) &&
      repeats_weights(weights, out_channels, [&](std::uint64_t place) { return place / terms; });
  const auto add = [&](std::uint64_t image, std::uint64_t first, std::uint64_t last, Sums& sums) {
    each_weight(weights, [&](std::uint64_t out, std::uint64_t in, std::uint64_t place,
                             std::int64_t i, std::int64_t j) {
      if (out < first || out >= last) return;
      const std::uint64_t group = out / (out_channels / options.groups);
      const std::uint64_t channel = group * weights.dims[1] + in;
      for (std::uint64_t row = 0; row < size(0); ++row) {
        for (std::uint64_t column = 0; column < size(1); ++column) {
          const std::int64_t y = as_signed(row * options.stride[0]) +
                                 i * as_signed(options.dilation[0]) - as_signed(options.padding[0]);
          const std::int64_t z = as_signed(column * options.stride[1]) +
                                 j * as_signed(options.dilation[1]) - as_signed(options.padding[1]);
          const bool is_inside =
              y >= 0 && z >= 0 && y < as_signed(x.dims[2]) && z < as_signed(x.dims[3]);
          const std::uint64_t from =
              ((image * x.dims[1] + channel) * x.dims[2] + static_cast<std::uint64_t>(y)) *
                  x.dims[3] +
              static_cast<std::uint64_t>(z);
          sums.add(out - first, row, column, weights.at[place] * (is_inside ? x.at[from] : 0));
        }
      }
    });
  };
  return sums_of(dtype, {x.dims[0], out_channels, size(0), size(1)}, terms, repeats, add);
}

Expected conv_transpose2d(DType dtype, const Values& x, const Values& weights,
                          const ops::ConvOptions& options) {
  const auto size = [&](std::size_t i) {
    return (x.dims[2 + i] - 1) * options.stride[i] +
           options.dilation[i] * (weights.dims[2 + i] - 1) + 1 + options.output_padding[i] -
           2 * options.padding[i];
  };
  const std::uint64_t in_channels = x.dims[1];
  const std::uint64_t in_group = in_channels / options.groups;
  const std::uint64_t out_channels = weights.dims[1] * options.groups;
  const std::uint64_t of_kernel = weights.dims[2] * weights.dims[3];
  const auto channel_of = [&](std::uint64_t place) {
    const std::uint64_t in = place / of_kernel / weights.dims[1];
    return in / in_group * weights.dims[1] + place / of_kernel % weights.dims[1];
  };
  const bool repeats =
      !(is_whole(x) && is_whole(weights)) && repeats_weights(weights, out_channels, channel_of);
  const auto add = [&](std::uint64_t image, std::uint64_t first, std::uint64_t last, Sums& sums) {
    each_weight(weights, [&](std::uint64_t in, std::uint64_t, std::uint64_t place, std::int64_t i,
                             std::int64_t j) {
      const std::uint64_t channel = channel_of(place);
      if (channel < first || channel >= last) return;
      for (std::uint64_t row = 0; row < x.dims[2]; ++row) {
        for (std::uint64_t column = 0; column < x.dims[3]; ++column) {
          const std::int64_t y = as_signed(row * options.stride[0]) +
                                 i * as_signed(options.dilation[0]) - as_signed(options.padding[0]);
          const std::int64_t z = as_signed(column * options.stride[1]) +
                                 j * as_signed(options.dilation[1]) - as_signed(options.padding[1]);
          if (y < 0 || z < 0 || y >= as_signed(size(0)) || z >= as_signed(size(1))) continue;
          const std::uint64_t from =
              ((image * in_channels + in) * x.dims[2] + row) * x.dims[3] + column;
          sums.add(channel - first, static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(z),
                   weights.at[place] * x.at[from]);
        }
      }
    });
  };
  return sums_of(dtype, {x.dims[0], out_channels, size(0), size(1)}, in_group * of_kernel, repeats,
                 add);
}

Expected conv1d(DType dtype, const Values& x, const Values& weights,
                const ops::Conv1dOptions& options) {
  return without_height(conv2d(dtype, with_height(x), with_height(weights), with_height(options)));
}

Expected conv_transpose1d(DType dtype, const Values& x, const Values& weights,
                          const ops::Conv1dOptions& options) {
  return without_height(
      conv_transpose2d(dtype, with_height(x), with_height(weights), with_height(options)));
}

}  // namespace hiptool::reference
