// SPDX-License-Identifier: MIT
/// Which parts of a piece of memory are free: best fit, and neighbours grow together again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hiptool::core {

/// Keeps account of [0, capacity). It has no lock. Everything is a multiple of `granule_bytes`, so
/// what remains of a free range is always a free range and no byte gets lost.
class FreeRanges {
 public:
  static constexpr std::uint64_t granule_bytes = 256;

  /// The memory starts at this address; alignments are of addresses. Both are multiples of
  /// the granule.
  FreeRanges(std::uint64_t base_address, std::uint64_t capacity_bytes);

  /// Takes the size, a positive multiple of the granule, out of the smallest free range that can
  /// hold it at an address that is a multiple of the alignment (a power of two, at least the
  /// granule). Its offset, or nothing where no range can. Strong exception guarantee.
  std::optional<std::uint64_t> take(std::uint64_t size_bytes, std::uint64_t alignment_bytes);

  /// Frees the block that take() returned. Allocates no memory, so it cannot fail.
  void give_back(std::uint64_t offset) noexcept;

  std::uint64_t largest_bytes() const noexcept;
  std::size_t count() const noexcept { return free_.size(); }  ///< of free ranges

 private:
  using BySize = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // size and offset
  struct Block {
    std::uint64_t size_bytes = 0;
    BySize::node_type spare;  // of a taken block: the node that it needs to become free
  };
  using Blocks = std::map<std::uint64_t, Block>;

  struct Place {
    BySize::iterator range;
    std::uint64_t front_bytes;  // left free before the block, for its alignment
  };
  std::optional<Place> find(std::uint64_t size_bytes, std::uint64_t alignment_bytes) const;

  std::uint64_t base_address_;
  Blocks blocks_;  // all, by offset
  BySize free_;
};

}  // namespace hiptool::core
