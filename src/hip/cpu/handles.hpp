// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace hiptool::hip::cpu {

/// The live objects of one kind of handle. A handle is a number that is never used again, so one
/// that was destroyed stays invalid, whatever is created afterwards.
template <class Handle, class Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    next_ += step;
    live_.emplace(next_, std::move(object));
    return reinterpret_cast<Handle>(next_);
  }

  /// Null when there is no such object.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == live_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Object> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto node = live_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }

 private:
  static constexpr std::uintptr_t step = 16;

  mutable std::mutex mutex_;
  std::uintptr_t next_ = 0x1000;  // above the numbers HIP gives a meaning (1 and 2)
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> live_;
};

}  // namespace hiptool::hip::cpu
