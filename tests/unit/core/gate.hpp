// SPDX-License-Identifier: MIT
/// Holds a stream until it is opened.
#pragma once
#include <future>
#include <memory>

#include "hiptool/stream.hpp"

namespace hiptool::test {

/// Work queued on the stream after the gate waits for open(). While a gate is closed nothing may
/// wait for the device, so nothing may be freed by the runtime either.
class Gate {
 public:
  explicit Gate(const StreamRef& stream) {
    stream.launch_host_function([opened = opened_.get_future().share()] { opened.wait(); });
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!is_open_) opened_.set_value();
    is_open_ = true;
  }

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
};

}  // namespace hiptool::test
