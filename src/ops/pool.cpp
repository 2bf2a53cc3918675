// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "hiptool/conv.hpp"
#include "ops/backend_state.hpp"
#include "ops/images.hpp"

namespace hiptool::ops {
namespace {

constexpr std::array pooled_types{DType::u8,   DType::u32, DType::i64, DType::f16,
                                  DType::bf16, DType::f32, DType::f64};

ImageDims pooled_dims(std::string_view operation, const Tensor& x, const HeightWidth& kernel,
                      const HeightWidth& stride) {
  require_rank(operation, x, 4);
  require_dtype(operation, x, pooled_types);
  ImageDims dims{x.dims()[0], x.dims()[1]};
  for (std::size_t i = 0; i < 2; ++i) {
    if (kernel[i] == 0 || kernel[i] > x.dims()[2 + i]) {
      refuse(operation, "the kernel " + list_of(kernel) +
                            (kernel[i] == 0 ? " is empty" : " is larger than " + describe(x)));
    }
    if (stride[i] == 0) refuse(operation, "the stride " + list_of(stride) + " has a 0");
    dims[2 + i] = (x.dims()[2 + i] - kernel[i]) / stride[i] + 1;
  }
  return dims;
}

void run_pool(const Backend& backend, std::string_view operation, hiptool_ops::PoolKind kind,
              const Tensor& x, const HeightWidth& kernel, const HeightWidth& stride,
              Library library, Tensor& out) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, operation, tensors);
  const ImageDims dims = pooled_dims(operation, x, kernel, stride);
  require_output(operation, std::span(tensors).first(1), out, x.dtype(), dims);
  require_separate(operation, std::span(tensors).first(1), out);
  if (out.element_count() == 0) return;
  if (library == Library::automatic && (x.dtype() == DType::f32 || x.dtype() == DType::f16) &&
      state_of(backend).libraries.pool(backend, x, kernel, stride,
                                       kind == hiptool_ops::PoolKind::largest, out)) {
    return;
  }
  const auto strides = x.layout().strides();
  // A stride beyond the only window is not used, and may be any number.
  const auto step = [&](std::size_t i) { return dims[2 + i] > 1 ? stride[i] * strides[2 + i] : 0; };
  const Layout firsts = Layout::strided(dims, std::array{strides[0], strides[1], step(0), step(1)});
  hiptool_ops::Windows windows{};
  windows.all = make_operands<2>(std::array<const Layout*, 2>{&firsts, &out.layout()}, 1);
  windows.rows = kernel[0];
  windows.columns = kernel[1];
  windows.row_stride = strides[2];
  windows.column_stride = strides[3];
  windows.kind = kind;
  const Kernel pool =
      state_of(backend).kernel("ops_pool", "hiptool_pool_" + std::string(to_string(x.dtype())));
  launch_elements(backend, pool, windows.all.count, 1, windows, x.address(), out.address());
}

}  // namespace

void avg_pool2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                     const HeightWidth& kernel, const HeightWidth& stride, Library library) {
  run_pool(backend, "avg_pool2d", hiptool_ops::PoolKind::average, x, kernel, stride, library, out);
}
Tensor avg_pool2d(const Backend& backend, const Tensor& x, const HeightWidth& kernel,
                  const HeightWidth& stride, Library library) {
  Tensor out = backend.empty(x.dtype(), pooled_dims("avg_pool2d", x, kernel, stride));
  avg_pool2d_into(backend, out, x, kernel, stride, library);
  return out;
}

void max_pool2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                     const HeightWidth& kernel, const HeightWidth& stride, Library library) {
  run_pool(backend, "max_pool2d", hiptool_ops::PoolKind::largest, x, kernel, stride, library, out);
}
Tensor max_pool2d(const Backend& backend, const Tensor& x, const HeightWidth& kernel,
                  const HeightWidth& stride, Library library) {
  Tensor out = backend.empty(x.dtype(), pooled_dims("max_pool2d", x, kernel, stride));
  max_pool2d_into(backend, out, x, kernel, stride, library);
  return out;
}

}  // namespace hiptool::ops
