// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "interop/recorder.hpp"
#include "ops/matmul_launch.hpp"
#include "reference/ops/matmul.hpp"

namespace hiptool::test {
namespace {

using ops::MatmulOptions;

/// Without matrix units: both sizes of tiles, one and a few vectors, sums in chunks.
void record_products(Recorder& recorder, DType dtype) {
  const Backend& backend = recorder.backend();
  for (const auto& [m, k, n] : std::vector<std::array<std::uint64_t, 3>>{
           {20, 35, 12}, {66, 9, 65}, {3, 65, 40}, {1, 70, 33}, {2, 2100, 3}, {9, 2060, 10}}) {
    recorder.begin(
        "matmul " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n), dtype,
        "packed");
    const Tensor a = recorder.tensor(dtype, {m, k}, "packed", Data::numbers);
    const Tensor b = recorder.tensor(dtype, {n, k}, "packed", Data::numbers);
    Tensor out = recorder.tensor(dtype, {m, n}, "rows", Data::numbers);
    ops::multiply_tensors(backend, a, b.with_layout(b.layout().transpose(0, 1)), out,
                          {.alpha = 0.3, .beta = m == 20 ? -1.7 : 0}, ops::MatrixUnits::none);
  }
}

/// Of i8: neighbours along k and along the result, edges of tiles, matrices of a batch.
void record_i8_products(Recorder& recorder) {
  for (const char* const layout : {"packed", "rows"}) {
    recorder.begin("matmul_i32 70x37x66", DType::i8, layout);
    const Tensor a = recorder.tensor(DType::i8, {2, 70, 37}, layout);
    const Tensor b = recorder.tensor(DType::i8, {1, 37, 66}, layout);
    Tensor out = recorder.empty(DType::i32, {2, 70, 66}, layout);
    ops::matmul_i32_into(recorder.backend(), out, a, b);
  }
}

struct ProductCase {
  const char* name;
  std::uint64_t batch, m, k, n;
  MatmulOptions options;
  bool is_whole;
  bool repeats_b = false;
};

/// By matrix units: whole tiles, tiles and pieces with edges, matrices of a batch, sums in chunks.
void record_products_by_units(Recorder& recorder, DType dtype) {
  const std::array cases{
      ProductCase{"whole", 1, 128, 96, 256, {}, true},
      ProductCase{"edges", 1, 137, 50, 270, {}, true},
      ProductCase{"real edges", 1, 137, 75, 270, {}, false},
      ProductCase{"added", 2, 24, 33, 40, {.alpha = 2, .beta = -1}, true, true},
      ProductCase{"real added", 2, 24, 33, 43, {.alpha = 0.3, .beta = -1.7}, false},
      ProductCase{"chunks", 1, 17, 2060, 24, {}, true},
  };
  const Backend& backend = recorder.backend();
  for (const ProductCase& one : cases) {
    for (const unsigned layout : {0u, 1u, 2u, 3u}) {
      const bool a_turned = layout / 2 == 1;
      const bool b_turned = layout % 2 == 1;
      recorder.begin(std::string("units ") + one.name, dtype,
                     std::string{a_turned ? 't' : 'n', b_turned ? 't' : 'n'});
      const Tensor a = recorder.matrices(dtype, {one.batch, one.m, one.k}, a_turned);
      const Tensor b =
          recorder.matrices(dtype, {one.repeats_b ? 1 : one.batch, one.k, one.n}, b_turned);
      Tensor out = recorder.matrices(dtype, {one.batch, one.m, one.n}, false);
      const auto left = recorder.write_factors(a, one.is_whole);
      const auto right = recorder.write_factors(b, one.is_whole);
      const auto old = recorder.write_factors(out, one.is_whole);
      if (!one.is_whole) {
        recorder.set_bounds(
            out, reference::matmul(dtype, left, right, one.options.alpha, one.options.beta,
                                   one.options.beta != 0 ? &old : nullptr));
      }
      ops::multiply_tensors(backend, a, b, out, one.options, ops::MatrixUnits::warps);
      backend.synchronize();
    }
  }
}

}  // namespace

void record_all_products(Recorder& recorder) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    record_products(recorder, dtype);
  }
  for (const DType dtype : {DType::f16, DType::bf16}) record_products_by_units(recorder, dtype);
  record_i8_products(recorder);
}

}  // namespace hiptool::test
