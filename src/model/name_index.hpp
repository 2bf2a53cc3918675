// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// Finds tensors of a vector by name. It keeps positions instead of views, so the vector may grow
/// while names are added: duplicates are seen during parsing, at 16 bytes a tensor.
class NameIndex {
 public:
  /// Adds the tensor at that position; false when another one has its name.
  bool insert(const std::vector<TensorInfo>& tensors, std::size_t position);
  const TensorInfo* find(const std::vector<TensorInfo>& tensors,
                         std::string_view name) const noexcept;
  void clear() noexcept;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = empty;
  };
  static constexpr std::uint32_t empty = UINT32_MAX;

  static std::uint32_t hash_of(std::string_view name) noexcept;
  std::size_t slot_of(const std::vector<TensorInfo>& tensors, std::uint32_t hash,
                      std::string_view name) const noexcept;
  void grow();

  std::vector<Slot> slots_;  // a power of two in number, at most half of them taken
  std::size_t used_ = 0;
};

}  // namespace hiptool::model
