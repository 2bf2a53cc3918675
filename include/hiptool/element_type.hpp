// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "hiptool/export.hpp"

namespace hiptool {

/// How a model file stores the elements of a tensor: what it calls the type, and how many elements
/// share a block of how many bytes. This is a file's type, apart from the types that kernels
/// compute with. A cheap value that points into a constant table; that of an unknown type, which
/// ModelOptions::opaque lets pass, points into its ModelFile and lives as long as that.
class HIPTOOL_API ElementType {
 public:
  struct Entry {
    std::string_view name;         ///< the format's own name: "Q4_K", "BF16", "F8_E4M3"
    std::uint32_t block_elements;  ///< elements in a block, 1 for plain types
    std::uint32_t block_bits;      ///< bits of a block; 8 x bytes except for F6 and F4; 0: unknown
    friend constexpr bool operator==(const Entry&, const Entry&) = default;
  };

  explicit constexpr ElementType(const Entry& entry) noexcept : entry_(&entry) {}

  std::string_view name() const noexcept { return entry_->name; }
  std::uint32_t block_elements() const noexcept { return entry_->block_elements; }
  std::uint32_t block_bits() const noexcept { return entry_->block_bits; }

  friend bool operator==(ElementType left, ElementType right) noexcept {
    return *left.entry_ == *right.entry_;
  }

 private:
  const Entry* entry_;
};

}  // namespace hiptool
