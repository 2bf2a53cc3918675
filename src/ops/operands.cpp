// SPDX-License-Identifier: MIT
#include "ops/operands.hpp"

#include <bit>
#include <functional>
#include <numeric>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::ops {
namespace {

constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 31;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 44;

std::uintptr_t address_of(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.address());
}

/// An axis of more than one element.
struct Axis {
  std::uint64_t stride;
  std::uint64_t size;
};

/// By stride, the largest one first.
std::vector<Axis> long_axes(const Layout& layout) {
  std::vector<Axis> axes;
  for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
    if (layout.dims()[axis] > 1) axes.push_back({layout.strides()[axis], layout.dims()[axis]});
  }
  std::ranges::stable_sort(axes, std::greater(), &Axis::stride);
  return axes;
}

/// Whether each stride passes over all elements of the axes with smaller ones. Then no element is
/// in two places, and numbers of steps along the axes are unique.
bool are_nested(std::span<const Axis> axes) {
  std::uint64_t farthest = 0;
  for (std::size_t k = axes.size(); k-- > 0;) {
    if (axes[k].stride <= farthest) return false;
    farthest += (axes[k].size - 1) * axes[k].stride;
  }
  return true;
}

/// Axes of two layouts that have the same strides.
struct CommonAxis {
  std::int64_t stride;
  std::int64_t first_size;
  std::int64_t second_size;
};

/// Whether steps along the axes, forward in the first layout and backward in the second one, can
/// make up the distance. Of nested axes: what is left for smaller strides is below the stride.
bool can_step(std::span<const CommonAxis> axes, std::int64_t distance) {
  if (axes.empty()) return distance == 0;
  const CommonAxis& axis = axes.front();
  const std::int64_t nearest = distance / axis.stride;
  for (const std::int64_t steps : {nearest - 1, nearest, nearest + 1}) {
    if (steps > -axis.second_size && steps < axis.first_size &&
        can_step(axes.subspan(1), distance - steps * axis.stride)) {
      return true;
    }
  }
  return false;
}

/// Whether views of the same strides surely share no element, such as columns of one matrix.
bool are_interleaved(const Tensor& a, const Tensor& b) {
  const auto size = static_cast<std::int64_t>(element_size_bytes(a.dtype()));
  const std::int64_t bytes =
      static_cast<std::int64_t>(address_of(b)) - static_cast<std::int64_t>(address_of(a));
  if (a.dtype() != b.dtype() || a.layout().rank() != b.layout().rank() || bytes % size != 0) {
    return false;
  }
  std::vector<Axis> largest;
  std::vector<CommonAxis> axes;
  for (std::size_t axis = 0; axis < a.layout().rank(); ++axis) {
    const std::uint64_t sizes[] = {a.dims()[axis], b.dims()[axis]};
    const std::uint64_t most = std::max(sizes[0], sizes[1]);
    if (most == 1) continue;
    const std::uint64_t stride = a.layout().strides()[axis];
    if (stride != b.layout().strides()[axis]) return false;
    largest.push_back({stride, most});
    axes.push_back({static_cast<std::int64_t>(stride), static_cast<std::int64_t>(sizes[0]),
                    static_cast<std::int64_t>(sizes[1])});
  }
  std::ranges::stable_sort(largest, std::greater(), &Axis::stride);
  std::ranges::stable_sort(axes, std::greater(), &CommonAxis::stride);
  return are_nested(largest) && !can_step(axes, bytes / size);
}

bool overlaps(const Tensor& a, const Tensor& b) {
  if (a.element_count() == 0 || b.element_count() == 0) return false;
  const auto end_of = [](const Tensor& tensor) {
    const Layout& layout = tensor.layout();
    return address_of(tensor) +
           (layout.extent() - layout.start_offset()) * element_size_bytes(tensor.dtype());
  };
  return address_of(a) < end_of(b) && address_of(b) < end_of(a) && !are_interleaved(a, b);
}

}  // namespace

void refuse(std::string_view operation, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, std::string(operation),
              std::string(operation) + ": " + why);
}

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return address_of(a) == address_of(b) && a.dtype() == b.dtype() &&
         std::ranges::equal(a.dims(), b.dims()) &&
         std::ranges::equal(a.layout().strides(), b.layout().strides());
}

std::string list_of(std::span<const std::uint64_t> dims) {
  std::string text = "[";
  for (const std::uint64_t dim : dims) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  return text + "]";
}

hiptool_ops::Divisor make_divisor(std::uint64_t divisor) noexcept {
  const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
  const std::uint64_t numerator = ((std::uint64_t{1} << shift) - divisor) << 32;
  return {static_cast<std::uint32_t>(numerator / divisor + 1), shift};
}

std::uint32_t run_of(DType dtype) noexcept {
  return static_cast<std::uint32_t>(std::min<std::size_t>(8, 16 / element_size_bytes(dtype)));
}

JoinedAxes join_axes(std::span<const Layout* const> operands, std::size_t order) {
  const Layout& first = *operands[order];
  std::array<std::size_t, Layout::max_rank> axes{};
  std::size_t rank = 0;
  for (std::size_t axis = 0; axis < first.rank(); ++axis) {
    if (first.dims()[axis] != 1) axes[rank++] = axis;
  }
  // The innermost axis first, which is the last one where strides are equal.
  std::reverse(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rank));
  std::stable_sort(
      axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rank),
      [&](std::size_t a, std::size_t b) { return first.strides()[a] < first.strides()[b]; });
  JoinedAxes joined;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = axes[i];
    bool joins = joined.count > 0;
    for (std::size_t k = 0; joins && k < operands.size(); ++k) {
      const std::size_t inner = joined.count - 1;
      joins = operands[k]->strides()[axis] == joined.strides[k][inner] * joined.dims[inner];
    }
    if (joins) {
      joined.dims[joined.count - 1] *= first.dims()[axis];
      continue;
    }
    joined.dims[joined.count] = first.dims()[axis];
    for (std::size_t k = 0; k < operands.size(); ++k) {
      joined.strides[k][joined.count] = operands[k]->strides()[axis];
    }
    ++joined.count;
  }
  if (joined.count == 0) {
    joined.count = 1;
    joined.dims[0] = 1;
  }
  return joined;
}

bool are_packed(std::span<const Tensor* const> tensors) noexcept {
  return std::ranges::all_of(tensors, [](const Tensor* tensor) {
    return tensor->layout().is_contiguous() && address_of(*tensor) % 16 == 0;
  });
}

void set_axes(const JoinedAxes& axes, hiptool_ops::Divisor* divisors, std::uint64_t* dims,
              std::uint32_t& count, std::uint32_t& is_wide) {
  count = static_cast<std::uint32_t>(axes.count);
  std::uint64_t elements = 1;
  for (std::size_t axis = 0; axis < axes.count; ++axis) {
    dims[axis] = axes.dims[axis];
    elements *= axes.dims[axis];
  }
  is_wide = elements >= narrow_limit ? 1 : 0;
  for (const auto& strides : axes.strides) {
    for (const std::uint64_t stride : strides) is_wide |= stride >> 32 != 0 ? 1 : 0;
  }
  for (std::size_t axis = 0; axis < axes.count; ++axis) {
    if (is_wide == 0 && axes.dims[axis] > 0) divisors[axis] = make_divisor(axes.dims[axis]);
  }
}

bool has_pieces(const Tensor& tensor, const JoinedAxes& axes, std::size_t operand,
                std::uint32_t run) noexcept {
  const auto& strides = axes.strides[operand];
  const std::uint64_t piece_bytes =
      std::min<std::uint64_t>(16, run * element_size_bytes(tensor.dtype()));
  if (strides[0] != 1 || address_of(tensor) % piece_bytes != 0) return false;
  for (std::size_t axis = 1; axis < axes.count; ++axis) {
    if (strides[axis] * element_size_bytes(tensor.dtype()) % piece_bytes != 0) return false;
  }
  return true;
}

LaunchConfig elements_grid(std::uint64_t elements, std::uint64_t run, std::uint32_t threads) {
  constexpr std::uint64_t most_blocks = narrow_limit - 1;
  const std::uint64_t runs = elements / run + (elements % run != 0 ? 1 : 0);
  LaunchConfig config;
  config.block.x = threads;
  config.grid.x = static_cast<std::uint32_t>(
      std::min(most_blocks, runs / threads + (runs % threads != 0 ? 1 : 0)));
  return config;
}

std::string describe(const Tensor& tensor) {
  return std::string(to_string(tensor.dtype())) + list_of(tensor.dims());
}

void require_known(std::string_view operation, std::string_view name) {
  if (name == unknown_name) refuse(operation, "a number that is none of the enum");
}

void require_device(const Backend& backend, std::string_view operation,
                    std::span<const Tensor* const> tensors, Elements elements) {
  for (const Tensor* tensor : tensors) {
    if (tensor->dtype() == DType::i8 && elements == Elements::numbers) {
      throw Error(ErrorCode::unsupported, std::string(operation),
                  std::string(operation) + ": " + describe(*tensor) +
                      "; i8 is for copies and matmul_i32 alone");
    }
    // No memory has that many: a layout that repeats elements would keep a kernel busy for ever.
    if (tensor->element_count() > most_elements) {
      throw Error(
          ErrorCode::unsupported, std::string(operation),
          std::string(operation) + ": " + describe(*tensor) + " has more than 2^44 elements");
    }
    if (tensor->device() == backend.device()) continue;
    refuse(operation, describe(*tensor) + " is on " + tensor->device().id() +
                          ", and the operation runs on " + backend.device().id());
  }
}

void require_dtype(std::string_view operation, const Tensor& tensor, std::span<const DType> types) {
  if (std::ranges::find(types, tensor.dtype()) != types.end()) return;
  std::string list;
  for (const DType type : types) list += ' ' + std::string(to_string(type));
  throw Error(ErrorCode::unsupported, std::string(operation),
              std::string(operation) + ": " + describe(tensor) + " has none of the types" + list);
}

void require_same_dtype(std::string_view operation, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return;
  refuse(operation, describe(a) + " and " + describe(b) + " have different types; cast one first");
}

void require_same_dims(std::string_view operation, const Tensor& a, const Tensor& b) {
  if (std::ranges::equal(a.dims(), b.dims())) return;
  refuse(operation, describe(a) + " and " + describe(b) +
                        " have different shapes; broadcast_to() makes a layout fit");
}

void require_output(std::string_view operation, std::span<const Tensor* const> inputs,
                    const Tensor& out, DType dtype, std::span<const std::uint64_t> dims) {
  if (out.dtype() != dtype || !std::ranges::equal(out.dims(), dims)) {
    refuse(operation, "the output is " + describe(out) + ", and the result is " +
                          std::string(to_string(dtype)) + list_of(dims));
  }
  if (out.element_count() > 0 && !are_nested(long_axes(out.layout()))) {
    refuse(operation, "elements of the output " + describe(out) + " share memory (strides " +
                          list_of(out.layout().strides()) + ")");
  }
  for (const Tensor* input : inputs) {
    if (!overlaps(*input, out) || is_same_memory(*input, out)) continue;
    refuse(operation, "the output " + describe(out) + " overlaps the input " + describe(*input));
  }
}

void require_separate(std::string_view operation, std::span<const Tensor* const> inputs,
                      const Tensor& out) {
  for (const Tensor* input : inputs) {
    if (!overlaps(*input, out)) continue;
    refuse(operation, "the output " + describe(out) + " overlaps the input " + describe(*input));
  }
}

void require_axis(std::string_view operation, const Tensor& tensor, std::size_t axis) {
  if (axis < tensor.layout().rank()) return;
  refuse(operation, "axis " + std::to_string(axis) + " is not one of " + describe(tensor));
}

}  // namespace hiptool::ops
