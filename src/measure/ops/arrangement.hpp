// SPDX-License-Identifier: MIT
/// The layouts in which operations are tried, and tensors placed so between guard bytes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/ops/operation.hpp"

namespace hiptool::measure {

enum class Arrangement {
  packed,
  transposed,  ///< two axes of memory exchanged
  broadcast,   ///< an axis of each input has stride 0
  offset,      ///< contiguous from an odd element on
  spread,      ///< every other element along each axis
  empty,
  size_1,
  rank_0,
  rank_8,
  in_place  ///< the output is an input
};
inline constexpr std::array arrangements{
    Arrangement::packed, Arrangement::transposed, Arrangement::broadcast, Arrangement::offset,
    Arrangement::spread, Arrangement::empty,      Arrangement::size_1,    Arrangement::rank_0,
    Arrangement::rank_8, Arrangement::in_place};

/// "packed", "size-1", "in-place".
std::string_view to_string(Arrangement arrangement) noexcept;
std::optional<Arrangement> arrangement_from_name(std::string_view name) noexcept;

/// Whether it is a way to place a tensor of any shape; the others are shapes.
bool takes_any_shape(Arrangement arrangement) noexcept;

/// Whether tensors so placed are in one piece.
bool is_in_one_piece(Arrangement arrangement) noexcept;

enum class Sweep { quick, full };

/// The shapes that a sweep tries in that arrangement.
std::vector<Dims> shapes_of(Arrangement arrangement, Sweep sweep);

/// A tensor in memory of its own with guard bytes on both sides, and all of that memory as the host
/// last wrote it. Bytes that belong to no element are 0xFF.
struct PlacedTensor {
  Tensor tensor;
  std::vector<std::byte> image;

  /// Puts packed elements into the image and writes all of it to the device. Blocks.
  void write(std::span<const std::byte> elements);
  /// Writes the image to the device with every element 0xFF too: NaN. Blocks.
  void poison();
  /// All of the memory as it is on the device. Blocks; earlier work on it must be done.
  std::vector<std::byte> read() const;
  /// The elements of an image in row-major order.
  std::vector<std::byte> elements_of(std::span<const std::byte> from) const;
  /// Whether every byte outside of the elements is 0xFF.
  bool is_intact(std::span<const std::byte> read_image) const;
};

/// Memory for one operand of a call; `operand` counts inputs, absent for the output.
PlacedTensor place(const std::function<Buffer(std::size_t)>& allocate, DType dtype,
                   std::span<const std::uint64_t> dims, Arrangement arrangement,
                   std::optional<std::size_t> operand);

}  // namespace hiptool::measure
