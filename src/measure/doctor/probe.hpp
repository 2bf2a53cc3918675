// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"
#include "measure/doctor/records.hpp"

namespace hiptool::measure {

struct ProbeOptions {
  std::filesystem::path root = "/";
  bool with_copies = true;  ///< read links while copies run and try copies between devices
  std::chrono::milliseconds copy_time{300};  ///< of each device
};

/// Asks one platform in this process: its status, each device, sensors, links under load, peers.
/// Each finding is told as soon as it is there, and before a step that may hang a step record.
void probe_platform(Platforms& platforms, Platform platform, const ProbeOptions& options,
                    const std::function<void(const Record&)>& tell);

/// The same without a second process, which a driver that hangs would block.
ProbeResult probe_here(Platforms& platforms, Platform platform, const ProbeOptions& options);

/// Asks each platform in a process of its own, all at once: `program probe-platform NAME ROOT`. One
/// that tells nothing for `patience` is ended and reported as hung, one that ends by a signal as
/// crashed; what they told before stands. Never waits for a process that cannot be ended. Throws
/// Error(cancelled).
std::vector<ProbeResult> probe_in_children(const std::filesystem::path& program,
                                           const std::vector<Platform>& platforms,
                                           const ProbeOptions& options,
                                           std::chrono::milliseconds patience,
                                           const CancelToken& cancel);

}  // namespace hiptool::measure
