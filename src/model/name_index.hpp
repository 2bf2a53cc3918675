// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hiptool::model {

/// Hash of a name with a new seed for each process: nobody can write a file whose
/// names all fall together.
std::uint64_t wide_hash_of_name(std::string_view name) noexcept;
inline std::uint32_t hash_of_name(std::string_view name) noexcept {
  const std::uint64_t wide = wide_hash_of_name(name);
  return static_cast<std::uint32_t>(wide ^ (wide >> 32));
}

/// Finds items of a vector by their `name`. It keeps positions instead of views, so the vector may
/// grow while names are added: duplicates are seen during parsing, at 16 bytes an item.
template <typename Item>
class NameIndex {
 public:
  /// Adds the item at that position; false when another one has its name.
  bool insert(const std::vector<Item>& items, std::size_t position) {
    reserve(used_ + 1);
    const std::string_view name = items[position].name;
    const std::uint32_t hash = hash_of_name(name);
    Slot& slot = slots_[slot_of(items, hash, name)];
    if (slot.position != empty) return false;
    slot = {hash, static_cast<std::uint32_t>(position)};
    ++used_;
    return true;
  }

  const Item* find(const std::vector<Item>& items, std::string_view name) const noexcept {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(items, hash_of_name(name), name)];
    return slot.position == empty ? nullptr : &items[slot.position];
  }

  /// Reserves memory for that many items at once.
  void reserve(std::size_t count) {
    if (slots_.size() < count * 2) grow(count);
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = empty;
  };
  static constexpr std::uint32_t empty = UINT32_MAX;

  std::size_t slot_of(const std::vector<Item>& items, std::uint32_t hash,
                      std::string_view name) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t index = hash & mask;
    while (slots_[index].position != empty) {
      const Slot& slot = slots_[index];
      if (slot.hash == hash && items[slot.position].name == name) break;
      index = (index + 1) & mask;
    }
    return index;
  }

  void grow(std::size_t count) {
    std::vector<Slot> larger(std::bit_ceil(std::max<std::size_t>(count * 2, 64)));
    const std::size_t mask = larger.size() - 1;
    for (const Slot& slot : slots_) {
      if (slot.position == empty) continue;
      std::size_t index = slot.hash & mask;
      while (larger[index].position != empty) index = (index + 1) & mask;
      larger[index] = slot;
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // a power of two in number, at most half of them taken
  std::size_t used_ = 0;
};

}  // namespace hiptool::model
