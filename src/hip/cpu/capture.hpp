// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hip/abi.hpp"

namespace hiptool::hip::cpu {

/// What a graph does, in this order.
using GraphWork = std::vector<std::function<void()>>;

/// What a stream has recorded so far.
struct Recording {
  std::thread::id thread;
  GraphWork work;
  bool is_spoilt = false;
};

/// A stream's recording, while there is one. Only work of the stream itself is recorded: events and
/// waits are refused, which HIP's runtimes take as dependencies, since nothing here joins streams.
class Capture {
 public:
  hipError_t begin();
  /// Ends it on the thread that began it; the work is empty unless all went well.
  hipError_t end(GraphWork& work);

  /// The answer to a call that cannot be recorded, which spoils the recording; hipSuccess where
  /// there is none.
  hipError_t refuse();
  /// Keeps the work and says how that went; nothing, and it is to be queued, where nothing records.
  std::optional<hipError_t> add(std::function<void()>& run);

 private:
  std::mutex mutex_;
  std::optional<Recording> recording_;
};

}  // namespace hiptool::hip::cpu
