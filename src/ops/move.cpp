// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "ops/tiles.hpp"

namespace hiptool::ops {
namespace {

/// Bytes of a tensor whose elements are in one piece, in whatever order.
Buffer piece_of(const Tensor& tensor) {
  const std::size_t size = element_size_bytes(tensor.dtype());
  return tensor.buffer().view(tensor.layout().start_offset() * size, tensor.element_count() * size);
}

/// The axis along which the source is contiguous while the output is so along axis 0; 0 where tiles
/// do not serve. Short axes would leave most of a tile empty.
std::size_t crossing_axis(const JoinedAxes& axes) {
  constexpr std::uint64_t shortest = 16;
  const auto& source = axes.strides[0];
  const auto& output = axes.strides[1];
  if (output[0] != 1 || source[0] <= 1 || axes.dims[0] < shortest) return 0;
  for (std::size_t axis = 1; axis < axes.count; ++axis) {
    if (source[axis] == 1 && axes.dims[axis] >= shortest) return axis;
  }
  return 0;
}

void move_by_tiles(const Backend& backend, const Tensor& x, const Tensor& out,
                   const JoinedAxes& axes, std::size_t crossing) {
  const std::size_t size = element_size_bytes(x.dtype());
  const TileNumbers tile = tile_numbers(size);
  hiptool_ops::TiledCopy copy{};
  copy.source_rows = axes.dims[0];
  copy.output_rows = axes.dims[crossing];
  copy.source_stride = axes.strides[0][0];
  copy.output_stride = axes.strides[1][crossing];
  copy.source_pieces = has_aligned_rows(x, axes, 0, crossing) ? 1 : 0;
  copy.output_pieces = has_aligned_rows(out, axes, 1, 0) ? 1 : 0;

  copy.tiles = make_tiles<4>(axes, crossing, tile.side);
  const LaunchConfig config = tiles_grid(copy.tiles.count, tile.shared_bytes);
  const Kernel kernel =
      state_of(backend).kernel("ops_copy", "hiptool_move_tiled_" + std::to_string(size));
  launch(kernel, config, backend.stream(), copy, x.address(), out.address());
}

/// Of two tensors of the same dimensions and dtype that do not overlap.
void move_elements(const Backend& backend, const Tensor& x, const Tensor& out) {
  if (out.element_count() == 0) return;
  const std::array<const Layout*, 2> layouts{&x.layout(), &out.layout()};
  const JoinedAxes axes = join_axes(layouts, 1);
  if (axes.count == 1 && axes.strides[0][0] == 1 && axes.strides[1][0] == 1) {
    copy_d2d(piece_of(out), piece_of(x), backend.stream());
    return;
  }
  if (const std::size_t crossing = crossing_axis(axes); crossing != 0) {
    move_by_tiles(backend, x, out, axes, crossing);
    return;
  }
  const std::size_t size = element_size_bytes(x.dtype());
  const auto run = static_cast<std::uint32_t>(std::min<std::size_t>(8, 16 / size));
  const auto operands = make_operands<2>({&x, &out}, run);
  const Kernel kernel =
      state_of(backend).kernel("ops_copy", "hiptool_move_" + std::to_string(size));
  launch_elements(backend, kernel, operands.count, operands.run, operands, x.address(),
                  out.address());
}

/// Of rows inside a contiguous tensor; checks that they fit.
Layout rows_in(const Tensor& tensor, const char* which, const Rows& rows, std::uint64_t stride,
               std::uint64_t offset) {
  if (!tensor.layout().is_contiguous()) {
    refuse("copy_2d", std::string("the ") + which + " " + describe(tensor) + " is not contiguous");
  }
  if (rows.rows > 1 && stride < rows.columns) {
    refuse("copy_2d", std::string("the ") + which + " stride " + std::to_string(stride) +
                          " is below the " + std::to_string(rows.columns) + " columns");
  }
  const std::uint64_t count = tensor.element_count();
  // offset + (rows - 1) stride + columns <= count, without overflow.
  const bool fits = rows.columns <= count && offset <= count - rows.columns &&
                    (rows.rows == 1 || (count - rows.columns - offset) / stride >= rows.rows - 1);
  if (!fits) {
    throw Error(ErrorCode::out_of_bounds, "copy_2d",
                "copy_2d: " + std::to_string(rows.rows) + " rows of " +
                    std::to_string(rows.columns) + " columns, " + std::to_string(stride) +
                    " apart from offset " + std::to_string(offset) + " on, exceed the " + which +
                    " " + describe(tensor));
  }
  return Layout::strided(std::array{rows.rows, rows.columns}, std::array{stride, std::uint64_t{1}},
                         tensor.layout().start_offset() + offset);
}

/// The first elements of the source in row-major order, to contiguous ones: whole slices along the
/// first axis, then likewise a part of the next one.
void move_first(const Backend& backend, const Tensor& destination, std::uint64_t offset,
                Tensor source, std::uint64_t count) {
  while (count != 0) {
    const Layout& layout = source.layout();
    const auto to = [&](const Layout& like) {
      return destination.with_layout(
          Layout(like.dims(), destination.layout().start_offset() + offset));
    };
    if (count == layout.element_count()) {
      move_elements(backend, source, to(layout));
      return;
    }
    const std::uint64_t slice = layout.element_count() / layout.dims()[0];
    if (const std::uint64_t whole = count / slice; whole != 0) {
      const Tensor slices = source.with_layout(layout.narrow(0, 0, whole));
      move_elements(backend, slices, to(slices.layout()));
      offset += whole * slice;
      count -= whole * slice;
      if (count == 0) return;
      source = source.with_layout(layout.narrow(0, whole, 1));
    } else {
      source = source.with_layout(layout.narrow(0, 0, 1));
    }
    // Without its first axis, of which one element is left.
    source = source.with_layout(Layout::strided(source.dims().subspan(1),
                                                source.layout().strides().subspan(1),
                                                source.layout().start_offset()));
  }
}

/// Whether rows of the same stride are between the other tensor's rows.
bool are_interleaved(const Tensor& source, const Tensor& destination, const Rows& rows) {
  if (rows.source_stride != rows.destination_stride || rows.source_stride == 0) return false;
  const std::size_t size = element_size_bytes(source.dtype());
  const auto from = reinterpret_cast<std::uintptr_t>(source.address());
  const auto to = reinterpret_cast<std::uintptr_t>(destination.address());
  const std::uint64_t pitch = rows.source_stride * size;
  const std::uint64_t width = rows.columns * size;
  const std::uint64_t distance = (to % pitch + pitch - from % pitch) % pitch;
  return distance >= width && pitch - distance >= width;
}

std::vector<const Tensor*> pointers_to(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

/// Checks the inputs, and finds the dimensions of the result.
std::vector<std::uint64_t> concat_dims(std::span<const Tensor> tensors, std::size_t axis) {
  if (tensors.empty()) refuse("concat", "no tensors");
  const Tensor& first = tensors[0];
  require_axis("concat", first, axis);
  std::vector<std::uint64_t> dims(first.dims().begin(), first.dims().end());
  for (const Tensor& tensor : tensors.subspan(1)) {
    require_same_dtype("concat", first, tensor);
    std::vector<std::uint64_t> others(tensor.dims().begin(), tensor.dims().end());
    if (others.size() == dims.size()) others[axis] = first.dims()[axis];
    if (!std::ranges::equal(others, first.dims())) {
      refuse("concat", describe(first) + " and " + describe(tensor) + " differ in more than axis " +
                           std::to_string(axis));
    }
    const std::uint64_t sum = dims[axis] + tensor.dims()[axis];
    if (sum < dims[axis]) refuse("concat", "the result has more than 2^64 elements");
    dims[axis] = sum;
  }
  return dims;
}

}  // namespace

void copy_into(const Backend& backend, Tensor& out, const Tensor& x) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, "copy", tensors, Elements::stored);
  require_output("copy", std::span(tensors).first(1), out, x.dtype(), x.dims());
  if (!is_same_memory(x, out)) move_elements(backend, x, out);
}

Tensor copy(const Backend& backend, const Tensor& x) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  copy_into(backend, out, x);
  return out;
}

Tensor contiguous(const Backend& backend, const Tensor& x) {
  return x.layout().is_contiguous() ? x : copy(backend, x);
}

void copy_2d(const Backend& backend, Tensor& destination, const Tensor& source, const Rows& rows) {
  const std::array<const Tensor*, 2> tensors{&source, &destination};
  require_device(backend, "copy_2d", tensors, Elements::stored);
  require_same_dtype("copy_2d", source, destination);
  if (rows.rows == 0 || rows.columns == 0) return;
  const Tensor from =
      source.with_layout(rows_in(source, "source", rows, rows.source_stride, rows.source_offset));
  Tensor to = destination.with_layout(
      rows_in(destination, "destination", rows, rows.destination_stride, rows.destination_offset));
  if (!are_interleaved(from, to, rows)) {
    const std::array<const Tensor*, 1> inputs{&from};
    require_separate("copy_2d", inputs, to);
  }
  move_elements(backend, from, to);
}

std::uint64_t copy_strided(const Backend& backend, Tensor& destination,
                           std::uint64_t destination_offset, const Tensor& source) {
  constexpr std::string_view name = "copy_strided";
  const std::array<const Tensor*, 2> tensors{&source, &destination};
  require_device(backend, name, tensors, Elements::stored);
  require_same_dtype(name, source, destination);
  if (!destination.layout().is_contiguous()) {
    refuse(name, "the destination " + describe(destination) + " is not contiguous");
  }
  const std::uint64_t room = destination.element_count();
  if (destination_offset > room) {
    throw Error(ErrorCode::out_of_bounds, std::string(name),
                "copy_strided: the offset " + std::to_string(destination_offset) +
                    " is beyond the end of " + describe(destination));
  }
  const std::uint64_t count = std::min(source.element_count(), room - destination_offset);
  if (count == 0) return 0;
  require_separate(name, std::span(tensors).first(1), destination);
  move_first(backend, destination, destination_offset, source, count);
  return count;
}

void concat_into(const Backend& backend, Tensor& out, std::span<const Tensor> tensors,
                 std::size_t axis) {
  const auto dims = concat_dims(tensors, axis);
  auto inputs = pointers_to(tensors);
  require_separate("concat", inputs, out);
  require_output("concat", inputs, out, tensors[0].dtype(), dims);
  inputs.push_back(&out);
  require_device(backend, "concat", inputs, Elements::stored);
  std::uint64_t start = 0;
  for (const Tensor& tensor : tensors) {
    const std::uint64_t length = tensor.dims()[axis];
    if (tensor.element_count() != 0) {
      move_elements(backend, tensor, out.with_layout(out.layout().narrow(axis, start, length)));
    }
    start += length;
  }
}

void concat_into(const Backend& backend, Tensor& out, std::initializer_list<Tensor> tensors,
                 std::size_t axis) {
  concat_into(backend, out, std::span(tensors.begin(), tensors.size()), axis);
}

Tensor concat(const Backend& backend, std::span<const Tensor> tensors, std::size_t axis) {
  const auto dims = concat_dims(tensors, axis);
  Tensor out = backend.empty(tensors[0].dtype(), dims);
  concat_into(backend, out, tensors, axis);
  return out;
}

Tensor concat(const Backend& backend, std::initializer_list<Tensor> tensors, std::size_t axis) {
  return concat(backend, std::span(tensors.begin(), tensors.size()), axis);
}

}  // namespace hiptool::ops
