// SPDX-License-Identifier: MIT
#include "machine/doctor/probe.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "hip/blas.hpp"
#include "hip/dnn.hpp"
#include "hip/sensors.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "machine/link_sampler.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;
using Report = std::function<void(const Record&)>;

constexpr std::size_t link_bytes = std::size_t{32} << 20;
constexpr std::size_t peer_bytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds sample_interval{5};

void read_sensors(hip::SensorLibrary& library, DoctorGpu& gpu) {
  if (!library.sensors) {
    gpu.sensor_reason = library.reason;
  } else if (!gpu.info.pci_bus_id) {
    gpu.sensor_reason = "the device has no PCI bus id";
  } else {
    gpu.sensors = library.sensors->read(*gpu.info.pci_bus_id);
    gpu.sensor_source = library.sensors->source();
  }
}

DoctorGpu read_device(const Device& device) {
  DoctorGpu gpu;
  gpu.id = device.id();
  gpu.platform = device.platform();
  try {
    gpu.info = device.info();
    // On NVIDIA this query would create a context, which takes time and half a gigabyte.
    if (gpu.platform != Platform::nvidia) gpu.memory = device.memory();
  } catch (const Error&) {
    // Facts that cannot be read stay absent.
  }
  return gpu;
}

// GPUs that the runtime does not list, whose sensors can be read as well.
std::vector<DoctorGpu> read_hidden(const fs::path& root, Platform platform,
                                   const std::vector<DoctorGpu>& shown) {
  std::vector<DoctorGpu> gpus;
  for (const system::PciDevice& pci : system::list_gpus(root)) {
    if ((pci.vendor == system::vendor_amd) != (platform == Platform::amd)) continue;
    const bool is_shown = std::ranges::any_of(shown, [&](const DoctorGpu& gpu) {
      return gpu.info.pci_bus_id && system::normalize_bus_id(*gpu.info.pci_bus_id) == pci.bus_id;
    });
    if (is_shown) continue;
    DoctorGpu& gpu = gpus.emplace_back();
    gpu.platform = platform;
    gpu.info.pci_bus_id = pci.bus_id;
  }
  return gpus;
}

/// The fastest PCIe path while host memory is copied to the device; absent if no speed is reported.
std::optional<system::PciPath> sample_link(const Device& device, const std::string& bus_id,
                                           const ProbeOptions& options) {
  const PinnedBuffer source(device, link_bytes);
  Buffer destination(device, link_bytes);
  const Stream stream(device);
  LinkSampler sampler({options.root, {bus_id}, sample_interval, {}});
  const auto end = std::chrono::steady_clock::now() + options.copy_time;
  while (std::chrono::steady_clock::now() < end) {
    copy_h2d(destination, source.bytes(), stream);
    stream.synchronize();
  }
  return sampler.stop().front().fastest;
}

void report_link(const Device& device, const DoctorGpu& gpu, const ProbeOptions& options,
                 const Report& report_record) {
  if (!gpu.info.pci_bus_id) return;
  const auto idle = system::read_pci_path(options.root, *gpu.info.pci_bus_id);
  if (!idle.bytes_per_s_at_best()) return;
  report_record(step_record("copying to " + gpu.id));
  try {
    const auto path = sample_link(device, *gpu.info.pci_bus_id, options);
    report_record(path_record(gpu.id, path.value_or(idle)));
  } catch (const Error&) {
    // Without a path record the check reports that the link was not read under load.
  }
}

bool is_copy_right(const Device& from, const Device& to) {
  std::vector<std::byte> sent(peer_bytes);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  Buffer source(from, peer_bytes);
  Buffer destination(to, peer_bytes);
  copy_h2d_and_wait(source, sent);
  const Stream stream(from);
  {
    const Stream clearing(to);
    fill(destination, std::byte{0xa5}, clearing);
    clearing.synchronize();
  }
  copy_peer(destination, source, stream);
  stream.synchronize();
  std::vector<std::byte> got(peer_bytes);
  copy_d2h_and_wait(got, destination);
  return got == sent;
}

void report_peer(const Device& from, const Device& to, const Report& report_record) {
  PeerAnswer peer{from.id(), to.id(), false, {}};
  report_record(step_record("copying from " + peer.from + " to " + peer.to));
  try {
    peer.can_access = can_access_peer(from, to);
    if (peer.can_access) enable_peer_access(from, to);
    peer.is_copy_right = is_copy_right(from, to);
  } catch (const Error&) {
    // is_copy_right stays absent for a copy that could not be made.
  }
  report_record(peer_record(peer));
}

void report_libraries(Platform platform, const Report& report_record) {
  for (const hip::BlasKind kind : hip::list_blas(platform)) {
    if (kind == hip::BlasKind::rocblas_hipblaslt) continue;  // the same file as the other choice
    report_record(loading_record(std::string(to_string(kind))));
    const auto start = std::chrono::steady_clock::now();
    const hip::BlasLibrary& found = hip::find_blas(kind);
    report_record(library_record({platform, found.name, found.path, found.version, found.reason,
                                  found.targets, base::seconds_since(start)}));
  }
  if (const auto kind = hip::dnn_of(platform)) {
    report_record(loading_record(std::string(to_string(*kind))));
    const auto start = std::chrono::steady_clock::now();
    const hip::DnnLibrary& found = hip::find_dnn(*kind);
    report_record(library_record({platform,
                                  found.name,
                                  found.path,
                                  found.version,
                                  found.reason,
                                  {},
                                  base::seconds_since(start)}));
  }
}

}  // namespace

void probe_platform(Platforms& platforms, Platform platform, const ProbeOptions& options,
                    const Report& report_record) {
  report_record(step_record("starting it"));
  const PlatformStatus status = platforms.status(platform);
  report_record(status_record(status));
  const std::vector<Device> devices = platforms.devices(platform);
  report_record(step_record("opening the sensors"));
  hip::SensorLibrary sensors = hip::open_sensors(platform, options.root);
  std::vector<DoctorGpu> gpus;
  for (const Device& device : devices) {
    report_record(step_record("reading " + device.id()));
    gpus.push_back(read_device(device));
  }
  const std::size_t shown = gpus.size();
  for (DoctorGpu& gpu : read_hidden(options.root, platform, gpus)) gpus.push_back(std::move(gpu));
  // Sensors are read before any copy, while this process does not use the device.
  for (DoctorGpu& gpu : gpus) {
    read_sensors(sensors, gpu);
    report_record(gpu_record(gpu));
  }
  for (std::size_t i = 0; options.with_copies && i < shown; ++i) {
    report_link(devices[i], gpus[i], options, report_record);
  }
  for (std::size_t i = 0; options.with_copies && i < shown; ++i) {
    for (const Device& to : devices) {
      if (!(devices[i] == to)) report_peer(devices[i], to, report_record);
    }
  }
  // Last, because some of these libraries end the process if one of their files is missing.
  if (options.with_libraries && !status.library.empty()) report_libraries(platform, report_record);
}

ProbeResult probe_here(Platforms& platforms, Platform platform, const ProbeOptions& options) {
  ProbeResult result;
  result.answer.status.platform = platform;
  const auto start = std::chrono::steady_clock::now();
  probe_platform(platforms, platform, options, [&](const Record& record) {
    apply(record, options.root, result);
    if (record.name != "status") return;
    result.answer.after_s = base::seconds_since(start);
  });
  return result;
}

}  // namespace hiptool::machine
