// SPDX-License-Identifier: MIT
#include "hiptool/layout.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hiptool/error.hpp"

namespace hiptool {
namespace {

std::string text_of(std::span<const std::uint64_t> dims) {
  std::string text = "[";
  for (const std::uint64_t dim : dims) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

[[noreturn]] void throw_argument(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "layout", why);
}

[[noreturn]] void throw_bounds(const std::string& why) {
  throw Error(ErrorCode::out_of_bounds, "layout", why);
}

void require_axis(std::size_t axis, std::size_t rank) {
  if (axis >= rank) throw_bounds("axis " + std::to_string(axis) + " of " + std::to_string(rank));
}

std::uint64_t multiply(std::uint64_t left, std::uint64_t right) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) {
    throw_argument("the number of elements does not fit 64 bits");
  }
  return product;
}

std::uint64_t add(std::uint64_t left, std::uint64_t right) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) throw_argument("an offset does not fit 64 bits");
  return sum;
}

std::span<const std::uint64_t> span_of(const std::initializer_list<std::uint64_t>& numbers) {
  return {numbers.begin(), numbers.size()};
}

}  // namespace

Layout::Layout(std::span<const std::uint64_t> dims, std::uint64_t start_offset)
    : start_offset_(start_offset) {
  set_dims(dims);
  // A dimension of 0 counts as 1, so that the strides of the other dimensions are not 0.
  std::uint64_t stride = 1;
  for (std::size_t axis = rank_; axis-- > 0;) {
    strides_[axis] = stride;
    stride = multiply(stride, std::max<std::uint64_t>(dims_[axis], 1));
  }
  measure();
}

Layout::Layout(std::initializer_list<std::uint64_t> dims, std::uint64_t start_offset)
    : Layout(span_of(dims), start_offset) {}

Layout Layout::strided(std::span<const std::uint64_t> dims, std::span<const std::uint64_t> strides,
                       std::uint64_t start_offset) {
  if (dims.size() != strides.size()) {
    throw_argument("there are " + std::to_string(dims.size()) + " dimensions and " +
                   std::to_string(strides.size()) + " strides");
  }
  Layout layout;
  layout.set_dims(dims);
  std::copy(strides.begin(), strides.end(), layout.strides_.begin());
  layout.start_offset_ = start_offset;
  layout.measure();
  return layout;
}

void Layout::set_dims(std::span<const std::uint64_t> dims) {
  if (dims.size() > max_rank) {
    throw_argument(std::to_string(dims.size()) + " dimensions are more than " +
                   std::to_string(max_rank));
  }
  rank_ = dims.size();
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

void Layout::measure() {
  const bool is_empty = std::ranges::find(dims(), 0u) != dims().end();
  element_count_ = is_empty ? 0 : 1;
  extent_ = 0;
  if (is_empty) return;
  std::uint64_t last = start_offset_;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    element_count_ = multiply(element_count_, dims_[axis]);
    last = add(last, multiply(dims_[axis] - 1, strides_[axis]));
  }
  extent_ = add(last, 1);
}

bool Layout::is_contiguous() const noexcept {
  if (element_count_ == 0) return true;
  std::uint64_t expected = 1;
  for (std::size_t axis = rank_; axis-- > 0;) {
    if (dims_[axis] == 1) continue;
    if (strides_[axis] != expected) return false;
    expected *= dims_[axis];
  }
  return true;
}

std::uint64_t Layout::offset_of(std::span<const std::uint64_t> index) const {
  if (index.size() != rank_) {
    throw_argument(std::to_string(index.size()) + " indices for " + std::to_string(rank_) +
                   " dimensions");
  }
  std::uint64_t offset = start_offset_;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (index[axis] >= dims_[axis]) {
      throw_bounds("index " + text_of(index) + " is outside of " + text_of(dims()));
    }
    offset += index[axis] * strides_[axis];
  }
  return offset;
}

std::uint64_t Layout::offset_of(std::initializer_list<std::uint64_t> index) const {
  return offset_of(span_of(index));
}

std::uint64_t Layout::offset_at(std::uint64_t linear_index) const {
  if (linear_index >= element_count_) {
    throw_bounds("element " + std::to_string(linear_index) + " of " +
                 std::to_string(element_count_));
  }
  std::uint64_t offset = start_offset_;
  for (std::size_t axis = rank_; axis-- > 0;) {
    offset += linear_index % dims_[axis] * strides_[axis];
    linear_index /= dims_[axis];
  }
  return offset;
}

Layout Layout::broadcast_to(std::span<const std::uint64_t> dims) const {
  Layout result;
  result.set_dims(dims);
  result.start_offset_ = start_offset_;
  const auto refuse = [&] {
    throw_argument(text_of(this->dims()) + " cannot be broadcast to " + text_of(dims));
  };
  if (dims.size() < rank_) refuse();
  const std::size_t added = dims.size() - rank_;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (dims_[axis] == dims[added + axis]) {
      result.strides_[added + axis] = strides_[axis];
    } else if (dims_[axis] != 1) {
      refuse();
    }
  }
  result.measure();
  return result;
}

Layout Layout::broadcast_to(std::initializer_list<std::uint64_t> dims) const {
  return broadcast_to(span_of(dims));
}

Layout Layout::transpose(std::size_t first_axis, std::size_t second_axis) const {
  require_axis(first_axis, rank_);
  require_axis(second_axis, rank_);
  Layout result = *this;
  std::swap(result.dims_[first_axis], result.dims_[second_axis]);
  std::swap(result.strides_[first_axis], result.strides_[second_axis]);
  return result;
}

Layout Layout::narrow(std::size_t axis, std::uint64_t start, std::uint64_t length) const {
  require_axis(axis, rank_);
  if (start > dims_[axis] || length > dims_[axis] - start) {
    throw_bounds(std::to_string(length) + " from " + std::to_string(start) +
                 " on do not fit axis " + std::to_string(axis) + " of " + text_of(dims()));
  }
  Layout result = *this;
  // Without elements there is no first one; past the end its offset might not even fit.
  if (length > 0) result.start_offset_ = add(start_offset_, multiply(start, strides_[axis]));
  result.dims_[axis] = length;
  result.measure();
  return result;
}

std::optional<Layout> Layout::reshape(std::span<const std::uint64_t> dims) const {
  Layout result(dims);
  result.start_offset_ = start_offset_;
  if (result.element_count_ != element_count_) {
    throw_argument(text_of(this->dims()) + " has " + std::to_string(element_count_) +
                   " elements, " + text_of(dims) + " has " + std::to_string(result.element_count_));
  }
  if (element_count_ == 0) return result;

  // From the last axis on: old axes are joined, where their strides fit, and new ones cut from
  // them, until both hold the same number of elements. Both counts reach the whole at the same
  // time.
  std::size_t old_axis = rank_;
  std::size_t new_axis = dims.size();
  while (old_axis > 0) {
    const std::uint64_t stride = strides_[--old_axis];
    std::uint64_t old_count = dims_[old_axis];
    std::uint64_t new_count = 1;
    while (new_count != old_count) {
      if (new_count < old_count) {
        result.strides_[--new_axis] = stride * new_count;
        new_count *= dims[new_axis];
      } else if (dims_[--old_axis] != 1) {
        std::uint64_t even_stride = 0;
        if (__builtin_mul_overflow(stride, old_count, &even_stride)) return std::nullopt;
        if (strides_[old_axis] != even_stride) return std::nullopt;
        old_count *= dims_[old_axis];
      }
    }
  }
  result.measure();
  return result;
}

std::optional<Layout> Layout::reshape(std::initializer_list<std::uint64_t> dims) const {
  return reshape(span_of(dims));
}

bool operator==(const Layout& left, const Layout& right) noexcept {
  return std::ranges::equal(left.dims(), right.dims()) &&
         std::ranges::equal(left.strides(), right.strides()) &&
         left.start_offset_ == right.start_offset_;
}

}  // namespace hiptool
