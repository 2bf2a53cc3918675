// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::core {

/// The devices of a platform on which a call failed with a sticky error: HIP and CUDA demand a new
/// process then, so only releases are still called on them. Safe to use from many threads.
class LostDevices {
 public:
  explicit LostDevices(int device_count) : entries_(static_cast<std::size_t>(device_count)) {}

  /// Cheap enough for a check before every call. False for an ordinal without a device.
  bool is_lost(int ordinal) const noexcept;

  /// Only the first failure of a device is kept. No error: there was no memory to build one.
  void mark(int ordinal, const std::optional<Error>& failure) noexcept;

  std::optional<Error> first_failure(int ordinal) const;

 private:
  struct Entry {
    std::atomic<bool> is_lost{false};
    std::optional<Error> failure;
  };

  mutable std::mutex mutex_;  // for the failures
  std::vector<Entry> entries_;
};

}  // namespace hiptool::core
