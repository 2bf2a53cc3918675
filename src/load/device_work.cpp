// SPDX-License-Identifier: MIT
#include "load/device_work.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "hiptool/device.hpp"
#include "load/workers.hpp"

namespace hiptool::load {

void run_for_devices(
    const LoadPlan& plan, const std::vector<bool>& takes_part, LoadObserver* observer,
    const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work) {
  std::vector<std::string> waiting;
  for (std::size_t i = 0; i < takes_part.size(); ++i) {
    if (takes_part[i]) waiting.push_back(plan.devices[i].device.id());
  }
  const bool is_observed = observer != nullptr && waiting.size() > 1;
  std::mutex mutex;
  run_for_each(takes_part.size(), [&](std::size_t i, const std::atomic<bool>& stop) {
    if (!takes_part[i]) return;
    work(i, stop);
    if (!is_observed) return;
    const std::lock_guard lock(mutex);
    waiting.erase(std::ranges::find(waiting, plan.devices[i].device.id()));
    observer->on_waiting(waiting);
  });
}

}  // namespace hiptool::load
