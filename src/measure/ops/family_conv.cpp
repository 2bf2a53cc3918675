// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>

#include "hiptool/conv.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/conv.hpp"

namespace hiptool::measure {
namespace {

using ops::ConvOptions;
using reference::Expected;
using reference::Values;

struct ConvKind {
  bool is_transposed;
  bool is_line;  // along one axis
};

/// Numbers whose products with others add up to what halves hold: whole ones, or of magnitude 1 and
/// less.
InputData conv_weights(InputMaker& maker, DType dtype, const Dims& dims) {
  InputData data = maker.moderate_numbers(dtype, dims);
  Values values = reference::values_of(dtype, data.bytes, dims);
  const auto is_whole = [](long double value) { return value == std::nearbyint(value); };
  if (std::ranges::all_of(values.at, is_whole)) return data;
  for (long double& value : values.at) value /= 64;
  data.bytes = reference::bytes_of(dtype, values);
  return data;
}

ops::Conv1dOptions along_line(const ConvOptions& options) {
  ops::Conv1dOptions line;
  line.stride = options.stride[1];
  line.padding = options.padding[1];
  line.dilation = options.dilation[1];
  line.output_padding = options.output_padding[1];
  line.groups = options.groups;
  return line;
}

void run_conv_kind(ConvKind kind, const Backend& backend, std::span<const Tensor> in,
                   const ConvOptions& options, Tensor& out) {
  if (kind.is_line) {
    (kind.is_transposed ? ops::conv_transpose1d_into : ops::conv1d_into)(backend, out, in[0], in[1],
                                                                         along_line(options));
  } else {
    (kind.is_transposed ? ops::conv_transpose2d_into : ops::conv2d_into)(backend, out, in[0], in[1],
                                                                         options);
  }
}

Expected expect_conv(ConvKind kind, DType dtype, std::span<const Values> in,
                     const ConvOptions& options) {
  if (kind.is_line) {
    return (kind.is_transposed ? reference::conv_transpose1d : reference::conv1d)(
        dtype, in[0], in[1], along_line(options));
  }
  return (kind.is_transposed ? reference::conv_transpose2d : reference::conv2d)(dtype, in[0], in[1],
                                                                                options);
}

/// Results along an axis; 0 where there are none.
std::uint64_t conv_results(ConvKind kind, std::uint64_t in, std::uint64_t kernel,
                           const ConvOptions& options, std::size_t i) {
  const std::uint64_t reach = options.dilation[i] * (kernel - 1) + 1;
  const std::uint64_t padding = 2 * options.padding[i];
  if (kind.is_transposed) {
    if (in == 0) return 0;
    const std::uint64_t whole = (in - 1) * options.stride[i] + reach + options.output_padding[i];
    return whole > padding ? whole - padding : 0;
  }
  return in + padding < reach ? 0 : (in + padding - reach) / options.stride[i] + 1;
}

std::uint64_t smallest_factor(std::uint64_t number) {
  for (std::uint64_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

/// As many channels as the input has, and a kernel of 3 x 3 first: that is what is timed.
std::vector<OperationCase> conv_cases(ConvKind kind, DType dtype,
                                      std::span<const std::uint64_t> dims, InputMaker& maker) {
  std::vector<OperationCase> cases;
  const std::size_t rank = kind.is_line ? 3 : 4;
  const auto image = image_dims(dims, rank);
  if (!image) return cases;
  const std::uint64_t channels = (*image)[1];
  const InputData data = maker.moderate_numbers(dtype, *image);
  const auto add = [&](const char* variant, const ops::HeightWidth& kernel,
                       std::uint64_t out_channels, const ConvOptions& options) {
    if (options.groups == 0) return;
    Dims weights{out_channels, channels / options.groups};
    if (kind.is_transposed) weights = {channels, out_channels / options.groups};
    OperationCase made;
    made.variant = variant;
    made.result_dtype = dtype;
    made.result_dims = {(*image)[0], out_channels};
    for (std::size_t i = 4 - rank; i < 2; ++i) {
      weights.push_back(kernel[i]);
      const std::uint64_t results =
          conv_results(kind, (*image)[rank - 2 + i], kernel[i], options, i);
      if (results == 0) return;
      made.result_dims.push_back(results);
    }
    made.inputs = {data, conv_weights(maker, dtype, weights)};
    // Products of the weights of a channel with what lies under them.
    const Dims& each = kind.is_transposed ? *image : made.result_dims;
    made.flops = 2 * static_cast<double>(Layout(each).element_count()) *
                 static_cast<double>(Layout(weights).element_count()) /
                 static_cast<double>(kind.is_transposed ? channels : out_channels);
    made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      run_conv_kind(kind, backend, in, options, out);
    };
    made.reference = [=](std::span<const Values> in) {
      return expect_conv(kind, dtype, in, options);
    };
    cases.push_back(std::move(made));
  };
  ConvOptions around;
  around.padding = {1, 1};
  add("3x3", {3, 3}, std::max<std::uint64_t>(1, channels), around);
  ConvOptions apart;
  apart.stride = {2, 3};
  apart.padding = {1, 2};
  apart.dilation = {1, 2};
  if (kind.is_transposed) apart.output_padding = {1, 0};
  add("2x3 with strides", {2, 3}, 2, apart);
  if (channels > 1) {
    ConvOptions grouped = around;
    grouped.groups = smallest_factor(channels);
    add("3x3 in groups", {3, 3}, grouped.groups * 2, grouped);
    add("1x1", {1, 1}, 3, {});
  }
  return cases;
}

void add_conv(std::vector<OperationEntry>& list, ConvKind kind, const char* name,
              const char* description, const Dims& image, const Dims& small_image) {
  OperationEntry entry{name,
                       std::string(convolution_group),
                       description,
                       {DType::f16, DType::bf16, DType::f32, DType::f64},
                       3};
  entry.is_elementwise = false;
  entry.is_exact = false;
  entry.cases = [kind](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    return conv_cases(kind, dtype, dims, maker);
  };
  // The reference is to end within seconds.
  entry.rank = image.size() + 1;
  entry.dims_of_size = [image, small_image](std::uint64_t size_bytes, DType dtype) {
    const bool is_small = size_bytes / element_size_bytes(dtype) < Layout(image).element_count();
    return dims_of_images(size_bytes, dtype, is_small ? small_image : image, 4);
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_conv_operations(std::vector<OperationEntry>& list) {
  add_conv(list, {false, true}, "conv1d", "convolution along an axis", {64, 784}, {16, 196});
  add_conv(list, {false, false}, "conv2d", "convolution of images", {64, 28, 28}, {16, 14, 14});
  add_conv(list, {true, true}, "conv_transpose1d", "transposed convolution along an axis",
           {64, 784}, {16, 196});
  add_conv(list, {true, false}, "conv_transpose2d", "transposed convolution of images",
           {64, 28, 28}, {16, 14, 14});
}

}  // namespace hiptool::measure
