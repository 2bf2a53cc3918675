// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>

#include "hip/api.hpp"
#include "hip/cpu/accounting.hpp"

namespace hiptool::hip::cpu::test {

/// A table with this many devices; the current device is 0 again.
const Api& bound(int devices = 1);

/// Checks at its end that as much is alive as at its start. Declare it first.
class NothingLeaks {
 public:
  NothingLeaks();
  ~NothingLeaks();
  NothingLeaks(const NothingLeaks&) = delete;
  NothingLeaks& operator=(const NothingLeaks&) = delete;

 private:
  Accounting before_;
};

/// Holds up a stream until it is opened; gives up by itself only where the test hangs.
class Gate {
 public:
  Gate() = default;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void block(const Api& api, hipStream_t stream);
  void open() { open_ = true; }
  bool holds() const { return !left_; }

 private:
  static void pass(void* self);

  std::atomic<bool> blocks_{false};
  std::atomic<bool> open_{false};
  std::atomic<bool> left_{false};
};

hipStream_t make_stream(const Api& api, unsigned flags = hipStreamNonBlocking);
void* make_memory(const Api& api, std::size_t bytes);

}  // namespace hiptool::hip::cpu::test
