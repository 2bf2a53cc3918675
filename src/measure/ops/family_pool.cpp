// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "hiptool/conv.hpp"
#include "hiptool/error.hpp"
#include "hiptool/libraries.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/pool.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

std::uint64_t count_pixels(const Dims& image) { return image[0] * image[1] * image[2] * image[3]; }

/// A NaN in the middle of a tensor that has room for numbers next to it.
void put_pooled_nan(InputData& data) {
  const std::uint64_t count = count_pixels(data.dims);
  if (!is_floating_point(data.dtype) || count < 16) return;
  put_number(data, count / 2, std::numeric_limits<long double>::quiet_NaN());
}

/// Of the largest of zeros and NaN a library has its own sign and bits.
void drop_zero_signs(InputData& data) {
  Values values = reference::values_of(data.dtype, data.bytes, data.dims);
  for (long double& value : values.at) {
    if (value == 0) value = 0;
  }
  data.bytes = reference::bytes_of(data.dtype, values);
}

/// Throws unless the library has computed every pooling so far.
void require_library(const Backend& backend) {
  for (const ops::LibraryStatus& one : ops::library_status(backend)) {
    if (one.operation != "pool2d") continue;
    if (one.calls > 0 && one.other_calls == 0) return;
    throw Error(ErrorCode::unsupported, "pool2d", one.library + ": " + one.reason);
  }
  throw Error(ErrorCode::unsupported, "pool2d", "the platform has no library for poolings");
}

/// Windows of 2 x 2 first: that is what is timed.
std::vector<OperationCase> pool_cases(bool is_average, DType dtype,
                                      std::span<const std::uint64_t> dims, InputMaker& maker,
                                      ops::Library library = ops::Library::none) {
  std::vector<OperationCase> cases;
  const auto image = image_dims(dims);
  if (!image || (*image)[2] == 0 || (*image)[3] == 0) return cases;
  const bool by_library = library == ops::Library::automatic;
  InputData data = is_average || by_library ? maker.moderate_numbers(dtype, *image)
                                            : maker.numbers(dtype, *image);
  if (by_library) {
    if (!data.bytes.empty()) drop_zero_signs(data);
  } else {
    put_pooled_nan(data);
  }
  const auto add = [&](const ops::HeightWidth& wanted, const ops::HeightWidth& stride) {
    const ops::HeightWidth kernel{std::min(wanted[0], (*image)[2]),
                                  std::min(wanted[1], (*image)[3])};
    OperationCase made;
    made.variant = std::to_string(kernel[0]) + "x" + std::to_string(kernel[1]);
    made.inputs.push_back(data);
    made.result_dtype = dtype;
    made.result_dims = {(*image)[0], (*image)[1], ((*image)[2] - kernel[0]) / stride[0] + 1,
                        ((*image)[3] - kernel[1]) / stride[1] + 1};
    made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      (is_average ? ops::avg_pool2d_into : ops::max_pool2d_into)(backend, out, in[0], kernel,
                                                                 stride, library);
      if (by_library) require_library(backend);
    };
    made.reference = [=](std::span<const Values> in) -> Expected {
      if (!is_average) return reference::max_pool2d(in[0], kernel, stride);
      Expected expected = reference::avg_pool2d(dtype, in[0], kernel, stride);
      if (by_library) reference::allow_reciprocal(dtype, kernel[0] * kernel[1], expected);
      return expected;
    };
    cases.push_back(std::move(made));
  };
  add({2, 2}, {2, 2});
  add({3, 2}, {1, 3});
  add({1, 5}, {2, 1});
  return cases;
}

std::vector<OperationCase> nearest_cases(std::size_t rank, DType dtype,
                                         std::span<const std::uint64_t> dims, InputMaker& maker) {
  std::vector<OperationCase> cases;
  const auto image = image_dims(dims, rank);
  if (!image) return cases;
  const InputData data = maker.canonical_numbers(dtype, *image);
  const auto add = [&](const char* variant, const ops::HeightWidth& size) {
    Dims wanted(size.begin() + static_cast<std::ptrdiff_t>(4 - rank), size.end());
    OperationCase made;
    made.variant = variant;
    made.inputs.push_back(data);
    made.result_dtype = dtype;
    made.result_dims = {(*image)[0], (*image)[1]};
    made.result_dims.insert(made.result_dims.end(), wanted.begin(), wanted.end());
    made.run = [rank](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      (rank == 3 ? ops::upsample_nearest1d_into : ops::upsample_nearest2d_into)(backend, out,
                                                                                in[0]);
    };
    made.reference = [wanted](std::span<const Values> in) -> Expected {
      return {reference::upsample_nearest(in[0], wanted), {}};
    };
    cases.push_back(std::move(made));
  };
  const std::uint64_t height = (*image)[rank - 2];
  const std::uint64_t width = (*image)[rank - 1];
  add("doubled", {2 * height, 2 * width});
  add("larger and smaller", {height + height / 2, (width + 1) / 2});
  return cases;
}

std::vector<OperationCase> bilinear_cases(DType dtype, std::span<const std::uint64_t> dims,
                                          InputMaker& maker) {
  std::vector<OperationCase> cases;
  const auto image = image_dims(dims);
  if (!image) return cases;
  InputData data = maker.moderate_numbers(dtype, *image);
  put_pooled_nan(data);
  const auto add = [&](const char* variant, const ops::HeightWidth& size,
                       const ops::BilinearOptions& options) {
    OperationCase made;
    made.variant = variant;
    made.inputs.push_back(data);
    made.result_dtype = dtype;
    made.result_dims = {(*image)[0], (*image)[1], size[0], size[1]};
    made.run = [options](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::upsample_bilinear2d_into(backend, out, in[0], options);
    };
    made.reference = [=](std::span<const Values> in) -> Expected {
      return reference::upsample_bilinear2d(dtype, in[0], size, options);
    };
    cases.push_back(std::move(made));
  };
  const std::uint64_t height = (*image)[2];
  const std::uint64_t width = (*image)[3];
  const ops::HeightWidth other{height + height / 2, (width + 1) / 2};
  add("doubled", {2 * height, 2 * width}, {});
  add("aligned corners", other, {true, {}, {}});
  add("by factors", other, {false, 1.6, 0.5});
  return cases;
}

using ImageCases = std::function<std::vector<OperationCase>(
    DType, std::span<const std::uint64_t> dims, InputMaker&)>;

void add_images(std::vector<OperationEntry>& list, const char* name, const char* description,
                std::vector<DType> types, bool is_exact, const Dims& image, std::uint64_t most,
                ImageCases cases) {
  OperationEntry entry{name, "images", description, std::move(types), 5};
  entry.is_elementwise = false;
  entry.is_exact = is_exact;
  entry.cases = std::move(cases);
  entry.rank = image.size() + 1;
  entry.dims_of_size = [=](std::uint64_t size_bytes, DType dtype) {
    return dims_of_images(size_bytes, dtype, image, most);
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_pool_operations(std::vector<OperationEntry>& list) {
  using Shape = std::span<const std::uint64_t>;
  const std::vector<DType> reals{DType::f16, DType::bf16, DType::f32, DType::f64};
  const std::vector<DType> pooled{DType::u8,   DType::u32, DType::i64, DType::f16,
                                  DType::bf16, DType::f32, DType::f64};
  const std::vector<DType> all(dtypes.begin(), dtypes.end());
  // The reference is to end within seconds: at most that many images.
  add_images(list, "avg_pool2d", "average of each window of an image", pooled, false, {16, 64, 64},
             256, [](DType dtype, Shape dims, InputMaker& maker) {
               return pool_cases(true, dtype, dims, maker);
             });
  add_images(list, "max_pool2d", "maximum of each window; NaN stays", pooled, true, {16, 64, 64},
             256, [](DType dtype, Shape dims, InputMaker& maker) {
               return pool_cases(false, dtype, dims, maker);
             });
  add_images(list, "upsample_nearest1d", "the nearest element along an axis", all, true, {16, 4096},
             64, [](DType dtype, Shape dims, InputMaker& maker) {
               return nearest_cases(3, dtype, dims, maker);
             });
  add_images(list, "upsample_nearest2d", "the nearest element of images", all, true, {16, 64, 64},
             64, [](DType dtype, Shape dims, InputMaker& maker) {
               return nearest_cases(4, dtype, dims, maker);
             });
  add_images(list, "upsample_bilinear2d", "linear interpolation of images", reals, false,
             {16, 64, 64}, 64, bilinear_cases);
}

std::vector<OperationEntry> library_pool_operations() {
  using Shape = std::span<const std::uint64_t>;
  const std::vector<DType> types{DType::f16, DType::f32};
  std::vector<OperationEntry> list;
  add_images(list, "avg_pool2d", "average of each window, by a library", types, false, {16, 64, 64},
             256, [](DType dtype, Shape dims, InputMaker& maker) {
               return pool_cases(true, dtype, dims, maker, ops::Library::automatic);
             });
  add_images(list, "max_pool2d", "maximum of each window, by a library", types, false, {16, 64, 64},
             256, [](DType dtype, Shape dims, InputMaker& maker) {
               return pool_cases(false, dtype, dims, maker, ops::Library::automatic);
             });
  return list;
}

}  // namespace hiptool::measure
