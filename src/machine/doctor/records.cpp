// SPDX-License-Identifier: MIT
#include "machine/doctor/probe.hpp"

#include "hiptool/error.hpp"

namespace hiptool::machine {
namespace {

using report::member;
using report::Object;
using report::Value;

/// Writes fields; absent ones are null.
struct FieldWriter {
  Object& fields;
  template <class T>
  void operator()(const char* key, const T& value) const {
    fields.emplace_back(key, Value(value));
  }
  template <class T>
  void operator()(const char* key, const std::vector<T>& list) const {
    fields.emplace_back(key, report::Array(list.begin(), list.end()));
  }
  template <class T>
  void operator()(const char* key, const std::optional<std::vector<T>>& list) const {
    if (list) (*this)(key, *list);
  }
  void operator()(const char* key,
                  const std::optional<std::vector<hip::DeviceProcess>>& processes) const {
    if (!processes) return;
    report::Array list;
    for (const hip::DeviceProcess& process : *processes) {
      list.emplace_back(Object{
          {"id", process.id}, {"name", process.name}, {"memory_bytes", process.memory_bytes}});
    }
    fields.emplace_back(key, std::move(list));
  }
};

void read(const Value& field, std::string& value) { value = report::text_of(field); }
void read(const Value& field, std::uint64_t& value) { value = report::count_of(field).value_or(0); }
void read(const Value& field, double& value) { value = report::number_of(field).value_or(0); }
void read(const Value& field, bool& value) {
  const auto* truth = std::get_if<bool>(&field.data());
  value = truth != nullptr && *truth;
}
void read(const Value& field, int& value) {
  value = static_cast<int>(report::count_of(field).value_or(0));
}
void read(const Value& field, hip::DeviceProcess& process) {
  process.id = report::count_of(member(field, "id")).value_or(0);
  process.name = report::text_of(member(field, "name"));
  process.memory_bytes = report::count_of(member(field, "memory_bytes"));
}
template <class T>
void read(const Value& field, std::vector<T>& list) {
  for (const Value& element : report::elements(field)) read(element, list.emplace_back());
}
template <class T>
void read(const Value& field, std::optional<T>& value) {
  if (!field.is_absent()) read(field, value.emplace());
}

/// Reads them back.
struct FieldReader {
  const Object& fields;
  template <class T>
  void operator()(const char* key, T& value) const {
    read(member(fields, key), value);
  }
};

template <class Status, class Visit>
void visit_status(Status& status, const Visit& visit) {
  visit("usable", status.usable);
  visit("device_count", status.device_count);
  visit("library", status.library);
  visit("runtime_version", status.runtime_version);
  visit("driver_version", status.driver_version);
  visit("reason", status.reason);
  visit("hint", status.hint);
  visit("note", status.note);
  visit("tried", status.tried);
  visit("release", status.release);
}

template <class Info, class Visit>
void visit_info(Info& info, const Visit& visit) {
  visit("name", info.name);
  visit("arch", info.arch);
  visit("uuid", info.uuid);
  visit("pci_bus_id", info.pci_bus_id);
  visit("memory_total_bytes", info.memory_total_bytes);
  visit("compute_units", info.compute_units);
  visit("warp_size", info.warp_size);
  visit("clock_hz", info.clock_hz);
  visit("memory_clock_hz", info.memory_clock_hz);
  visit("memory_bus_width_bits", info.memory_bus_width_bits);
  visit("l2_cache_bytes", info.l2_cache_bytes);
  visit("max_threads_per_block", info.max_threads_per_block);
  visit("shared_memory_per_block_bytes", info.shared_memory_per_block_bytes);
  visit("integrated", info.integrated);
  visit("ecc_enabled", info.ecc_enabled);
}

template <class Reading, class Visit>
void visit_sensors(Reading& reading, const Visit& visit) {
  visit("sensor_clock_hz", reading.clock_hz);
  visit("sensor_memory_clock_hz", reading.memory_clock_hz);
  visit("temperature_c", reading.temperature_c);
  visit("power_w", reading.power_w);
  visit("power_limit_w", reading.power_limit_w);
  visit("default_power_limit_w", reading.default_power_limit_w);
  visit("throttle_reasons", reading.throttle_reasons);
  visit("corrected_errors", reading.corrected_errors);
  visit("uncorrected_errors", reading.uncorrected_errors);
  visit("part_corrected_errors", reading.part_corrected_errors);
  visit("part_uncorrected_errors", reading.part_uncorrected_errors);
  visit("repairs", reading.repairs);
  visit("repair_pending", reading.repair_pending);
  visit("repair_failed", reading.repair_failed);
  visit("pcie_generation", reading.pcie_generation);
  visit("pcie_width", reading.pcie_width);
  visit("pcie_replays", reading.pcie_replays);
  visit("host_visible_bytes", reading.host_visible_bytes);
  visit("persistence_enabled", reading.persistence_enabled);
  visit("partitioned", reading.partitioned);
  visit("links_up", reading.links_up);
  visit("link_errors", reading.link_errors);
  visit("link_corrected_errors", reading.link_corrected_errors);
  visit("link_remotes", reading.link_remotes);
  visit("memory_used_bytes", reading.memory_used_bytes);
  visit("busy_share", reading.busy_share);
  visit("processes", reading.processes);
}

template <class Gpu, class Visit>
void visit_gpu(Gpu& gpu, const Visit& visit) {
  visit("id", gpu.id);
  visit_info(gpu.info, visit);
  visit_sensors(gpu.sensors, visit);
  visit("sensor_source", gpu.sensor_source);
  visit("sensor_reason", gpu.sensor_reason);
}

template <class Hop, class Visit>
void visit_hop(Hop& hop, const Visit& visit) {
  visit("bus_id", hop.bus_id);
  visit("speed_gt_s", hop.link.speed_gt_s);
  visit("width", hop.link.width);
  visit("max_speed_gt_s", hop.link.max_speed_gt_s);
  visit("max_width", hop.link.max_width);
}

template <class Peer, class Visit>
void visit_peer(Peer& peer, const Visit& visit) {
  visit("from", peer.from);
  visit("to", peer.to);
  visit("can_access", peer.can_access);
  visit("is_copy_right", peer.is_copy_right);
}

template <class Library, class Visit>
void visit_library(Library& library, const Visit& visit) {
  visit("name", library.name);
  visit("path", library.path);
  visit("version", library.version);
  visit("reason", library.reason);
  visit("targets", library.targets);
  visit("load_s", library.load_s);
}

void apply_gpu(const Object& fields, const std::filesystem::path& root, ProbeResult& result) {
  DoctorGpu& gpu = result.gpus.emplace_back();
  gpu.platform = result.answer.status.platform;
  visit_gpu(gpu, FieldReader{fields});
  const auto free_bytes = report::count_of(member(fields, "free_bytes"));
  const auto total_bytes = report::count_of(member(fields, "total_bytes"));
  if (free_bytes && total_bytes) gpu.memory = MemoryInfo{*free_bytes, *total_bytes};
  if (gpu.info.pci_bus_id) gpu.pci = system::find_pci_device(root, *gpu.info.pci_bus_id);
  // In a virtual machine or WSL the runtime's bus id may belong to another device.
  const std::uint32_t vendor =
      gpu.platform == Platform::amd ? system::vendor_amd : system::vendor_nvidia;
  if (gpu.pci && gpu.pci->vendor != vendor) gpu.pci.reset();
}

system::PciPath read_path(const Object& fields) {
  system::PciPath path;
  for (const Value& element : report::elements(member(fields, "hops"))) {
    const auto* hop = std::get_if<Object>(&element.data());
    if (hop != nullptr) visit_hop(path.hops.emplace_back(), FieldReader{*hop});
  }
  return path;
}

}  // namespace

std::string to_text(const Record& record) {
  Object line{{"record", record.name}};
  line.insert(line.end(), record.fields.begin(), record.fields.end());
  return report::json_text(line) + "\n";
}

std::vector<Record> RecordReader::add(std::string_view text) {
  rest_ += text;
  std::vector<Record> whole;
  std::size_t start = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
    const std::string_view line = std::string_view(rest_).substr(start, end - start);
    start = end + 1;
    try {
      Value value = report::parse_json(line, "record");
      if (Object* fields = value.object()) {
        whole.push_back({report::text_of(member(*fields, "record")), std::move(*fields)});
      }
    } catch (const Error&) {
      // The output of drivers in the same stream.
    }
  }
  rest_.erase(0, start);
  return whole;
}

Record status_record(const PlatformStatus& status) {
  Record record{"status", {}};
  visit_status(status, FieldWriter{record.fields});
  return record;
}

Record step_record(const std::string& what) { return {"step", {{"what", what}}}; }

Record loading_record(const std::string& library) {
  return {"step", {{"what", "loading " + library}, {"library", library}}};
}

Record gpu_record(const DoctorGpu& gpu) {
  Record record{"gpu", {}};
  visit_gpu(gpu, FieldWriter{record.fields});
  if (gpu.memory) {
    record.fields.emplace_back("free_bytes", gpu.memory->free_bytes);
    record.fields.emplace_back("total_bytes", gpu.memory->total_bytes);
  }
  return record;
}

Record path_record(const std::string& id, const system::PciPath& path) {
  report::Array hops;
  for (const auto& hop : path.hops) {
    Object fields;
    visit_hop(hop, FieldWriter{fields});
    hops.emplace_back(std::move(fields));
  }
  return {"path", {{"id", id}, {"hops", std::move(hops)}}};
}

Record peer_record(const PeerAnswer& peer) {
  Record record{"peer", {}};
  visit_peer(peer, FieldWriter{record.fields});
  return record;
}

Record library_record(const LibraryAnswer& library) {
  Record record{"library", {}};
  visit_library(library, FieldWriter{record.fields});
  return record;
}

void apply(const Record& record, const std::filesystem::path& root, ProbeResult& result) {
  const FieldReader read_field{record.fields};
  if (record.name == "status") {
    visit_status(result.answer.status, read_field);
    result.answer.kind = PlatformAnswer::Kind::answered;
  } else if (record.name == "step") {
    read_field("what", result.answer.detail);
    result.loading = report::text_of(member(record.fields, "library"));
  } else if (record.name == "gpu") {
    apply_gpu(record.fields, root, result);
  } else if (record.name == "path") {
    const std::string id = report::text_of(member(record.fields, "id"));
    for (DoctorGpu& gpu : result.gpus) {
      if (gpu.id == id) gpu.path_under_load = read_path(record.fields);
    }
  } else if (record.name == "peer") {
    visit_peer(result.peers.emplace_back(), read_field);
  } else if (record.name == "library") {
    LibraryAnswer& library = result.libraries.emplace_back();
    library.platform = result.answer.status.platform;
    visit_library(library, read_field);
  }
}

}  // namespace hiptool::machine
