// SPDX-License-Identifier: MIT
#include "reference/ops/move.hpp"

namespace hiptool::reference {

Values concat(std::span<const Values> tensors, std::size_t axis) {
  Values result{tensors[0].dims, {}};
  std::uint64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= result.dims[i];
  result.dims[axis] = 0;
  for (const Values& tensor : tensors) result.dims[axis] += tensor.dims[axis];
  for (std::uint64_t i = 0; i < outer; ++i) {
    for (const Values& tensor : tensors) {
      const auto slice = static_cast<std::ptrdiff_t>(tensor.at.size() / outer);
      const auto begin = tensor.at.begin() + static_cast<std::ptrdiff_t>(i) * slice;
      result.at.insert(result.at.end(), begin, begin + slice);
    }
  }
  return result;
}

Values copy_2d(const Values& source, const Values& destination, std::uint64_t rows,
               std::uint64_t columns, std::uint64_t source_stride, std::uint64_t destination_stride,
               std::uint64_t source_offset, std::uint64_t destination_offset) {
  Values result = destination;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      result.at.at(destination_offset + row * destination_stride + column) =
          source.at.at(source_offset + row * source_stride + column);
    }
  }
  return result;
}

}  // namespace hiptool::reference
