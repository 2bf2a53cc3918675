// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cmath>

#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/units.hpp"
#include "load/place/check_layout.hpp"
#include "load/place/margin.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

std::uint64_t margin_of(const DevicePlan& part) {
  if (part.layout.arena_bytes == 0) return 0;
  return load::margin_bytes(part.layout.arena_bytes, part.device.is_host_memory());
}

std::uint64_t needed_by(const DevicePlan& part) {
  std::uint64_t needed = 0;
  const bool overflows = __builtin_add_overflow(part.layout.arena_bytes, margin_of(part), &needed);
  return overflows ? UINT64_MAX : needed;
}

// The processor's devices take from one memory, so each leaves less to the next.
std::vector<std::uint64_t> free_for(const LoadPlan& plan, std::span<const MemoryInfo> memory) {
  std::vector<std::uint64_t> free;
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const std::uint64_t whole = memory[i].free_bytes;
    if (!plan.devices[i].device.is_host_memory()) {
      free.push_back(whole);
      continue;
    }
    free.push_back(whole - std::min(whole, taken));
    taken += std::min(needed_by(plan.devices[i]), UINT64_MAX - taken);
  }
  return free;
}

std::vector<std::size_t> parts_too_large(const LoadPlan& plan,
                                         std::span<const std::uint64_t> free) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    if (needed_by(plan.devices[i]) > free[i]) found.push_back(i);
  }
  return found;
}

std::string shortfall_text(const DevicePlan& part, std::uint64_t free_bytes,
                           std::uint64_t total_bytes) {
  return format_size(part.layout.arena_bytes) + " and a margin of " + format_size(margin_of(part)) +
         " on " + part.device.id() + ", where " + format_size(free_bytes) + " of " +
         format_size(total_bytes) + " are free: " + format_size(needed_by(part) - free_bytes) +
         " too little";
}

// Whole percents that lead to about the same cuts; devices with little still get one.
std::string proportions_text(const LoadPlan& plan, std::uint64_t tensor_bytes) {
  std::string text;
  for (const DevicePlan& part : plan.devices) {
    const double share = static_cast<double>(part.layout.tensor_bytes) /
                         static_cast<double>(std::max<std::uint64_t>(tensor_bytes, 1));
    text += (text.empty() ? "" : ",") + std::to_string(std::max(1L, std::lround(100 * share)));
  }
  return text;
}

// A split by bytes that holds the model, in words; empty where there is none.
std::string find_split(const ModelFile& model, std::span<const Device> devices,
                       std::span<const MemoryInfo> memory) {
  if (devices.size() < 2) return {};
  const LoadPlan plan = plan_load(model, devices, {}, memory);
  std::vector<std::uint64_t> free;
  for (const MemoryInfo& one : memory) free.push_back(one.free_bytes);
  if (!parts_too_large(plan, free).empty()) return {};
  std::string ids;
  for (const Device& device : devices) ids += (ids.empty() ? "" : ",") + device.id();
  return "split it: --device " + ids + " --split bytes (about " +
         proportions_text(plan, model.tensor_bytes()) + ") holds it; or ";
}

std::string hint_for(const ModelFile& model, const LoadPlan& plan, std::span<const Device> others) {
  std::vector<Device> devices;
  for (const DevicePlan& part : plan.devices) devices.push_back(part.device);
  std::vector<MemoryInfo> memory = read_memory(devices);
  std::string split = find_split(model, devices, memory);
  if (split.empty()) {
    for (const Device& device : others) {
      if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
      const std::uint64_t total = device.info().memory_total_bytes.value_or(0);
      devices.push_back(device);
      memory.push_back({total, total});
    }
    if (devices.size() > plan.devices.size()) split = find_split(model, devices, memory);
  }
  return split + "free memory on the device, or choose a larger one or a smaller model";
}

}  // namespace

std::vector<MemoryInfo> read_memory(std::span<const Device> devices) {
  const auto in_host = static_cast<std::uint64_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const Device& device) { return device.is_host_memory(); }));
  std::vector<MemoryInfo> memory(devices.size());
  // To start a device takes some 0.1 s, so all start at once.
  load::run_for_each(devices.size(), [&](std::size_t i, const std::atomic<bool>&) {
    memory[i] = devices[i].memory();
    if (devices[i].is_host_memory()) memory[i].free_bytes /= in_host;
  });
  return memory;
}

void check_fit(const ModelFile& model, const LoadPlan& plan, std::span<const Device> others) {
  load::check_plan(model, plan, "plan load");
  std::vector<MemoryInfo> memory;
  for (const DevicePlan& part : plan.devices) memory.push_back(part.device.memory());
  const std::vector<std::uint64_t> free = free_for(plan, memory);
  const std::vector<std::size_t> wrong = parts_too_large(plan, free);
  if (wrong.empty()) return;
  std::string text = "the model needs ";
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (i > 0) text += "; and ";
    const std::size_t part = wrong[i];
    text += shortfall_text(plan.devices[part], free[part], memory[part].total_bytes);
  }
  throw Error(ErrorCode::out_of_memory, "plan load", text, hint_for(model, plan, others));
}

}  // namespace hiptool
