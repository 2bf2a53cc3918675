// SPDX-License-Identifier: MIT
#include "load/transfer/link_probe.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>

#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "load/transfer/staging_memory.hpp"
#include "load/workers.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

// Logical CPUs near the device; none where it does not matter or is not known.
std::vector<int> cpus_of(const Device& device) {
  if (system::numa_node_count("/") <= 1) return {};
  const auto bus_id = device.info().pci_bus_id;
  return bus_id ? system::cpus_near("/", *bus_id) : std::vector<int>();
}

PinnedBuffer pin_near(const Device& device) {
  const system::CpuBinding near_device(cpus_of(device));
  return PinnedBuffer(device, HostMemory(probe_copy_bytes, touching_threads));
}

struct Link {
  Link(const Device& device, std::span<std::byte> memory)
      : target(device, probe_copy_bytes),
        stream(device),
        start(device),
        stop(device),
        copied{Event(device, Event::Kind::ordering), Event(device, Event::Kind::ordering)} {
    if (memory.size() < probe_copy_bytes) pinned.emplace(pin_near(device));
    source = pinned ? pinned->bytes() : memory.first(probe_copy_bytes);
  }

  std::optional<PinnedBuffer> pinned;
  std::span<std::byte> source;
  Buffer target;
  Stream stream;
  Event start;
  Event stop;
  std::array<Event, 2> copied;  // of the two copies that are queued at a time
};

std::vector<std::unique_ptr<Link>> make_links(const std::vector<Device>& devices,
                                              std::span<const std::span<std::byte>> sources) {
  std::vector<std::unique_ptr<Link>> links(devices.size());
  try {
    run_for_each(links.size(), [&](std::size_t i, const std::atomic<bool>&) {
      const auto memory = i < sources.size() ? sources[i] : std::span<std::byte>();
      links[i] = std::make_unique<Link>(devices[i], memory);
    });
  } catch (const std::exception& error) {
    core::state_of(devices.front()).note("probe the link", error.what());
    links.clear();
  }
  return links;
}

// Two copies are queued at a time, so that the link never waits and Ctrl-C has little to wait for.
double measure_link(Link& link, const CancelToken* cancel, const std::atomic<bool>& stop) {
  try {
    for (std::size_t i = 0; i <= probe_copies; ++i) {  // the first one warms up
      if (cancel != nullptr) cancel->throw_if_cancelled("load");
      if (stop.load()) break;
      Event& copied = link.copied[i % link.copied.size()];
      copied.synchronize();
      if (i == 1) link.start.record(link.stream);
      copy_h2d(link.target, link.source, link.stream);
      copied.record(link.stream);
    }
    link.stop.record(link.stream);
    link.stop.synchronize();
    if (stop.load()) return 0;
    return probe_copies * static_cast<double>(probe_copy_bytes) / link.stop.elapsed_s(link.start);
  } catch (...) {
    core::settle(link.stream);
    throw;
  }
}

struct LinkedDevices {
  std::vector<Device> devices;
  std::vector<std::span<std::byte>> staging;
};

// The devices whose bytes come from the host: copies that come from another device use no link.
LinkedDevices linked_devices(const LoadPlan& plan, Transfer& transfer) {
  LinkedDevices linked;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    if (part.layout.placements.empty() || part.device.is_host_memory()) continue;
    if (transfer.reaches_first()[i]) continue;
    linked.devices.push_back(part.device);
    linked.staging.push_back(transfer.staging(i));
  }
  return linked;
}

// The bytes of a load cannot exceed the sum of all links, or for copies, which all get the same
// bytes, the slowest link that is used.
double link_limit(const LoadPlan& plan, const std::vector<double>& rates) {
  return plan.split == SplitKind::replicate ? *std::ranges::min_element(rates)
                                            : std::accumulate(rates.begin(), rates.end(), 0.0);
}

constexpr double full_link_share = 0.85;
constexpr std::uint64_t read_probe_bytes = 1'000'000'000;

}  // namespace

std::vector<double> measure_links(const std::vector<Device>& devices, const CancelToken* cancel,
                                  std::span<const std::span<std::byte>> sources) {
  const auto links = make_links(devices, sources);
  std::vector<double> rates(links.size());
  run_for_each(rates.size(), [&](std::size_t i, const std::atomic<bool>& stop) {
    rates[i] = measure_link(*links[i], cancel, stop);
  });
  return rates;
}

JudgedLimit judge_limit(double load_bytes_per_s, const std::string& what,
                        const std::function<double()>& measure) {
  const double first = measure();
  if (!(first > 0)) return {};
  if (first >= load_bytes_per_s) return {first, {}};
  const double again = measure();
  const double most = std::max(first, again);
  const bool is_beaten = most < load_bytes_per_s;
  std::string note = what + " " + format_rate(first) + " and, measured again, " +
                     format_rate(again) + ", the load " + format_rate(load_bytes_per_s) +
                     (is_beaten ? ": not its limit" : "");
  return {is_beaten ? std::nullopt : std::optional(most), std::move(note)};
}

LoadLimits measure_limits(Transfer& transfer, const LoadPlan& plan, std::span<const Buffer> arenas,
                          double load_bytes_per_s, bool is_from_disk, const CancelToken* cancel) {
  LoadLimits limits;
  const LinkedDevices linked = linked_devices(plan, transfer);
  bool is_link_full = false;
  const std::string links = linked.devices.size() > 1 ? "the links" : "the link";
  JudgedLimit link = judge_limit(load_bytes_per_s, links + " carried", [&] {
    const std::vector<double> rates = measure_links(linked.devices, cancel, linked.staging);
    const double rate = rates.empty() ? 0 : link_limit(plan, rates);
    is_link_full = rate > 0 && load_bytes_per_s >= full_link_share * rate;
    return rate;
  });
  limits.h2d_bytes_per_s = link.bytes_per_s;
  limits.note = std::move(link.note);
  // Where the links were nearly full, reading was not the limit.
  if (is_link_full || is_from_disk) return limits;
  JudgedLimit reading = judge_limit(load_bytes_per_s, "reading reached", [&] {
    return transfer.probe_read_bytes_per_s(arenas, read_probe_bytes);
  });
  limits.read_bytes_per_s = reading.bytes_per_s;
  if (!reading.note.empty()) {
    limits.note += (limits.note.empty() ? "" : "; ") + std::move(reading.note);
  }
  return limits;
}

}  // namespace hiptool::load
