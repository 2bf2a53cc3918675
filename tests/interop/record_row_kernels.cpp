// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "hiptool/copy.hpp"
#include "hiptool/ops_rows.hpp"
#include "interop/recorder.hpp"
#include "ops/backend_state.hpp"
#include "ops/rows.hpp"

namespace hiptool::test {
namespace {

constexpr double epsilon = 1e-5;

/// Of f16 or bf16.
void put(const Tensor& tensor, std::uint64_t place, std::uint16_t bits) {
  copy_h2d_and_wait(Buffer(tensor.buffer()).view(2 * place, 2), std::as_bytes(std::span(&bits, 1)));
}
void put_infinity(const Tensor& tensor, std::uint64_t place) {
  put(tensor, place, tensor.dtype() == DType::f16 ? 0x7C00 : 0x7F80);
}
/// With a sign and bits that results do not have.
void put_nan(const Tensor& tensor, std::uint64_t place) {
  put(tensor, place, tensor.dtype() == DType::f16 ? 0xFE01 : 0xFFA1);
}

/// Every function of these rows that threads keep in registers.
void record_functions(Recorder& recorder, const Tensor& x, const std::string& rows,
                      unsigned blocks) {
  const Backend& backend = recorder.backend();
  const std::uint64_t width = x.dims()[1];
  const auto begin = [&](const std::string& name) {
    recorder.begin(name + " of " + rows + " rows of " + std::to_string(width), x.dtype(), "packed");
    recorder.launch_first_blocks(blocks);
    return recorder.empty(x.dtype(), {x.dims()[0], width}, "packed");
  };
  Tensor out = begin("softmax");
  ops::softmax_into(backend, out, x, 1);
  out = begin("rmsnorm");
  const Tensor weight = recorder.tensor(x.dtype(), {width}, "packed", Data::numbers);
  const Tensor bias = recorder.tensor(x.dtype(), {width}, "packed", Data::numbers);
  ops::rmsnorm_into(backend, out, x, weight, epsilon);
  out = begin("layernorm");
  ops::layernorm_into(backend, out, x, weight, bias, epsilon);
  out = begin("layernorm without bias");
  ops::layernorm_into(backend, out, x, weight, epsilon);
  backend.synchronize();
}

/// By a block for each row, two blocks for five of them: with numbers only, infinity and NaN.
void record_whole(Recorder& recorder, DType dtype, std::uint64_t width) {
  recorder.begin("whole rows", dtype, "packed");
  const Tensor x = recorder.tensor(dtype, {5, width}, "packed", Data::numbers);
  put_infinity(x, width + width / 2);
  put_nan(x, 4 * width - 1);
  record_functions(recorder, x, "5", 2);
}

/// By blocks of two rows. Each row begins a piece after the one before it, so that many take little
/// memory; the first one has infinity, and NaN begins with the fourth.
void record_many(Recorder& recorder, DType dtype, std::uint64_t width) {
  constexpr std::uint64_t count = 1025;
  constexpr std::uint64_t piece = 8;
  recorder.begin("many rows", dtype, "packed");
  const Tensor all = recorder.tensor(dtype, {(count - 1) * piece + width}, "packed", Data::numbers);
  put_infinity(all, 3);
  put_nan(all, 2 * piece + width + 5);
  const std::array<std::uint64_t, 2> dims{count, width};
  const std::array<std::uint64_t, 2> strides{piece, 1};
  record_functions(recorder, all.with_layout(Layout::strided(dims, strides)), "1025", 2);
}

/// The last block of an odd number of rows, whose second row is not there. The host launches these
/// kernels with 513 blocks or more, so that the last one would take minutes to emulate.
void record_last_of_many(Recorder& recorder, DType dtype) {
  const Backend& backend = recorder.backend();
  constexpr std::uint64_t width = 1032;
  hiptool_ops::Rows rows{};
  rows.rows.count = 3;
  for (auto& strides : rows.rows.strides) strides[0] = width;
  rows.width = width;
  const LaunchConfig config{
      {2}, {hiptool_ops::norm_many_threads}, hiptool_ops::norm_many_join_bytes};
  const auto kernel = [&](const std::string& function) {
    return ops::state_of(backend).kernel(
        "ops_norm_many", "hiptool_" + function + "_many_2_8_" + std::string(to_string(dtype)));
  };
  const auto numbers = [&](const Dims& dims) {
    return recorder.tensor(dtype, dims, "packed", Data::numbers);
  };
  recorder.begin("softmax of 3 of many rows", dtype, "packed");
  const Tensor x = numbers({3, width});
  launch(kernel("softmax"), config, backend.stream(), rows, x.address(),
         recorder.empty(dtype, {3, width}, "packed").address());
  recorder.begin("layernorm of 3 of many rows", dtype, "packed");
  launch(kernel("layernorm"), config, backend.stream(), rows, epsilon, x.address(),
         numbers({width}).address(), numbers({width}).address(),
         recorder.empty(dtype, {3, width}, "packed").address());
  backend.synchronize();
}

}  // namespace

void record_row_kernels(Recorder& recorder) {
  // Rows that fill all pieces of their threads, and rows that leave most threads one piece less.
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const std::uint64_t width : {1032u, 4096u, 4104u, 8192u}) {
      record_whole(recorder, dtype, width);
    }
    for (const std::uint64_t width : {1032u, 2048u, 2056u, 4096u}) {
      record_many(recorder, dtype, width);
    }
    record_last_of_many(recorder, dtype);
  }
}

}  // namespace hiptool::test
