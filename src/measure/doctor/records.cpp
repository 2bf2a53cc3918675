// SPDX-License-Identifier: MIT
#include "measure/doctor/records.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <type_traits>

namespace hiptool::measure {
namespace {

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\\\";
    } else if (c == '\n') {
      safe += "\\n";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string unescaped(std::string_view safe) {
  std::string text;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    if (safe[i] == '\\' && i + 1 < safe.size()) {
      ++i;
      text += safe[i] == 'n' ? '\n' : safe[i];
    } else {
      text += safe[i];
    }
  }
  return text;
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }
std::string text_of(double value) { return fmt::format("{}", value); }
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += text_of(value) + ";";
  return text;
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}
bool parse(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool parse(const std::string& text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}
template <class T>
bool parse(const std::string& text, std::vector<T>& values) {
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ';');) {
    T value{};
    if (!parse(part, value)) return false;
    values.push_back(std::move(value));
  }
  return true;
}

/// Writes fields; what is absent is left out.
struct Writer {
  Record& record;
  void operator()(const char* key, const std::string& value) const { record.fields[key] = value; }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    if (value) record.fields[key] = text_of(*value);
  }
};

/// Reads them back; what is no such value stays absent.
struct Reader {
  const Record& record;
  void operator()(const char* key, std::string& value) const {
    if (const auto found = record.fields.find(key); found != record.fields.end()) {
      value = found->second;
    }
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    const auto found = record.fields.find(key);
    if (found == record.fields.end()) return;
    T parsed{};
    if (parse(found->second, parsed)) value = std::move(parsed);
  }
};

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
  visit("repair_pending", reading.repair_pending);
  visit("repair_failed", reading.repair_failed);
  visit("pcie_generation", reading.pcie_generation);
  visit("pcie_width", reading.pcie_width);
  visit("pcie_replays", reading.pcie_replays);
  visit("host_visible_bytes", reading.host_visible_bytes);
  visit("persistence_enabled", reading.persistence_enabled);
  visit("partitioned", reading.partitioned);
  visit("links_up", reading.links_up);
  visit("link_remotes", reading.link_remotes);
  visit("process_ids", reading.process_ids);
}

template <class Status, class Visit>
void visit_status(Status& status, const Visit& visit) {
  visit("library", status.library);
  visit("runtime_version", status.runtime_version);
  visit("driver_version", status.driver_version);
  visit("reason", status.reason);
  visit("hint", status.hint);
  visit("note", status.note);
}

std::string field(const Record& record, const char* key) {
  const auto found = record.fields.find(key);
  return found == record.fields.end() ? std::string() : found->second;
}

std::string hop_text(const system::PciPath::Hop& hop) {
  const auto or_none = [](const auto& value) { return value ? text_of(*value) : std::string("-"); };
  return hop.bus_id + " " + or_none(hop.link.speed_gt_s) + " " + or_none(hop.link.width) + " " +
         or_none(hop.link.max_speed_gt_s) + " " + or_none(hop.link.max_width);
}

template <class T>
std::optional<T> number_or_none(const std::string& text) {
  T number{};
  return parse(text, number) ? std::optional(number) : std::nullopt;
}

system::PciPath path_of(const std::string& text) {
  system::PciPath path;
  std::istringstream hops(text);
  for (std::string line; std::getline(hops, line, ';');) {
    std::istringstream words(line);
    system::PciPath::Hop hop;
    std::string speed;
    std::string width;
    std::string max_speed;
    std::string max_width;
    if (!(words >> hop.bus_id >> speed >> width >> max_speed >> max_width)) continue;
    hop.link = {number_or_none<double>(speed), number_or_none<std::uint64_t>(width),
                number_or_none<double>(max_speed), number_or_none<std::uint64_t>(max_width)};
    path.hops.push_back(std::move(hop));
  }
  return path;
}

void apply_status(const Record& record, ProbeResult& result) {
  PlatformStatus& status = result.answer.status;
  visit_status(status, Reader{record});
  status.usable = field(record, "usable") == "1";
  status.device_count = number_or_none<int>(field(record, "device_count")).value_or(0);
  parse(field(record, "tried"), status.tried);
  result.answer.kind = PlatformAnswer::Kind::answered;
}

void apply_gpu(const Record& record, const std::filesystem::path& root, ProbeResult& result) {
  DoctorGpu gpu;
  gpu.platform = result.answer.status.platform;
  const Reader read{record};
  read("id", gpu.id);
  visit_info(gpu.info, read);
  visit_sensors(gpu.sensors, read);
  read("sensor_source", gpu.sensor_source);
  read("sensor_reason", gpu.sensor_reason);
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> total_bytes;
  read("free_bytes", free_bytes);
  read("total_bytes", total_bytes);
  if (free_bytes && total_bytes) gpu.memory = MemoryInfo{*free_bytes, *total_bytes};
  if (gpu.info.pci_bus_id) gpu.pci = system::find_pci_device(root, *gpu.info.pci_bus_id);
  // In a virtual machine or WSL the runtime's bus id may be that of something else here.
  const std::uint32_t vendor =
      gpu.platform == Platform::amd ? system::vendor_amd : system::vendor_nvidia;
  if (gpu.pci && gpu.pci->vendor != vendor) gpu.pci.reset();
  result.gpus.push_back(std::move(gpu));
}

}  // namespace

std::string to_text(const Record& record) {
  std::string text = "begin " + record.name + "\n";
  for (const auto& [key, value] : record.fields) text += key + "=" + escaped(value) + "\n";
  return text + "end\n";
}

std::vector<Record> RecordReader::add(std::string_view text) {
  rest_ += text;
  std::vector<Record> whole;
  std::size_t start = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
    const std::string_view line = std::string_view(rest_).substr(start, end - start);
    start = end + 1;
    if (line.substr(0, 6) == "begin ") {
      open_ = {std::string(line.substr(6)), {}};
    } else if (line == "end") {
      if (!open_.name.empty()) whole.push_back(std::move(open_));
      open_ = {};
    } else if (const auto equals = line.find('='); equals != std::string_view::npos) {
      open_.fields[std::string(line.substr(0, equals))] = unescaped(line.substr(equals + 1));
    }
  }
  rest_.erase(0, start);
  return whole;
}

Record status_record(const PlatformStatus& status) {
  Record record{"status", {}};
  visit_status(status, Writer{record});
  record.fields["usable"] = text_of(status.usable);
  record.fields["device_count"] = std::to_string(status.device_count);
  record.fields["tried"] = text_of(status.tried);
  return record;
}

Record step_record(const std::string& what) { return {"step", {{"what", what}}}; }

Record gpu_record(const DoctorGpu& gpu) {
  Record record{"gpu", {}};
  const Writer write{record};
  write("id", gpu.id);
  visit_info(gpu.info, write);
  visit_sensors(gpu.sensors, write);
  write("sensor_source", gpu.sensor_source);
  write("sensor_reason", gpu.sensor_reason);
  if (gpu.memory) {
    write("free_bytes", std::optional(gpu.memory->free_bytes));
    write("total_bytes", std::optional(gpu.memory->total_bytes));
  }
  return record;
}

Record path_record(const std::string& id, const system::PciPath& path) {
  std::string hops;
  for (const auto& hop : path.hops) hops += hop_text(hop) + ";";
  return {"path", {{"id", id}, {"hops", hops}}};
}

Record peer_record(const PeerAnswer& peer) {
  Record record{"peer", {{"from", peer.from}, {"to", peer.to}}};
  record.fields["can_access"] = text_of(peer.can_access);
  Writer{record}("is_copy_right", peer.is_copy_right);
  return record;
}

void apply(const Record& record, const std::filesystem::path& root, ProbeResult& result) {
  if (record.name == "status") {
    apply_status(record, result);
  } else if (record.name == "step") {
    result.answer.detail = field(record, "what");
  } else if (record.name == "gpu") {
    apply_gpu(record, root, result);
  } else if (record.name == "path") {
    for (DoctorGpu& gpu : result.gpus) {
      if (gpu.id == field(record, "id")) gpu.path_under_load = path_of(field(record, "hops"));
    }
  } else if (record.name == "peer") {
    PeerAnswer peer{
        field(record, "from"), field(record, "to"), field(record, "can_access") == "1", {}};
    Reader{record}("is_copy_right", peer.is_copy_right);
    result.peers.push_back(std::move(peer));
  }
}

}  // namespace hiptool::measure
