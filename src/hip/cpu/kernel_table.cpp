// SPDX-License-Identifier: MIT
#include "hip/cpu/kernel_table.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "hip/cpu/kernel_settings.hpp"

namespace hiptool::hip::cpu {
namespace {

/// The kernel and native function of one name; owns the data of the kernel's views.
struct TableEntry {
  std::vector<KernelArgument> arguments;
  CpuKernel kernel;
  NativeKernel native = nullptr;
};

/// Entries never move and never go.
struct Table {
  std::mutex mutex;
  std::map<std::string, TableEntry, std::less<>> entries;
};

/// Sources register themselves before main, in any order; never destroyed, as workers may still
/// look into it at the end.
Table& table() {
  static auto* const instance = new Table;
  return *instance;
}

std::atomic<KernelPath> path_of_process{KernelPath::native};
std::atomic<unsigned> warp_size_of_process{32};

[[noreturn]] void refuse(std::string_view name, const char* why) {
  throw std::logic_error("the cpu kernel \"" + std::string(name) + "\" " + why);
}

}  // namespace

void register_kernel(const CpuKernel& kernel) {
  if (kernel.name.empty() || kernel.run_thread == nullptr) refuse(kernel.name, "is incomplete");
  const std::lock_guard lock(table().mutex);
  const auto place = table().entries.try_emplace(std::string(kernel.name)).first;
  TableEntry& entry = place->second;
  if (entry.kernel.run_thread != nullptr) refuse(kernel.name, "is already registered");
  entry.arguments.assign(kernel.arguments.begin(), kernel.arguments.end());
  entry.kernel = {place->first, entry.arguments, kernel.run_thread, kernel.static_shared_bytes};
}

void register_native(std::string_view name, NativeKernel function) {
  if (name.empty() || function == nullptr) refuse(name, "has an incomplete native function");
  const std::lock_guard lock(table().mutex);
  TableEntry& entry = table().entries.try_emplace(std::string(name)).first->second;
  if (entry.native != nullptr) refuse(name, "already has a native function");
  entry.native = function;
}

const CpuKernel* find_kernel(std::string_view name) noexcept {
  const std::lock_guard lock(table().mutex);
  const auto found = table().entries.find(name);
  if (found == table().entries.end() || found->second.kernel.run_thread == nullptr) return nullptr;
  return &found->second.kernel;
}

NativeKernel find_native(std::string_view name) noexcept {
  const std::lock_guard lock(table().mutex);
  const auto found = table().entries.find(name);
  return found == table().entries.end() ? nullptr : found->second.native;
}

void set_kernel_path(KernelPath path) noexcept { path_of_process.store(path); }

KernelPath kernel_path() noexcept { return path_of_process.load(); }

void set_warp_size(unsigned lanes) {
  if (lanes != 32 && lanes != 64) throw std::invalid_argument("a warp has 32 or 64 lanes");
  warp_size_of_process.store(lanes);
}

unsigned warp_size() noexcept { return warp_size_of_process.load(); }

}  // namespace hiptool::hip::cpu
