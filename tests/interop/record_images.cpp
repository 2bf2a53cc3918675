// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "for_call.hpp"
#include "hiptool/conv.hpp"
#include "interop/recorder.hpp"

namespace hiptool::test {
namespace {

constexpr std::array float_types{DType::f16, DType::bf16, DType::f32, DType::f64};

void record_convolutions(Recorder& recorder, DType dtype) {
  const Backend& backend = recorder.backend();
  const auto numbers = [&](const Dims& dims) {
    return recorder.tensor(dtype, dims, "packed", Data::numbers);
  };
  recorder.begin("conv2d", dtype, "packed");
  Tensor x = numbers({2, 6, 7, 9});
  ops::conv2d_into(backend, for_call(recorder.empty(dtype, {2, 10, 4, 11}, "packed")), x,
                   numbers({10, 3, 3, 3}), {.stride = {2, 1}, .padding = {1, 2}, .groups = 2});
  recorder.begin("conv2d of single channels", dtype, "packed");
  x = numbers({2, 6, 7, 9});
  ops::conv2d_into(backend, for_call(recorder.empty(dtype, {2, 6, 5, 8}, "packed")), x,
                   numbers({6, 1, 3, 2}), {.groups = 6});
  recorder.begin("conv_transpose2d", dtype, "packed");
  x = numbers({2, 6, 5, 4});
  ops::conv_transpose2d_into(backend, for_call(recorder.empty(dtype, {2, 5, 11, 9}, "packed")), x,
                             numbers({6, 5, 3, 3}), {.stride = {2, 2}});
}

void record_bilinear(Recorder& recorder, DType dtype) {
  recorder.begin("upsample_bilinear2d", dtype, "packed");
  const Tensor x = recorder.tensor(dtype, {2, 3, 5, 4}, "packed");
  ops::upsample_bilinear2d_into(recorder.backend(),
                                for_call(recorder.empty(dtype, {2, 3, 9, 7}, "packed")), x, {});
}

void record_pooling(Recorder& recorder, DType dtype) {
  for (const bool is_largest : {false, true}) {
    recorder.begin(is_largest ? "max_pool2d" : "avg_pool2d", dtype, "packed");
    const Tensor x = recorder.tensor(dtype, {2, 3, 7, 9}, "packed");
    Tensor out = recorder.empty(dtype, {2, 3, 3, 7}, "packed");
    const auto run = is_largest ? ops::max_pool2d_into : ops::avg_pool2d_into;
    run(recorder.backend(), out, x, {3, 3}, {2, 1}, ops::Library::none);
  }
}

void record_nearest(Recorder& recorder, DType dtype) {
  recorder.begin("upsample_nearest2d", dtype, "packed");
  const Tensor x = recorder.tensor(dtype, {2, 3, 5, 4}, "packed");
  ops::upsample_nearest2d_into(recorder.backend(),
                               for_call(recorder.empty(dtype, {2, 3, 9, 7}, "packed")), x);
}

}  // namespace

void record_all_images(Recorder& recorder) {
  for (const DType dtype : float_types) {
    record_convolutions(recorder, dtype);
    record_bilinear(recorder, dtype);
    record_pooling(recorder, dtype);
  }
  for (const DType dtype : {DType::u8, DType::u32, DType::i64}) record_pooling(recorder, dtype);
  for (const DType dtype : {DType::u8, DType::f16, DType::u32, DType::f64}) {
    record_nearest(recorder, dtype);
  }
}

}  // namespace hiptool::test
