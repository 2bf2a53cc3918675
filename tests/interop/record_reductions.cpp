// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/ops_rows.hpp"
#include "interop/recorder.hpp"

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
      ops::reduce_into(recorder.backend(), operation, x, std::array{axis},
                       recorder.empty(result, {dims[1 - axis]}, layout));
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
  ops::reduce_into(recorder.backend(), operation, x, axes, recorder.empty(result, kept, "packed"));
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

/// As many blocks as it takes for each to have 16 or 32 runs of columns.
void record_wide_columns(Recorder& recorder, ops::Reduce operation, DType dtype) {
  const std::uint64_t run = 16 / std::max<std::size_t>(2, element_size_bytes(dtype));
  const std::uint64_t most_runs = run == 8 ? 16 : 32;
  for (std::uint64_t runs = 16; runs <= most_runs; runs *= 2) {
    record_reduction(recorder, operation, dtype, {512, 3, runs * run}, {1});
  }
}

}  // namespace

void record_all_reductions(Recorder& recorder) {
  for (const DType dtype : dtypes) {
    for (const char* const layout : {"packed", "strided"}) {
      record_reductions(recorder, dtype, layout);
    }
    record_long_reductions(recorder, dtype);
    record_wide_columns(recorder, ops::Reduce::sum, dtype);
  }
  for (const DType dtype : {DType::f16, DType::f32, DType::i64}) {
    record_wide_columns(recorder, ops::Reduce::argmax, dtype);
  }
}

}  // namespace hiptool::test
