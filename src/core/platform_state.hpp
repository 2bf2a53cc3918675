// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/lost_devices.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"

namespace hiptool {
class Module;
}

namespace hiptool::core {

/// What each device told of itself: some of a driver's answers take half a millisecond each, and no
/// property changes while a process runs.
struct KnownDevices {
  std::mutex mutex;
  std::map<int, DeviceInfo> infos;  // by the runtime's number
};

/// State that the devices of one bound platform share. Held by every Device, so it lives as long as
/// any object made on one.
struct PlatformState {
  Platform platform = Platform::cpu;
  const hip::Api* api = nullptr;
  int device_count = 0;
  std::shared_ptr<TraceSink> trace;
  std::vector<int> ordinals = {};  // of the ids; empty: the runtime's
  std::unique_ptr<LostDevices> lost_devices = std::make_unique<LostDevices>(device_count);
  std::unique_ptr<KnownDevices> known_devices = std::make_unique<KnownDevices>();

  void note(std::string_view source, std::string_view text) const noexcept {
    if (trace) trace->note(source, text);
  }
};

struct ModuleState;

/// The library's access to private members of public classes.
struct Access {
  static const PlatformState& state(const Device& device) noexcept { return *device.state_; }
  static const ModuleState& state(const Module& module) noexcept;
  static Platforms make_platforms(Platforms::Options options, std::shared_ptr<hip::Binder> binder);
  static Device make_device(std::shared_ptr<const PlatformState> state, int ordinal);
};

inline const PlatformState& state_of(const Device& device) noexcept {
  return Access::state(device);
}

/// The HIP table of the device's platform.
inline const hip::Api& api_of(const Device& device) noexcept { return *state_of(device).api; }

/// Platforms with tables of another binder, such as one that traces or fails calls.
Platforms make_platforms(Platforms::Options options, std::shared_ptr<hip::Binder> binder);

}  // namespace hiptool::core
