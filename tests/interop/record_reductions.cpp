// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "for_call.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/ops_rows.hpp"
#include "interop/recorder.hpp"
#include "ops/backend_state.hpp"
#include "ops/rows.hpp"

namespace hiptool::test {
namespace {

void record_reductions(Recorder& recorder, DType dtype, std::string_view layout) {
  for (const auto operation : {ops::Reduce::sum, ops::Reduce::min, ops::Reduce::max,
                               ops::Reduce::argmin, ops::Reduce::argmax}) {
    const bool is_index = operation == ops::Reduce::argmin || operation == ops::Reduce::argmax;
    const DType result = is_index ? DType::u32 : dtype;
    // Rows of a few elements and one long one, and columns.
    for (const Dims& dims : {Dims{5, 9}, Dims{1, 300}, Dims{20, 32}}) {
      const std::size_t axis = dims[0] == 20 ? 0 : 1;
      recorder.begin(std::string(to_string(operation)) + " of " + std::to_string(dims[axis]), dtype,
                     layout);
      const Tensor x = recorder.tensor(dtype, dims, layout, Data::numbers);
      ops::reduce_into(recorder.backend(),
                       for_call(recorder.empty(result, {dims[1 - axis]}, layout)), operation, x,
                       std::array{axis});
    }
  }
}

void record_reduction(Recorder& recorder, ops::Reduce operation, DType dtype, const Dims& dims,
                      std::vector<std::size_t> axes) {
  Dims kept;
  std::string name = std::string(to_string(operation)) + " of";
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_kept = std::find(axes.begin(), axes.end(), axis) == axes.end();
    if (is_kept) kept.push_back(dims[axis]);
    name += (is_kept ? " " : " -") + std::to_string(dims[axis]);
  }
  recorder.begin(name, dtype, "packed");
  const Tensor x = recorder.tensor(dtype, dims, "packed",
                                   operation == ops::Reduce::sum ? Data::numbers : Data::any_bits);
  const DType result = operation == ops::Reduce::argmax ? DType::u32 : dtype;
  ops::reduce_into(recorder.backend(), for_call(recorder.empty(result, kept, "packed")), operation,
                   x, axes);
}

/// Every way of access: pieces and single elements, one axis and two, many turns of a loop, chunks
/// whose results are reduced again. Reduced dimensions have a minus in the name.
void record_long_reductions(Recorder& recorder, DType dtype) {
  for (const auto operation : {ops::Reduce::sum, ops::Reduce::max, ops::Reduce::argmax}) {
    const auto reduce = [&](const Dims& dims, std::vector<std::size_t> axes) {
      record_reduction(recorder, operation, dtype, dims, std::move(axes));
    };
    reduce({2, 4096}, {1});
    reduce({2, 1001}, {1});
    reduce({2, 4104}, {1});
    reduce({7, 3, 16}, {0, 2});
    reduce({7, 3, 5}, {0, 2});
    reduce({600, 32}, {0});
    reduce({50, 33}, {0});
    reduce({4104, 16}, {0});
    reduce({11, 2, 5, 32}, {0, 2});
  }
}

/// Blocks of more runs of columns than operations choose for so few: two of them, the second with a
/// few runs.
void record_wide_columns(Recorder& recorder, DType dtype, std::uint32_t bits,
                         hiptool_ops::ReduceKind kind) {
  using hiptool_ops::ReduceKind;
  const bool is_sum = kind == ReduceKind::sum;
  const bool is_place = kind == ReduceKind::place_of_least;
  const std::string name = is_sum ? "sum" : is_place ? "argmax" : "max";
  const std::uint64_t run = ops::run_of(dtype);
  const Dims dims{300, run * ((1u << bits) + 5)};
  recorder.begin(name + " of columns in blocks of " + std::to_string(1u << bits), dtype, "packed");
  const Tensor x = recorder.tensor(dtype, dims, "packed", Data::numbers);
  const Tensor out = recorder.empty(is_place ? DType::u32 : dtype, {dims[1]}, "packed");
  const Layout column = Layout::strided(Dims{dims[0]}, Dims{dims[1]});
  const Layout row(Dims{dims[1]});
  hiptool_ops::Reduction all{};
  all.length = dims[0];
  all.chunk_length = 4096;
  all.chunks = 1;
  all.outer = 1;
  all.is_reversed = is_sum ? 0 : 1;
  all.result = dtype == DType::f16   ? hiptool_ops::SumResult::f16
               : dtype == DType::f32 ? hiptool_ops::SumResult::f32
                                     : hiptool_ops::SumResult::own;
  all.group_bits = bits;
  all.reduced = ops::make_operands<1>({&column}, 0);
  all.kept = ops::make_operands<2>({&row, &row}, 0);
  all.kept.packed = 1;
  LaunchConfig config{{2}, {hiptool_ops::row_threads}};
  config.shared_bytes =
      static_cast<std::uint32_t>(hiptool_ops::column_lanes * run * (is_sum ? 8 : 16)) << bits;
  const std::string kernel = is_sum     ? "hiptool_sum_columns_"
                             : is_place ? "hiptool_place_columns_"
                                        : "hiptool_extreme_columns_";
  const Backend& backend = recorder.backend();
  launch(ops::state_of(backend).kernel("ops_reduce", kernel + std::string(to_string(dtype))),
         config, backend.stream(), all, x.address(), is_place ? nullptr : out.address(),
         is_place ? out.address() : nullptr);
  backend.synchronize();
}

}  // namespace

void record_all_reductions(Recorder& recorder) {
  for (const DType dtype : dtypes) {
    for (const char* const layout : {"packed", "strided"}) {
      record_reductions(recorder, dtype, layout);
    }
    record_long_reductions(recorder, dtype);
  }
  for (const auto kind : {hiptool_ops::ReduceKind::sum, hiptool_ops::ReduceKind::least,
                          hiptool_ops::ReduceKind::place_of_least}) {
    record_wide_columns(recorder, DType::f16, 4, kind);
    for (const DType dtype : {DType::f32, DType::f64}) {
      record_wide_columns(recorder, dtype, 4, kind);
      record_wide_columns(recorder, dtype, 5, kind);
    }
  }
}

}  // namespace hiptool::test
