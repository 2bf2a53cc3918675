// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

using hiptool_ops::ReduceKind;
using hiptool_ops::Reduction;
using hiptool_ops::SumResult;

constexpr std::uint64_t longest_chunk = 4096;  // of a row that is one chunk
constexpr std::uint64_t most_chunks = 4096;
constexpr std::uint64_t least_chunk = 1024;
constexpr std::uint64_t chunk_unit = 256;  // 32 lanes of 8 elements

constexpr const char* reduce_names[] = {"sum", "min", "max", "argmin", "argmax"};

bool finds_places(Reduce operation) {
  return operation == Reduce::argmin || operation == Reduce::argmax;
}

ReduceKind kind_of(Reduce operation) {
  if (operation == Reduce::sum) return ReduceKind::sum;
  return finds_places(operation) ? ReduceKind::place_of_least : ReduceKind::least;
}

std::string kernels_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return "hiptool_sum_";
    case ReduceKind::least: return "hiptool_extreme_";
    default: return "hiptool_place_";
  }
}

[[noreturn]] void refuse_reduction(ErrorCode code, Reduce operation, const std::string& why) {
  const std::string name(to_string(operation));
  throw Error(code, name, name + ": " + why);
}

/// Dimensions and strides of some axes of a layout, in their order.
struct AxisList {
  std::vector<std::uint64_t> dims;
  std::vector<std::uint64_t> strides;

  void add(const Layout& layout, std::size_t axis) {
    dims.push_back(layout.dims()[axis]);
    strides.push_back(layout.strides()[axis]);
  }
  std::uint64_t count() const {
    std::uint64_t product = 1;
    for (const std::uint64_t dim : dims) product *= dim;
    return product;
  }
};

/// A reduction of elements at an address, of which some may be results of chunks.
struct Work {
  Reduce operation;
  DType dtype;   // of the input
  DType result;  // of the whole reduction
  const void* in;
  const void* earlier;  // places that the input's elements stand for; null at first
  void* out;            // null where only places are wanted
  void* out_places;
  AxisList reduced;                        // of the input
  AxisList kept;                           // of the input
  std::vector<std::uint64_t> out_strides;  // of the kept axes
};

/// Axes in the order that is given, not by strides: the order of elements counts.
JoinedAxes join_in_order(const AxisList& axes) {
  JoinedAxes joined;
  for (std::size_t i = axes.dims.size(); i-- > 0;) {
    if (axes.dims[i] == 1) continue;
    const std::size_t inner = joined.count - 1;
    if (joined.count > 0 && axes.strides[i] == joined.strides[0][inner] * joined.dims[inner]) {
      joined.dims[inner] *= axes.dims[i];
      continue;
    }
    joined.dims[joined.count] = axes.dims[i];
    joined.strides[0][joined.count] = axes.strides[i];
    ++joined.count;
  }
  if (joined.count == 0) {
    joined.count = 1;
    joined.dims[0] = 1;
    joined.strides[0][0] = 1;
  }
  return joined;
}

template <unsigned count>
void set_operands(hiptool_ops::Operands<count>& operands, const JoinedAxes& axes,
                  std::uint64_t elements) {
  operands.count = elements;
  set_axes(axes, operands.divisors, operands.dims, operands.axes, operands.is_wide);
  for (unsigned k = 0; k < count; ++k) {
    for (std::size_t axis = 0; axis < axes.count; ++axis) {
      operands.strides[k][axis] = axes.strides[k][axis];
    }
  }
}

/// Whether pieces of 16 bytes (8 for types of one byte) begin at every run along axis 0 of `along`.
bool has_aligned_runs(const Work& work, const JoinedAxes& along, const JoinedAxes& other,
                      std::uint32_t run) {
  const std::uint64_t size = element_size_bytes(work.dtype);
  const std::uint64_t piece = run * size;
  if (along.strides[0][0] != 1 || along.dims[0] % run != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(work.in) % piece != 0) return false;
  for (std::size_t axis = 1; axis < along.count; ++axis) {
    if (along.strides[0][axis] * size % piece != 0) return false;
  }
  for (std::size_t axis = 0; axis < other.count; ++axis) {
    if (other.dims[axis] > 1 && other.strides[0][axis] * size % piece != 0) return false;
  }
  return true;
}

SumResult sum_result(DType dtype) {
  switch (dtype) {
    case DType::f16: return SumResult::f16;
    case DType::bf16: return SumResult::bf16;
    case DType::f8e4m3: return SumResult::f8e4m3;
    case DType::f32: return SumResult::f32;
    default: return SumResult::own;
  }
}

/// The type of the sums of chunks.
DType chunk_dtype(Reduce operation, DType dtype) {
  if (operation != Reduce::sum) return dtype;
  return sum_result(dtype) == SumResult::own ? dtype : DType::f32;
}

constexpr std::uint32_t least_column_bits = 3;

/// How many neighbouring runs of columns a block takes, as a power of two: 512 bytes of them, 128
/// results at most, and no more than there are.
std::uint32_t column_bits(DType dtype, std::uint64_t width) {
  const std::uint64_t run = run_of(dtype);
  const std::uint64_t most = std::min<std::uint64_t>(128, 512 / element_size_bytes(dtype)) / run;
  const std::uint64_t wanted = std::min(most, std::bit_ceil(ceil_divide(width, run)));
  return std::max(least_column_bits, static_cast<std::uint32_t>(std::bit_width(wanted)) - 1);
}

void launch_reduction(const Backend& backend, const Work& work, Reduction& all) {
  const std::uint32_t run = run_of(work.dtype);
  const JoinedAxes reduced = join_in_order(work.reduced);
  const Layout in_kept = Layout::strided(work.kept.dims, work.kept.strides);
  const Layout out_kept = Layout::strided(work.kept.dims, work.out_strides);
  const std::array<const Layout*, 2> layouts{&in_kept, &out_kept};
  const JoinedAxes kept = join_axes(layouts, 0);
  set_operands(all.reduced, reduced, all.length);
  set_operands(all.kept, kept, in_kept.element_count());
  const std::string type(to_string(work.dtype));
  const ReduceKind kind = kind_of(work.operation);
  const std::string kernels = kernels_of(kind);

  const bool by_columns = work.earlier == nullptr && reduced.strides[0][0] != 1 &&
                          kept.strides[0][0] == 1 && kept.dims[0] > run;
  LaunchConfig config;
  config.block.x = hiptool_ops::row_threads;
  const auto set_grid = [&](std::uint64_t blocks) {
    config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, 0x7FFFFFFF));
  };
  if (by_columns) {
    all.kept.packed = has_aligned_runs(work, kept, reduced, run) ? 1 : 0;
    all.outer = all.kept.count / kept.dims[0];
    const auto blocks = [&] {
      return all.outer * ceil_divide(kept.dims[0], std::uint64_t{run} << all.group_bits);
    };
    all.group_bits = column_bits(work.dtype, kept.dims[0]);
    // Where few blocks are wide, narrow ones keep more of a GPU busy.
    constexpr std::uint64_t many_blocks = 512;
    while (all.group_bits > least_column_bits && blocks() * all.chunks < many_blocks) {
      --all.group_bits;
    }
    set_grid(blocks());
    config.grid.y = static_cast<std::uint32_t>(all.chunks);
    // A sum, two keys, or a key and a place.
    const std::uint32_t key_bytes = element_size_bytes(work.dtype) == 8 ? 8 : 4;
    const std::uint32_t thing_bytes = kind == ReduceKind::sum     ? key_bytes
                                      : kind == ReduceKind::least ? 2 * key_bytes
                                                                  : key_bytes + 4;
    config.shared_bytes = (hiptool_ops::column_lanes * run * thing_bytes) << all.group_bits;
    launch(state_of(backend).kernel("ops_reduce", kernels + "columns_" + type), config,
           backend.stream(), all, work.in, work.out, work.out_places);
    return;
  }
  all.reduced.packed = has_aligned_runs(work, reduced, kept, run) ? 1 : 0;
  const std::uint64_t runs = ceil_divide(std::min(all.length, all.chunk_length), run);
  all.group_bits = static_cast<std::uint32_t>(
      runs <= 1 ? 0 : std::min(5, static_cast<int>(std::bit_width(runs - 1))));
  const std::uint64_t groups = hiptool_ops::row_threads >> all.group_bits;
  set_grid(all.chunks == 1 ? ceil_divide(all.kept.count, groups) : all.kept.count);
  config.grid.y = static_cast<std::uint32_t>(ceil_divide(all.chunks, groups));
  launch(state_of(backend).kernel("ops_reduce", kernels + "rows_" + type), config, backend.stream(),
         all, work.in, work.earlier, work.out, work.out_places);
}

void run_reduction(const Backend& backend, const Work& work) {
  Reduction all{};
  all.length = work.reduced.count();
  all.is_reversed = work.operation == Reduce::max || work.operation == Reduce::argmax ? 1 : 0;
  all.chunk_length = longest_chunk;
  if (all.length > longest_chunk) {
    const std::uint64_t least = ceil_divide(all.length, most_chunks);
    all.chunk_length = std::max(least_chunk, ceil_divide(least, chunk_unit) * chunk_unit);
  }
  all.chunks = std::max<std::uint64_t>(1, ceil_divide(all.length, all.chunk_length));
  if (all.chunks == 1) {
    all.result = sum_result(work.result);
    launch_reduction(backend, work, all);
    return;
  }
  // The chunks' results become rows, which are reduced again.
  const std::uint64_t count = work.kept.count() * all.chunks;
  const DType dtype = chunk_dtype(work.operation, work.dtype);
  all.result = sum_result(dtype);
  const Tensor values = backend.empty(dtype, {count});
  std::optional<Tensor> places;
  if (finds_places(work.operation)) places = backend.empty(DType::u32, {count});
  Work first = work;
  first.out = values.address();
  first.out_places = places ? places->address() : nullptr;
  const Layout packed(work.kept.dims);
  for (std::size_t axis = 0; axis < packed.rank(); ++axis) {
    first.out_strides[axis] = packed.strides()[axis] * all.chunks;
  }
  launch_reduction(backend, first, all);

  Work second = work;
  second.dtype = dtype;
  second.in = values.address();
  second.earlier = first.out_places;
  second.reduced = {{all.chunks}, {1}};
  second.kept.strides = first.out_strides;
  run_reduction(backend, second);
}

std::array<bool, Layout::max_rank> mark_axes(Reduce operation, const Tensor& x,
                                             std::span<const std::size_t> axes) {
  std::array<bool, Layout::max_rank> marks{};
  for (const std::size_t axis : axes) {
    if (axis >= x.layout().rank()) {
      refuse_reduction(ErrorCode::out_of_bounds, operation,
                       describe(x) + " has no axis " + std::to_string(axis));
    }
    if (marks[axis]) {
      refuse_reduction(ErrorCode::invalid_argument, operation,
                       "axis " + std::to_string(axis) + " of " + describe(x) + " is named twice");
    }
    marks[axis] = true;
  }
  return marks;
}

std::vector<std::uint64_t> result_dims(const Tensor& x,
                                       const std::array<bool, Layout::max_rank>& is_reduced,
                                       bool keep_dims) {
  std::vector<std::uint64_t> dims;
  for (std::size_t axis = 0; axis < x.layout().rank(); ++axis) {
    if (!is_reduced[axis]) {
      dims.push_back(x.dims()[axis]);
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return dims;
}

DType result_dtype(Reduce operation, const Tensor& x) {
  return finds_places(operation) ? DType::u32 : x.dtype();
}

}  // namespace

std::string_view to_string(Reduce operation) noexcept {
  return name_in(reduce_names, static_cast<std::size_t>(operation));
}

void reduce_into(const Backend& backend, Tensor& out, Reduce operation, const Tensor& x,
                 std::span<const std::size_t> axes) {
  const std::string_view name = to_string(operation);
  require_known("reduce", name);
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, name, tensors);
  const auto is_reduced = mark_axes(operation, x, axes);
  const bool keep_dims = out.layout().rank() == x.layout().rank();
  const DType dtype = result_dtype(operation, x);
  require_output(name, std::span(tensors).first(1), out, dtype,
                 result_dims(x, is_reduced, keep_dims));
  Work work{operation, x.dtype(), dtype, x.address(), nullptr, nullptr, nullptr, {}, {}, {}};
  std::size_t out_axis = 0;
  for (std::size_t axis = 0; axis < x.layout().rank(); ++axis) {
    (is_reduced[axis] ? work.reduced : work.kept).add(x.layout(), axis);
    if (!is_reduced[axis]) work.out_strides.push_back(out.layout().strides()[out_axis]);
    if (!is_reduced[axis] || keep_dims) ++out_axis;
  }
  const std::uint64_t length = work.reduced.count();
  if (length == 0 && operation != Reduce::sum) {
    refuse_reduction(ErrorCode::invalid_argument, operation,
                     "no elements along the reduced axes of " + describe(x));
  }
  if (finds_places(operation) && length >= 0xFFFFFFFF) {
    refuse_reduction(ErrorCode::unsupported, operation,
                     describe(x) + " has more elements along the reduced axes than u32 can count");
  }
  if (out.element_count() == 0) return;
  if (length == 0) return fill_into(backend, out, 0);
  (finds_places(operation) ? work.out_places : work.out) = out.address();
  run_reduction(backend, work);
}

Tensor reduce(const Backend& backend, Reduce operation, const Tensor& x,
              std::span<const std::size_t> axes, bool keep_dims) {
  const auto dims = result_dims(x, mark_axes(operation, x, axes), keep_dims);
  Tensor out = backend.empty(result_dtype(operation, x), dims);
  reduce_into(backend, out, operation, x, axes);
  return out;
}

}  // namespace hiptool::ops
