// SPDX-License-Identifier: MIT
#include "hip/cpu/kernel_table.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
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

/// Filled before main(), in any order. The build has some 1000 kernels.
struct StaticTable {
  static constexpr std::size_t most = 8192;
  std::array<StaticKernel, most> kernels;
  std::size_t count;
  std::size_t registered;  ///< of them, under the lock of the table
};
constinit StaticTable static_table{};

void add_kernel(Table& table, const CpuKernel& kernel);

void register_noted(Table& table) {
  while (static_table.registered < static_table.count) {
    const StaticKernel& noted = static_table.kernels[static_table.registered++];
    std::vector<KernelArgument> arguments;
    for (std::size_t place = 0; place < noted.argument_count; ++place) {
      arguments.push_back(noted.argument(noted.table, place));
    }
    add_kernel(table, {noted.name, arguments, noted.run_thread});
  }
}

/// Never destroyed, as workers may still look into it at the end.
Table& table() {
  static auto* const instance = new Table;
  return *instance;
}

std::atomic<KernelPath> path_of_process{KernelPath::native};
std::atomic<unsigned> warp_size_of_process{32};

[[noreturn]] void refuse(std::string_view name, const char* why) {
  throw std::logic_error("the cpu kernel \"" + std::string(name) + "\" " + why);
}

void add_kernel(Table& table, const CpuKernel& kernel) {
  if (kernel.name.empty() || kernel.run_thread == nullptr) refuse(kernel.name, "is incomplete");
  const auto place = table.entries.try_emplace(std::string(kernel.name)).first;
  TableEntry& entry = place->second;
  if (entry.kernel.run_thread != nullptr) refuse(kernel.name, "is already registered");
  entry.arguments.assign(kernel.arguments.begin(), kernel.arguments.end());
  entry.kernel = {place->first, entry.arguments, kernel.run_thread, kernel.static_shared_bytes};
}

}  // namespace

void note_kernel(const StaticKernel& kernel) noexcept {
  // A build with more kernels than places ends at its first start, in its own tests.
  if (static_table.count == StaticTable::most) std::abort();
  static_table.kernels[static_table.count++] = kernel;
}

void register_kernel(const CpuKernel& kernel) {
  const std::lock_guard lock(table().mutex);
  register_noted(table());
  add_kernel(table(), kernel);
}

void register_native(std::string_view name, NativeKernel function) {
  if (name.empty() || function == nullptr) refuse(name, "has an incomplete native function");
  const std::lock_guard lock(table().mutex);
  TableEntry& entry = table().entries.try_emplace(std::string(name)).first->second;
  if (entry.native != nullptr) refuse(name, "already has a native function");
  entry.native = function;
}

const CpuKernel* find_kernel(std::string_view name) {
  const std::lock_guard lock(table().mutex);
  register_noted(table());
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
