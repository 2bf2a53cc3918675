// SPDX-License-Identifier: MIT
#include "measure/ops/arrangement.hpp"

#include <algorithm>
#include <cstring>

#include "hiptool/copy.hpp"

namespace hiptool::measure {
namespace {

constexpr const char* arrangement_names[] = {"packed", "transposed", "broadcast", "offset",
                                             "spread", "empty",      "size-1",    "rank-0",
                                             "rank-8", "in-place"};

/// A multiple of the alignment that packed kernels want.
constexpr std::uint64_t placed_guard_bytes = 256;

void append(std::vector<Dims>& list, std::initializer_list<Dims> more) {
  list.insert(list.end(), more);
}

Layout shifted(const Layout& layout, std::uint64_t by) {
  return Layout::strided(layout.dims(), layout.strides(), layout.start_offset() + by);
}

/// Two axes exchanged in memory. An output of rank 2 stays packed: where all operands are
/// transposed alike, the operation sees packed memory.
Layout transposed_layout(const Dims& dims, std::optional<std::size_t> operand) {
  const std::size_t rank = dims.size();
  const bool stays = rank < 2 || (operand ? *operand % 2 == 1 : rank == 2);
  if (stays) return Layout(dims);
  const std::size_t other = operand ? 0 : rank - 2;
  Dims memory = dims;
  std::swap(memory[other], memory[rank - 1]);
  return Layout(memory).transpose(other, rank - 1);
}

Layout broadcast_layout(const Dims& dims, std::optional<std::size_t> operand) {
  if (!operand) return Layout(dims);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const std::size_t axis = (*operand + k) % dims.size();
    if (dims[axis] < 2) continue;
    Dims memory = dims;
    memory[axis] = 1;
    return Layout(memory).broadcast_to(dims);
  }
  return Layout(dims);
}

Layout spread_layout(const Dims& dims) {
  Dims memory = dims;
  for (std::uint64_t& dim : memory) dim = 2 * dim + 1;
  const Layout outer(memory);
  Dims strides(outer.strides().begin(), outer.strides().end());
  std::uint64_t start = 0;
  for (std::uint64_t& stride : strides) {
    start += stride;  // the second one along each axis
    stride *= 2;
  }
  return Layout::strided(dims, strides, start);
}

Layout layout_of(const Dims& dims, Arrangement arrangement, std::optional<std::size_t> operand) {
  switch (arrangement) {
    case Arrangement::transposed: return transposed_layout(dims, operand);
    case Arrangement::broadcast: return broadcast_layout(dims, operand);
    case Arrangement::offset: return Layout(dims, operand ? 1 + 2 * *operand : 7);
    case Arrangement::spread: return spread_layout(dims);
    default: return Layout(dims);
  }
}

}  // namespace

std::string_view to_string(Arrangement arrangement) noexcept {
  return arrangement_names[static_cast<std::size_t>(arrangement)];
}

std::optional<Arrangement> arrangement_from_name(std::string_view name) noexcept {
  for (const Arrangement arrangement : arrangements) {
    if (to_string(arrangement) == name) return arrangement;
  }
  return std::nullopt;
}

bool takes_any_shape(Arrangement arrangement) noexcept {
  switch (arrangement) {
    case Arrangement::empty:
    case Arrangement::size_1:
    case Arrangement::rank_0:
    case Arrangement::rank_8: return false;
    default: return true;
  }
}

bool is_in_one_piece(Arrangement arrangement) noexcept {
  switch (arrangement) {
    case Arrangement::transposed:
    case Arrangement::broadcast:
    case Arrangement::spread: return false;
    default: return true;
  }
}

std::vector<Dims> shapes_of(Arrangement arrangement, Sweep sweep) {
  switch (arrangement) {
    case Arrangement::empty: return {{0}, {3, 0, 5}};
    case Arrangement::size_1: return {{1}, {1, 1, 1}};
    case Arrangement::rank_0: return {{}};
    case Arrangement::rank_8: return {{2, 1, 3, 2, 1, 2, 3, 2}};
    default: break;
  }
  const bool is_flat = arrangement == Arrangement::packed || arrangement == Arrangement::offset;
  std::vector<Dims> shapes;
  if (is_flat) shapes.push_back({1025});
  if (arrangement != Arrangement::offset) shapes.push_back({33, 40});
  if (!is_flat) shapes.push_back({5, 6, 7});
  if (sweep == Sweep::quick) return shapes;
  append(shapes, {{129, 65}, {3, 5, 7, 9}, {64, 64}, {2, 1, 31, 8}, {4099}});
  // Every length up to a block of threads and one more; elsewhere some of them.
  const std::uint64_t step = arrangement == Arrangement::packed ? 1 : is_flat ? 16 : 64;
  for (std::uint64_t count = 1; count <= 257; count += step) {
    if (is_flat) {
      shapes.push_back({count});
    } else {
      append(shapes, {{count, 3}, {3, count}, {2, count, 8}});
    }
  }
  return shapes;
}

void PlacedTensor::write(std::span<const std::byte> elements) {
  const std::size_t size = element_size_bytes(tensor.dtype());
  const Layout& layout = tensor.layout();
  if (layout.is_contiguous()) {
    if (!elements.empty()) {
      std::memcpy(image.data() + layout.start_offset() * size, elements.data(), elements.size());
    }
  } else {
    for (std::uint64_t i = 0; i < layout.element_count(); ++i) {
      std::memcpy(image.data() + layout.offset_at(i) * size, elements.data() + i * size, size);
    }
  }
  copy_h2d_and_wait(Buffer(tensor.buffer()), image);
}

void PlacedTensor::poison() {
  std::ranges::fill(image, std::byte{0xFF});
  copy_h2d_and_wait(Buffer(tensor.buffer()), image);
}

std::vector<std::byte> PlacedTensor::read() const {
  std::vector<std::byte> found(image.size());
  copy_d2h_and_wait(found, tensor.buffer());
  return found;
}

std::vector<std::byte> PlacedTensor::elements_of(std::span<const std::byte> from) const {
  const std::size_t size = element_size_bytes(tensor.dtype());
  const Layout& layout = tensor.layout();
  std::vector<std::byte> elements(layout.element_count() * size);
  if (elements.empty()) return elements;
  if (layout.is_contiguous()) {
    std::memcpy(elements.data(), from.data() + layout.start_offset() * size, elements.size());
    return elements;
  }
  for (std::uint64_t i = 0; i < layout.element_count(); ++i) {
    std::memcpy(elements.data() + i * size, from.data() + layout.offset_at(i) * size, size);
  }
  return elements;
}

bool PlacedTensor::is_intact(std::span<const std::byte> read_image) const {
  const std::size_t size = element_size_bytes(tensor.dtype());
  const Layout& layout = tensor.layout();
  const auto is_untouched = [](std::span<const std::byte> part) {
    return std::ranges::all_of(part, [](std::byte one) { return one == std::byte{0xFF}; });
  };
  if (layout.is_contiguous()) {
    const std::uint64_t start = layout.start_offset() * size;
    return is_untouched(read_image.first(start)) &&
           is_untouched(read_image.subspan(start + layout.element_count() * size));
  }
  std::vector<std::byte> rest(read_image.begin(), read_image.end());
  for (std::uint64_t i = 0; i < layout.element_count(); ++i) {
    std::memset(rest.data() + layout.offset_at(i) * size, 0xFF, size);
  }
  return is_untouched(rest);
}

PlacedTensor place(const std::function<Buffer(std::size_t)>& allocate, DType dtype,
                   std::span<const std::uint64_t> dims, Arrangement arrangement,
                   std::optional<std::size_t> operand) {
  const std::size_t size = element_size_bytes(dtype);
  const Layout inner = layout_of({dims.begin(), dims.end()}, arrangement, operand);
  const Layout layout = shifted(inner, placed_guard_bytes / size);
  // Without elements the extent is 0; the start of the layout is there all the same.
  const std::uint64_t used = std::max(inner.extent(), inner.start_offset()) * size;
  // A spread tensor has elements of nobody behind its last one too: guard bytes hold them.
  const std::size_t bytes =
      placed_guard_bytes +
      (used + placed_guard_bytes - 1) / placed_guard_bytes * placed_guard_bytes +
      placed_guard_bytes;
  return {Tensor(allocate(bytes), dtype, layout), std::vector<std::byte>(bytes, std::byte{0xFF})};
}

}  // namespace hiptool::measure
