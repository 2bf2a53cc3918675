// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include "base/text.hpp"
#include "core/platform_state.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"

namespace hiptool {
namespace {

constexpr std::size_t platform_count = 3;

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string_view to_string(Platform platform) noexcept {
  switch (platform) {
    case Platform::amd: return "amd";
    case Platform::nvidia: return "nvidia";
    case Platform::cpu: return "cpu";
  }
  return "cpu";
}

Platforms::Options Platforms::Options::from_environment() {
  Options options;
  options.hip_library = environment_text("HIPTOOL_HIP_LIBRARY");
  options.cuda_library = environment_text("HIPTOOL_CUDA_LIBRARY");
  if (const std::string count = environment_text("HIPTOOL_CPU_DEVICES"); !count.empty()) {
    const auto value = base::parse_number<int>(count);
    if (!value || *value < 1 || *value > 64) {
      throw Error(ErrorCode::invalid_argument, "read environment",
                  "HIPTOOL_CPU_DEVICES is '" + count + "', not a number from 1 to 64",
                  "set it to how many cpu devices are wanted, or unset it");
    }
    options.cpu_devices = *value;
  }
  return options;
}

struct Platforms::Impl {
  struct Entry {
    std::mutex mutex;  // held while it is opened: the others wait
    bool is_open = false;
    PlatformStatus status;
    std::shared_ptr<const core::PlatformState> state;  // null unless usable
  };

  Options options;
  std::shared_ptr<hip::Binder> binder;
  std::array<Entry, platform_count> entries;

  Entry& open(Platform platform) {
    const auto place = static_cast<std::size_t>(platform);
    if (place >= entries.size()) {
      throw Error(ErrorCode::invalid_argument, "open platform",
                  std::to_string(static_cast<int>(platform)) + " is not a platform");
    }
    Entry& entry = entries[place];
    // Not call_once: one that throws hangs the next under the thread sanitizer.
    const std::lock_guard lock(entry.mutex);
    if (entry.is_open) return entry;
    hip::BindRequest request;
    if (platform == Platform::amd) request.library = options.hip_library;
    if (platform == Platform::nvidia) request.library = options.cuda_library;
    request.system_root = options.system_root;
    request.cpu_devices = options.cpu_devices;
    request.hides_devices = !options.nvidia_ordinals.empty();
    hip::Binding binding = binder->bind(platform, request);
    entry.status = std::move(binding.status);
    if (entry.status.usable) {
      // More devices than ordinals: the variable had no effect, and the driver's numbers are right.
      const auto devices = static_cast<std::size_t>(std::max(0, entry.status.device_count));
      const bool has_ordinals =
          platform == Platform::nvidia && devices <= options.nvidia_ordinals.size();
      entry.state = std::make_shared<const core::PlatformState>(
          core::PlatformState{platform, binding.api, entry.status.device_count, options.trace,
                              has_ordinals ? options.nvidia_ordinals : std::vector<int>()});
    }
    entry.is_open = true;
    return entry;
  }
};

Platforms::Platforms() : Platforms(Options::from_environment()) {}

Platforms::Platforms(Options options)
    : Platforms(core::make_platforms(std::move(options), hip::make_registry())) {}

Platforms::Platforms(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Platforms core::Access::make_platforms(Platforms::Options options,
                                       std::shared_ptr<hip::Binder> binder) {
  auto impl = std::make_unique<Platforms::Impl>();
  impl->options = std::move(options);
  impl->binder = std::move(binder);
  return Platforms(std::move(impl));
}

Platforms core::make_platforms(Platforms::Options options, std::shared_ptr<hip::Binder> binder) {
  return Access::make_platforms(std::move(options), std::move(binder));
}

Platforms::~Platforms() = default;
Platforms::Platforms(Platforms&&) noexcept = default;
Platforms& Platforms::operator=(Platforms&&) noexcept = default;

Platforms::Impl& Platforms::impl() const {
  if (impl_) return *impl_;
  throw Error(ErrorCode::invalid_argument, "open platform", "the Platforms was moved from");
}

const PlatformStatus& Platforms::status(Platform platform) { return impl().open(platform).status; }

std::vector<Device> Platforms::devices(Platform platform) {
  const Impl::Entry& entry = impl().open(platform);
  std::vector<Device> devices;
  if (entry.state) {
    for (int index = 0; index < entry.state->device_count; ++index) {
      devices.push_back(core::Access::make_device(entry.state, index));
    }
  }
  return devices;
}

const std::string& Platforms::system_root() const { return impl().options.system_root; }

}  // namespace hiptool
