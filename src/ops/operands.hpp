// SPDX-License-Identifier: MIT
/// The arguments of elementwise kernels, from the layouts of their tensors.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/tensor.hpp"

// Shared with the kernels, which have these types without a namespace.
using std::uint32_t;
using std::uint64_t;
#include <hiptool_operands.h>

namespace hiptool::ops {

/// (multiplier, shift) by which kernels divide numbers below 2^31. The divisor is 1 to 2^31 - 1.
hiptool_ops::Divisor make_divisor(std::uint64_t divisor) noexcept;

/// For kernels that take types as arguments.
inline hiptool_ops::Type type_number(DType dtype) noexcept {
  static_assert(static_cast<int>(hiptool_ops::Type::f8e4m3) == static_cast<int>(DType::f8e4m3) &&
                static_cast<int>(hiptool_ops::Type::f16) == static_cast<int>(DType::f16));
  return static_cast<hiptool_ops::Type>(dtype);
}

/// Elements of that type that a thread takes, as hiptool_ops::Run has it.
std::uint32_t run_of(DType dtype) noexcept;

/// Dimensions that all operands have, with axes in the order of the strides of `order` (the
/// output), joined where every operand runs through them in one go; axis 0 is the innermost.
struct JoinedAxes {
  std::size_t count = 0;  // at least 1
  std::array<std::uint64_t, Layout::max_rank> dims{};
  std::array<std::array<std::uint64_t, Layout::max_rank>, 5> strides{};  // by operand
};
JoinedAxes join_axes(std::span<const Layout* const> operands, std::size_t order);

/// True when all tensors have their elements in one row-major piece that begins at a multiple of 16
/// bytes: then the kernels that know no layout serve.
bool are_packed(std::span<const Tensor* const> tensors) noexcept;

/// The kernel's argument. The last tensor is the output. A thread takes `run` neighbours where the
/// innermost dimension is a multiple of that.
template <unsigned count>
hiptool_ops::Operands<count> make_operands(const std::array<const Tensor*, count>& tensors,
                                           std::uint32_t run);

/// For layouts of the same dimensions, element by element, with axes in the order of one of them.
template <unsigned count>
hiptool_ops::Operands<count> make_operands(const std::array<const Layout*, count>& layouts,
                                           std::size_t order);

/// Queues a kernel of 256 threads a block, of which each takes `run` of that many elements.
template <class... Arguments>
void launch_elements(const Backend& backend, const Kernel& kernel, std::uint64_t elements,
                     std::uint64_t run, const Arguments&... arguments);

/// The checks that all operations share: Error(invalid_argument) that names the operation and both
/// types, shapes or devices; of require_dtype Error(unsupported). An output that overlaps an input
/// without being it is refused.
/// Only operations on stored elements take i8; of others that type is unsupported too.
enum class Elements { numbers, stored };
void require_device(const Backend& backend, std::string_view operation,
                    std::span<const Tensor* const> tensors, Elements elements = Elements::numbers);
void require_dtype(std::string_view operation, const Tensor& tensor, std::span<const DType> types);
void require_same_dtype(std::string_view operation, const Tensor& a, const Tensor& b);
void require_same_dims(std::string_view operation, const Tensor& a, const Tensor& b);
void require_output(std::string_view operation, std::span<const Tensor* const> inputs,
                    const Tensor& out, DType dtype, std::span<const std::uint64_t> dims);

/// The output shares no memory with the inputs, not even as the same tensor.
void require_separate(std::string_view operation, std::span<const Tensor* const> inputs,
                      const Tensor& out);
/// The axis exists.
void require_axis(std::string_view operation, const Tensor& tensor, std::size_t axis);
bool is_same_memory(const Tensor& a, const Tensor& b);

/// Of a number that is none of an enum.
inline constexpr std::string_view unknown_name = "unknown";

template <std::size_t count>
constexpr std::string_view name_in(const char* const (&names)[count], std::size_t place) noexcept {
  return place < count ? names[place] : unknown_name;
}

/// Error(invalid_argument) for that name.
void require_known(std::string_view operation, std::string_view name);

/// Error(invalid_argument): "operation: why".
[[noreturn]] void refuse(std::string_view operation, const std::string& why);

/// "f32[2,3]" and "[2,3]", for messages.
std::string describe(const Tensor& tensor);
std::string list_of(std::span<const std::uint64_t> dims);

// ---- implementation

void set_axes(const JoinedAxes& axes, hiptool_ops::Divisor* divisors, std::uint64_t* dims,
              std::uint32_t& count, std::uint32_t& is_wide);
LaunchConfig elements_grid(std::uint64_t elements, std::uint64_t run, std::uint32_t threads = 256);
/// Whether runs of that operand are aligned pieces.
bool has_pieces(const Tensor& tensor, const JoinedAxes& axes, std::size_t operand,
                std::uint32_t run) noexcept;

template <unsigned count>
hiptool_ops::Operands<count> make_operands(const std::array<const Layout*, count>& layouts,
                                           std::size_t order) {
  const JoinedAxes axes = join_axes(layouts, order);
  hiptool_ops::Operands<count> result{};
  result.count = layouts[order]->element_count();
  result.run = 1;
  set_axes(axes, result.divisors, result.dims, result.axes, result.is_wide);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(axes.strides[i].begin(), axes.count, result.strides[i]);
  }
  return result;
}

template <unsigned count>
hiptool_ops::Operands<count> make_operands(const std::array<const Tensor*, count>& tensors,
                                           std::uint32_t run) {
  std::array<const Layout*, count> layouts{};
  for (std::size_t i = 0; i < count; ++i) layouts[i] = &tensors[i]->layout();
  const JoinedAxes axes = join_axes(layouts, count - 1);
  hiptool_ops::Operands<count> result{};
  result.count = tensors[count - 1]->element_count();
  set_axes(axes, result.divisors, result.dims, result.axes, result.is_wide);
  result.run = axes.dims[0] % run == 0 ? run : 1;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t axis = 0; axis < axes.count; ++axis) {
      result.strides[i][axis] = axes.strides[i][axis];
    }
    if (result.run > 1 && has_pieces(*tensors[i], axes, i, run)) result.packed |= 1u << i;
  }
  return result;
}

template <class... Arguments>
void launch_elements(const Backend& backend, const Kernel& kernel, std::uint64_t elements,
                     std::uint64_t run, const Arguments&... arguments) {
  launch(kernel, elements_grid(elements, run), backend.stream(), arguments...);
}

}  // namespace hiptool::ops
