// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// What the checks of a layout need of a tensor; small, as there may be millions of them in a
/// header that is refused in the end.
struct TensorRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t header_offset : 62 = 0;  ///< of the entry, where its name can be read again
  std::uint64_t is_opaque : 1 = 0;       ///< what it takes is not known from its type
  std::uint64_t has_elements : 1 = 0;
};

/// A range whose header offset fits its field, as in real files.
inline TensorRange make_range(std::uint64_t offset, std::uint64_t size_bytes,
                              std::uint64_t header_offset, bool is_opaque, bool has_elements) {
  return {offset, size_bytes, header_offset & (~std::uint64_t{0} >> 2), is_opaque ? 1u : 0u,
          has_elements ? 1u : 0u};
}

/// The name of the tensor with its entry at that offset, for a message.
using NameAt = std::function<std::string(std::uint64_t header_offset)>;

/// Brings ranges into the order of their data; empty tensors come before others at the same
/// offset.
void sort_by_offset(std::vector<TensorRange>& ranges);
/// The same for the tensors from that position on, which are of one file.
void sort_by_offset(Contents& contents, std::size_t first);

/// Enters the names of the tensors from that position on into the index. Refuses one that is there
/// already, in this file or in one before; with `copies` the positions of the latter go there, and
/// the index has the first of a name. The ranges are theirs, in the same order.
void index_names(Contents& contents, std::size_t first, const std::vector<TensorRange>& ranges,
                 const Diagnostics& diagnostics, std::vector<std::size_t>* copies = nullptr);

}  // namespace hiptool::model
