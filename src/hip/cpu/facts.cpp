// SPDX-License-Identifier: MIT
#include "hip/cpu/facts.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "base/file.hpp"
#include "system/host.hpp"

namespace hiptool::hip::cpu {
namespace {

/// "2048K" as bytes, "3400000" as it is; absent for anything but a positive int.
std::optional<int> parse_count(const std::string& text) {
  long long count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || count <= 0) return std::nullopt;
  const std::string unit(stop, end);
  const long long factor = unit == "K" ? 1024 : unit == "M" ? 1024 * 1024 : unit.empty() ? 1 : 0;
  if (factor == 0 || count > std::numeric_limits<int>::max() / factor) return std::nullopt;
  return static_cast<int>(count * factor);
}

std::optional<int> read_l2_bytes(const std::filesystem::path& cpu_folder) {
  for (int index = 0; index < 8; ++index) {
    const auto folder = cpu_folder / "cache" / ("index" + std::to_string(index));
    if (base::read_small_file(folder / "level") != "2") continue;
    return parse_count(base::read_small_file(folder / "size"));
  }
  return std::nullopt;
}

std::size_t physical_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
}

struct Current {
  std::mutex mutex;
  std::shared_ptr<const Facts> facts;
};

Current& current() {
  static auto* const instance = new Current;
  return *instance;
}

}  // namespace

Facts read_facts(const std::filesystem::path& root) {
  const system::Host host = system::read_host(root);
  Facts facts;
  facts.root = root;
  facts.name = host.cpu.empty() ? "CPU" : host.cpu;
  utsname names{};
  if (::uname(&names) == 0) facts.arch = names.machine;
  const std::uint64_t cores = host.cores != 0 ? host.cores : std::thread::hardware_concurrency();
  facts.cores = static_cast<int>(std::clamp<std::uint64_t>(cores, 1, 1u << 16));
  facts.memory_bytes = host.memory_bytes != 0 ? host.memory_bytes : physical_memory_bytes();
  const auto cpu_folder = root / "sys/devices/system/cpu/cpu0";
  facts.clock_khz = parse_count(base::read_small_file(cpu_folder / "cpufreq/cpuinfo_max_freq"));
  facts.l2_cache_bytes = read_l2_bytes(cpu_folder);
  return facts;
}

std::shared_ptr<const Facts> current_facts() {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  if (now.facts == nullptr) now.facts = std::make_shared<const Facts>(read_facts("/"));
  return now.facts;
}

void set_current_facts(Facts facts) {
  auto shared = std::make_shared<const Facts>(std::move(facts));
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  now.facts = std::move(shared);
}

std::size_t available_bytes(const Facts& facts) {
  const std::uint64_t available = system::available_memory_bytes(facts.root);
  if (available == 0) return facts.memory_bytes;  // not reported by this system
  return std::min<std::uint64_t>(available, facts.memory_bytes);
}

}  // namespace hiptool::hip::cpu
