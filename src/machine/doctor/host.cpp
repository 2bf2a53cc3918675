// SPDX-License-Identifier: MIT
/// NUMA, limits and shared memory of the host, and whether it is WSL.
#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

#include "base/contains.hpp"
#include "base/file.hpp"
#include "machine/doctor/list.hpp"
#include "system/numa.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t smallest_shm = 64 * kib * kib;  // the default of container engines

void examine_one_numa(const Evidence& evidence, const DoctorGpu& gpu, CheckList& list) {
  if (!gpu.pci) {
    list.add_unknown("numa", gpu.name(), "its address on the PCI bus is unknown",
                     "/sys/bus/pci/devices", "check with `numactl --hardware`");
    return;
  }
  const std::string source = "/sys/bus/pci/devices/" + gpu.pci->bus_id + "/numa_node";
  if (!gpu.pci->numa_node) {
    list.add({"numa", Severity::warn, gpu.id,
              gpu.name() + ": the firmware does not report its NUMA node", source,
              "a node of the machine",
              "update the BIOS; try each node with `numactl --cpunodebind=0 hiptool "
              "bench-copy`"});
    return;
  }
  const std::string node = std::to_string(*gpu.pci->numa_node);
  const std::string cpus = base::read_small_file(evidence.root / "sys/devices/system/node" /
                                                 ("node" + node) / "cpulist");
  const auto near = system::parse_cpu_list(cpus);
  const bool is_near = std::ranges::any_of(
      near, [&](int cpu) { return base::contains(evidence.allowed_cpus, cpu); });
  const std::string read = gpu.name() + ": node " + node + ", CPUs " + cpus;
  const std::string bind =
      "`numactl --cpunodebind=" + node + " --membind=" + node + " hiptool ...`";
  if (near.empty()) {
    list.add_unknown("numa", gpu.name(), "the kernel does not report the CPUs of node " + node,
                     source, "check with `numactl --hardware`");
  } else if (is_near) {
    list.add({"numa", Severity::pass, gpu.id, read, source, "this process may run there", ""});
  } else {
    list.add({"numa", Severity::warn, gpu.id, read + "; this process may only run on others",
              source, "this process may run there", bind});
  }
}

void examine_numa(const Evidence& evidence, CheckList& list) {
  if (evidence.gpus.empty()) {
    list.add_unknown("numa", "", "no GPU found", "/sys/bus/pci/devices",
                     "check with `numactl --hardware`");
    return;
  }
  if (system::numa_node_count(evidence.root) < 2) {
    list.add({"numa", Severity::pass, "", "one node", "/sys/devices/system/node/online",
              "host memory near the GPU", ""});
    return;
  }
  for (const DoctorGpu& gpu : evidence.gpus) examine_one_numa(evidence, gpu, list);
}

void examine_balancing(const Evidence& evidence, CheckList& list) {
  const std::string source = "/proc/sys/kernel/numa_balancing";
  const std::string value = base::read_small_file(evidence.root / source.substr(1));
  if (value.empty()) {
    list.add_unknown("numa-balance", "", "the kernel does not report it", source,
                     "check with `sysctl kernel.numa_balancing`");
    return;
  }
  if (value == "0") {
    list.add({"numa-balance", Severity::pass, "", "off", source, "off for benchmarks", ""});
    return;
  }
  const bool has_nodes = system::numa_node_count(evidence.root) > 1;
  list.add({"numa-balance", has_nodes ? Severity::warn : Severity::info, "",
            has_nodes ? "on: pages move while they are copied" : "on, without effect on one node",
            source, "off for benchmarks", "`sudo sysctl kernel.numa_balancing=0`"});
}

// "Max locked memory         8388608              8388608              bytes"
void examine_memlock(const Evidence& evidence, CheckList& list) {
  const std::string source = "/proc/self/limits";
  std::istringstream lines(base::read_small_file(evidence.root / source.substr(1)));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Max locked memory", 0) != 0) continue;
    std::istringstream words(line.substr(17));
    std::string limit;
    words >> limit;
    const bool is_unlimited = limit == "unlimited";
    list.add({"memlock", is_unlimited ? Severity::pass : Severity::info, "",
              is_unlimited ? limit : limit + " bytes", source,
              "unlimited: RDMA and registered buffers of io_uring count against it",
              is_unlimited ? "" : "`ulimit -l unlimited`; a container: `--ulimit memlock=-1`"});
    return;
  }
  list.add_unknown("memlock", "", "the limit is not reported", source, "check with `ulimit -l`");
}

// "tmpfs /dev/shm tmpfs rw,nosuid,size=65536k 0 0"; without a size it is half of the memory.
void examine_shm(const Evidence& evidence, CheckList& list) {
  const std::string source = "/proc/self/mounts";
  std::istringstream lines(base::read_small_file(evidence.root / source.substr(1)));
  std::optional<std::string> options;
  for (std::string device, place, kind, words, rest; lines >> device >> place >> kind >> words;) {
    std::getline(lines, rest);
    if (place == "/dev/shm") options = words;
  }
  if (!options) {
    list.add_unknown("shm", "", "/dev/shm is not mounted", source,
                     "check with `df -h /dev/shm`; a container: `--ipc=host`");
    return;
  }
  const auto at = options->find("size=");
  std::uint64_t size = 0;
  if (at == std::string::npos ||
      std::from_chars(options->data() + at + 5, options->data() + options->size(), size).ec !=
          std::errc{}) {
    list.add({"shm", Severity::pass, "", "half of the memory", source, "more than 64 MiB", ""});
    return;
  }
  const bool is_small = size * kib <= smallest_shm;
  list.add({"shm", is_small ? Severity::warn : Severity::pass, "",
            std::to_string(size / kib) + " MiB", source,
            "more than 64 MiB: collectives of several processes use it",
            is_small ? "start the container with `--shm-size=16g` or `--ipc=host`" : ""});
}

void examine_wsl(const Evidence& evidence, CheckList& list) {
  const std::string release = base::read_small_file(evidence.root / "proc/sys/kernel/osrelease");
  std::error_code ignored;
  const bool has_node = fs::exists(evidence.root / "dev/dxg", ignored);
  const std::string source = "/proc/sys/kernel/osrelease, /dev/dxg";
  const bool is_wsl = release.find("microsoft") != std::string::npos ||
                      release.find("WSL") != std::string::npos || has_node;
  if (release.empty() && !has_node) {
    list.add_unknown("wsl", "", "the kernel does not report its release", source,
                     "check with `uname -r`");
  } else if (!is_wsl) {
    list.add({"wsl", Severity::pass, "", "not WSL: " + release, source, "", ""});
  } else if (has_node) {
    list.add({"wsl", Severity::info, "",
              "WSL: " + release +
                  "; the GPU is accessed through /dev/dxg, so checks of /sys do not apply",
              source, "", ""});
  } else {
    list.add({"wsl", Severity::fail, "", "WSL without /dev/dxg: no GPU is accessible", source,
              "/dev/dxg", "in Windows: install the GPU's driver for WSL, then `wsl --update`"});
  }
}

}  // namespace

void examine_host(const Evidence& evidence, CheckList& list) {
  examine_numa(evidence, list);
  examine_balancing(evidence, list);
  examine_memlock(evidence, list);
  examine_shm(evidence, list);
  examine_wsl(evidence, list);
}

}  // namespace hiptool::machine
