// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "hiptool/load.hpp"
#include "hiptool/load_plan.hpp"

namespace hiptool::load {

/// run_for_each() of the devices of a plan that take part. Where several do, the observer, which
/// may be null, gets those that are not done each time one ends.
void run_for_devices(const LoadPlan& plan, const std::vector<bool>& takes_part,
                     LoadObserver* observer,
                     const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work);

}  // namespace hiptool::load
