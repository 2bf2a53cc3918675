// SPDX-License-Identifier: MIT
#include "model/name_index.hpp"

#include <functional>
#include <utility>

namespace hiptool::model {

std::uint32_t NameIndex::hash_of(std::string_view name) noexcept {
  const std::uint64_t wide = std::hash<std::string_view>{}(name);
  return static_cast<std::uint32_t>(wide ^ (wide >> 32));
}

std::size_t NameIndex::slot_of(const std::vector<TensorInfo>& tensors, std::uint32_t hash,
                               std::string_view name) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t index = hash & mask;
  while (slots_[index].position != empty) {
    const Slot& slot = slots_[index];
    if (slot.hash == hash && tensors[slot.position].name == name) break;
    index = (index + 1) & mask;
  }
  return index;
}

bool NameIndex::insert(const std::vector<TensorInfo>& tensors, std::size_t position) {
  if ((used_ + 1) * 2 > slots_.size()) grow();
  const std::string_view name = tensors[position].name;
  const std::uint32_t hash = hash_of(name);
  Slot& slot = slots_[slot_of(tensors, hash, name)];
  if (slot.position != empty) return false;
  slot = {hash, static_cast<std::uint32_t>(position)};
  ++used_;
  return true;
}

const TensorInfo* NameIndex::find(const std::vector<TensorInfo>& tensors,
                                  std::string_view name) const noexcept {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(tensors, hash_of(name), name)];
  return slot.position == empty ? nullptr : &tensors[slot.position];
}

void NameIndex::clear() noexcept {
  slots_.clear();
  used_ = 0;
}

void NameIndex::grow() {
  std::vector<Slot> larger(slots_.empty() ? 64 : slots_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.position == empty) continue;
    std::size_t index = slot.hash & mask;
    while (larger[index].position != empty) index = (index + 1) & mask;
    larger[index] = slot;
  }
  slots_ = std::move(larger);
}

}  // namespace hiptool::model
