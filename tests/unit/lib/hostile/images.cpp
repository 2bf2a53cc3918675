// SPDX-License-Identifier: MIT
// Convolutions, pooling and upsampling.
#include <limits>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

template <class Convolve>
void each_option(const Convolve& convolve) {
  ops::ConvOptions options;
  options.padding = {std::uint64_t{1} << 40, most};
  convolve(options);
  options = {};
  options.dilation = {most, huge};
  convolve(options);
  options = {};
  options.stride = {0, most};
  options.output_padding = {most, most};
  convolve(options);
  options = {};
  options.groups = most;
  options.workspace_bytes = 0;
  options.library = wrong<ops::Library>();
  convolve(options);
}

ops::Conv1dOptions along(const ops::ConvOptions& options) {
  ops::Conv1dOptions line;
  line.stride = options.stride[1];
  line.padding = options.padding[1];
  line.dilation = options.dilation[1];
  line.output_padding = options.output_padding[1];
  line.groups = options.groups;
  return line;
}

void call_convolutions(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor image = on.zeros(DType::f32, {1, 2, 5, 5});
  const Tensor kernel = on.zeros(DType::f32, {2, 2, 3, 3});
  const Tensor line = on.zeros(DType::f32, {1, 2, 5});
  const Tensor taps = on.zeros(DType::f32, {2, 2, 3});
  const std::string name = "hiptool::ops::";
  each_option([&](const ops::ConvOptions& options) {
    hostile.call(name + "conv2d", [&] { (void)ops::conv2d(on, image, kernel, options); });
    hostile.call(name + "conv_transpose2d",
                 [&] { (void)ops::conv_transpose2d(on, image, kernel, options); });
    hostile.call(name + "conv1d", [&] { (void)ops::conv1d(on, line, taps, along(options)); });
    hostile.call(name + "conv_transpose1d",
                 [&] { (void)ops::conv_transpose1d(on, line, taps, along(options)); });
    hostile.into(name + "conv2d_into",
                 [&](Tensor& to) { ops::conv2d_into(on, to, image, kernel, options); });
    hostile.into(name + "conv_transpose2d_into",
                 [&](Tensor& to) { ops::conv_transpose2d_into(on, to, image, kernel, options); });
    hostile.into(name + "conv1d_into",
                 [&](Tensor& to) { ops::conv1d_into(on, to, line, taps, along(options)); });
    hostile.into(name + "conv_transpose1d_into", [&](Tensor& to) {
      ops::conv_transpose1d_into(on, to, line, taps, along(options));
    });
  });
  hostile.each(name + "conv2d", [&](const Tensor& x) { (void)ops::conv2d(on, x, kernel); });
  hostile.each(name + "conv2d", [&](const Tensor& x) { (void)ops::conv2d(on, x, x); });
  hostile.each(name + "conv1d", [&](const Tensor& x) { (void)ops::conv1d(on, line, x); });
  hostile.each(name + "conv_transpose2d",
               [&](const Tensor& x) { (void)ops::conv_transpose2d(on, x, x); });
  hostile.each(name + "conv_transpose1d",
               [&](const Tensor& x) { (void)ops::conv_transpose1d(on, x, taps); });
}

void call_pooling(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor image = on.zeros(DType::f32, {1, 2, 5, 5});
  const std::string name = "hiptool::ops::";
  for (const ops::HeightWidth& size :
       {ops::HeightWidth{0, 0}, ops::HeightWidth{most, most}, ops::HeightWidth{1, 1}}) {
    hostile.each(name + "avg_pool2d",
                 [&](const Tensor& x) { (void)ops::avg_pool2d(on, x, size, size); });
    hostile.into(name + "avg_pool2d_into",
                 [&](Tensor& to) { ops::avg_pool2d_into(on, to, image, size, size); });
    hostile.each(name + "max_pool2d",
                 [&](const Tensor& x) { (void)ops::max_pool2d(on, x, size, size); });
    hostile.into(name + "max_pool2d_into",
                 [&](Tensor& to) { ops::max_pool2d_into(on, to, image, size, size); });
  }
}

void call_upsampling(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor image = on.zeros(DType::f32, {1, 2, 5, 5});
  const std::string name = "hiptool::ops::";
  ops::BilinearOptions options;
  options.height_factor = 0;
  options.width_factor = std::numeric_limits<double>::quiet_NaN();
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 40, most}) {
    hostile.each(name + "upsample_nearest1d",
                 [&](const Tensor& x) { (void)ops::upsample_nearest1d(on, x, size); });
    hostile.each(name + "upsample_nearest2d", [&](const Tensor& x) {
      (void)ops::upsample_nearest2d(on, x, {size, size});
    });
    hostile.each(name + "upsample_bilinear2d", [&](const Tensor& x) {
      (void)ops::upsample_bilinear2d(on, x, {size, size}, options);
    });
  }
  hostile.into(name + "upsample_nearest1d_into",
               [&](Tensor& to) { ops::upsample_nearest1d_into(on, to, image); });
  hostile.into(name + "upsample_nearest2d_into",
               [&](Tensor& to) { ops::upsample_nearest2d_into(on, to, image); });
  hostile.into(name + "upsample_bilinear2d_into",
               [&](Tensor& to) { ops::upsample_bilinear2d_into(on, to, image, options); });
}

}  // namespace

void call_images(Hostile& hostile) {
  call_convolutions(hostile);
  call_pooling(hostile);
  call_upsampling(hostile);
}

}  // namespace hiptool::test
