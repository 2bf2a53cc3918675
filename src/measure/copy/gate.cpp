// SPDX-License-Identifier: MIT
#include "measure/copy/gate.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/call.hpp"
#include "hiptool/kernel.hpp"

namespace hiptool::measure {
namespace {

// A device needs about a microsecond to read host memory, less if both share a cache.
constexpr std::uint64_t usual_spins_per_ms = 1000;
constexpr std::uint64_t most_spins_per_ms = 100'000;
constexpr std::uint64_t spins_step = 10;

std::uint32_t* flag_of(PinnedBuffer& flag) { return reinterpret_cast<std::uint32_t*>(flag.data()); }

}  // namespace

struct Gate::Waiter {
  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = true;

  void set(bool open) {
    {
      const std::lock_guard lock(mutex);
      is_open = open;
    }
    opened.notify_all();
  }
};

Gate::Gate(const DeviceTools& tools, std::chrono::milliseconds limit)
    : stream_(tools.device()),
      opened_(tools.device()),
      limit_(limit),
      kernel_(tools.gate()),
      spins_per_ms_(usual_spins_per_ms) {
  if (kernel_) flag_.emplace(tools.device(), sizeof(std::uint32_t));
  if (tools.device().platform() == Platform::cpu) waiter_ = std::make_shared<Waiter>();
}

Gate::~Gate() {
  open();
  core::settle(stream_);  // the kernel reads the flag
}

void Gate::close(bool holds) {
  is_closed_ = holds && can_close();
  closed_at_ = std::chrono::steady_clock::now();
  if (is_closed_ && waiter_) {
    waiter_->set(false);
    stream_.launch_host_function([waiter = waiter_, limit = limit_] {
      std::unique_lock lock(waiter->mutex);
      waiter->opened.wait_for(lock, limit, [&] { return waiter->is_open; });
    });
  } else if (is_closed_) {
    std::atomic_ref(*flag_of(*flag_)).store(0);
    launch(*kernel_, {{1}, {1}}, stream_, static_cast<const void*>(flag_->data()),
           static_cast<std::uint64_t>(limit_.count()) * spins_per_ms_);
  }
  opened_.record(stream_);
}

bool Gate::lengthen() {
  const bool is_early = std::chrono::steady_clock::now() - closed_at_ < limit_;
  if (!kernel_ || !is_early || spins_per_ms_ >= most_spins_per_ms) return false;
  spins_per_ms_ *= spins_step;
  return true;
}

void Gate::open() noexcept {
  if (!is_closed_) return;
  is_closed_ = false;
  if (waiter_) waiter_->set(true);
  if (flag_) std::atomic_ref(*flag_of(*flag_)).store(1);
}

}  // namespace hiptool::measure
