// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hiptool::hip {

/// Keeps an object to the end of the process: what a vendor's library may use for as long as it is
/// loaded, and libraries are never unloaded. It stays reachable, so that a leak checker knows it.
template <class Object>
Object& keep_forever(std::unique_ptr<Object> object) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Object>>;
  const std::lock_guard lock(mutex);
  return *kept->emplace_back(std::move(object));
}

}  // namespace hiptool::hip
