// SPDX-License-Identifier: MIT
#include "core/default_device.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "hiptool/error.hpp"
#include "system/pci.hpp"

namespace hiptool {
namespace {

/// Memory within this share of the largest counts as equal: boards of one model differ by what
/// their firmware reserves.
constexpr double equal_share = 0.95;

struct Candidate {
  Device device;
  bool is_integrated;
  std::uint64_t memory_bytes;
};

std::uint32_t vendor_of(Platform platform) {
  return platform == Platform::amd ? system::vendor_amd : system::vendor_nvidia;
}

bool has_hardware(Platforms& platforms, Platform platform) {
  return !system::identify_gpus(platforms.system_root(), vendor_of(platform)).empty();
}

void add_candidates(std::vector<Candidate>& candidates, Platforms& platforms, Platform platform) {
  for (const Device& device : platforms.devices(platform)) {
    if (core::is_lost(device)) continue;
    const DeviceInfo info = device.info();
    candidates.push_back(
        {device, info.integrated.value_or(false), info.memory_total_bytes.value_or(0)});
  }
}

/// Both vendors' GPUs. The search for a runtime whose hardware is not there takes tens of
/// milliseconds, so that one is left out unless the other has no device.
std::vector<Candidate> list_candidates(Platforms& platforms) {
  std::vector<Candidate> candidates;
  std::array vendors{Platform::amd, Platform::nvidia};
  const bool has_amd = has_hardware(platforms, Platform::amd);
  const bool has_nvidia = has_hardware(platforms, Platform::nvidia);
  if (has_nvidia && !has_amd) std::swap(vendors[0], vendors[1]);
  add_candidates(candidates, platforms, vendors[0]);
  if (candidates.empty() || has_amd == has_nvidia) {
    add_candidates(candidates, platforms, vendors[1]);
  }
  return candidates;
}

core::DefaultDevice choose_among(const std::vector<Candidate>& candidates) {
  const bool has_discrete = std::ranges::any_of(
      candidates, [](const Candidate& candidate) { return !candidate.is_integrated; });
  std::vector<const Candidate*> eligible;
  std::uint64_t most_bytes = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.is_integrated == has_discrete) continue;
    eligible.push_back(&candidate);
    most_bytes = std::max(most_bytes, candidate.memory_bytes);
  }
  std::vector<const Candidate*> largest;
  for (const Candidate* candidate : eligible) {
    const bool is_largest = static_cast<double>(candidate->memory_bytes) >=
                            equal_share * static_cast<double>(most_bytes);
    if (is_largest) largest.push_back(candidate);
  }
  const Candidate& chosen =
      **std::ranges::min_element(largest, [](const Candidate* left, const Candidate* right) {
        return std::pair(left->device.ordinal(), left->device.platform()) <
               std::pair(right->device.ordinal(), right->device.platform());
      });
  const std::string kind = has_discrete ? "discrete" : "integrated";
  std::string reason;
  if (largest.size() < eligible.size()) {
    reason = "the " + kind + " GPU with the most memory";
  } else if (largest.size() > 1) {
    reason = "the first of " + std::to_string(largest.size()) + " GPUs with equal memory";
  } else if (candidates.size() > 1) {
    reason = "the only discrete GPU";
  }
  return {chosen.device, reason};
}

Error no_default(const std::string& what, const PlatformStatus& status) {
  return Error(ErrorCode::unavailable, "find device",
               what + ": " + (status.reason.empty() ? "no device" : status.reason), status.hint);
}

}  // namespace

core::DefaultDevice core::choose_default(Platforms& platforms, std::optional<Platform> only) {
  std::vector<Candidate> candidates;
  if (only) {
    add_candidates(candidates, platforms, *only);
    if (*only == Platform::cpu && !candidates.empty()) return {candidates.front().device, {}};
  } else {
    candidates = list_candidates(platforms);
  }
  if (!candidates.empty()) return choose_among(candidates);
  if (only) {
    throw no_default("platform " + std::string(to_string(*only)) + " is not usable",
                     platforms.status(*only));
  }
  for (const system::PciDevice& gpu : system::list_gpus(platforms.system_root())) {
    const Platform platform = gpu.vendor == system::vendor_amd ? Platform::amd : Platform::nvidia;
    throw no_default("the GPU at " + gpu.bus_id + " cannot be used", platforms.status(platform));
  }
  return {find_device(platforms, "cpu:0"), {}};
}

Device default_device(Platforms& platforms) { return core::choose_default(platforms).device; }

}  // namespace hiptool
