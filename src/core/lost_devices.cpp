// SPDX-License-Identifier: MIT
#include "core/lost_devices.hpp"

namespace hiptool::core {

bool LostDevices::is_lost(int ordinal) const noexcept {
  const auto index = static_cast<std::size_t>(ordinal);
  return index < entries_.size() && entries_[index].is_lost.load(std::memory_order_acquire);
}

void LostDevices::mark(int ordinal, const std::optional<Error>& failure) noexcept {
  const auto index = static_cast<std::size_t>(ordinal);
  if (index >= entries_.size()) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[index];
  if (entry.is_lost.load(std::memory_order_relaxed)) return;
  entry.failure = failure;
  entry.is_lost.store(true, std::memory_order_release);
}

std::optional<Error> LostDevices::first_failure(int ordinal) const {
  const auto index = static_cast<std::size_t>(ordinal);
  if (index >= entries_.size()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return entries_[index].failure;
}

}  // namespace hiptool::core
