// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "hiptool/export.hpp"

namespace hiptool {

/// Where the elements of a tensor are: dimensions, strides and the place of the first element, all
/// counted in elements. A cheap value; never refers to memory.
///
/// Rank 0 is one element. A stride of 0 repeats elements (broadcast); there are no negative ones.
/// Every layout that can be made has an element count and offsets that fit 64 bits. Functions that
/// take an axis count from 0; those that take dimensions accept at most max_rank of them
/// (Error(invalid_argument)).
class HIPTOOL_API Layout {
 public:
  static constexpr std::size_t max_rank = 8;  ///< convolutions need 4 or 5

  /// Rank 0 at offset 0.
  Layout() = default;

  /// Row-major: the last dimension is contiguous. Throws Error(invalid_argument) when the count
  /// (with dimensions of 0 taken as 1) or an offset does not fit 64 bits.
  explicit Layout(std::span<const std::uint64_t> dims, std::uint64_t start_offset = 0);
  Layout(std::initializer_list<std::uint64_t> dims, std::uint64_t start_offset = 0);

  /// Any strides, one for each dimension. Throws Error(invalid_argument) when that is not so, or
  /// the count or an offset does not fit 64 bits.
  [[nodiscard]] static Layout strided(std::span<const std::uint64_t> dims,
                                      std::span<const std::uint64_t> strides,
                                      std::uint64_t start_offset = 0);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::span<const std::uint64_t> dims() const noexcept {
    return {dims_.data(), rank_};
  }
  [[nodiscard]] std::span<const std::uint64_t> strides() const noexcept {
    return {strides_.data(), rank_};
  }
  [[nodiscard]] std::uint64_t start_offset() const noexcept { return start_offset_; }

  /// The product of the dimensions: 1 for rank 0, 0 if one of them is 0.
  [[nodiscard]] std::uint64_t element_count() const noexcept { return element_count_; }

  /// Elements that memory must have, from offset 0 to past the last one used; 0 without elements.
  [[nodiscard]] std::uint64_t extent() const noexcept { return extent_; }

  /// True when the elements are contiguous in row-major order, from any start. Strides of
  /// dimensions of size 1 do not matter; without elements it is true.
  [[nodiscard]] bool is_contiguous() const noexcept;

  /// Offset of an element by its index along each axis. Throws Error(invalid_argument) for a wrong
  /// number of indices, Error(out_of_bounds) for one that is not below its dimension.
  [[nodiscard]] std::uint64_t offset_of(std::span<const std::uint64_t> index) const;
  [[nodiscard]] std::uint64_t offset_of(std::initializer_list<std::uint64_t> index) const;

  /// Offset of the element at this place in row-major order. Throws Error(out_of_bounds).
  [[nodiscard]] std::uint64_t offset_at(std::uint64_t linear_index) const;

  /// Dimensions of size 1, and dimensions put in front, repeated to the given ones (numpy's rule).
  /// Throws Error(invalid_argument) where that does not fit.
  [[nodiscard]] Layout broadcast_to(std::span<const std::uint64_t> dims) const;
  [[nodiscard]] Layout broadcast_to(std::initializer_list<std::uint64_t> dims) const;

  /// Two axes exchanged. Throws Error(out_of_bounds) for an axis that is not there.
  [[nodiscard]] Layout transpose(std::size_t first_axis, std::size_t second_axis) const;

  /// `length` elements of one axis, from `start` on. Throws Error(out_of_bounds) unless the axis is
  /// there, start <= dimension and length <= dimension - start.
  [[nodiscard]] Layout narrow(std::size_t axis, std::uint64_t start, std::uint64_t length) const;

  /// The same elements in the same row-major order with other dimensions; nothing where strides
  /// cannot express that, so that the elements have to be copied first. Throws
  /// Error(invalid_argument) when the element counts differ.
  [[nodiscard]] std::optional<Layout> reshape(std::span<const std::uint64_t> dims) const;
  [[nodiscard]] std::optional<Layout> reshape(std::initializer_list<std::uint64_t> dims) const;

  friend bool operator==(const Layout& left, const Layout& right) noexcept;

 private:
  using Numbers = std::array<std::uint64_t, max_rank>;
  void set_dims(std::span<const std::uint64_t> dims);
  void measure();  // finds the count and the extent

  Numbers dims_{};
  Numbers strides_{};
  std::size_t rank_ = 0;
  std::uint64_t start_offset_ = 0;
  std::uint64_t element_count_ = 1;
  std::uint64_t extent_ = 1;
};

}  // namespace hiptool
