// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>

#include "hiptool/load.hpp"

namespace hiptool::test {

/// Keeps the highest progress, because threads report theirs in any order.
class HighestProgress : public LoadObserver {
 public:
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    std::uint64_t seen = highest_.load();
    while (seen < done_bytes && !highest_.compare_exchange_weak(seen, done_bytes)) {
    }
    total_.store(total_bytes);
  }
  std::uint64_t highest() const { return highest_.load(); }
  std::uint64_t total() const { return total_.load(); }

 private:
  std::atomic<std::uint64_t> highest_{0};
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace hiptool::test
