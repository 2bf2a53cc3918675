// SPDX-License-Identifier: MIT
#include "measure/copy/spec.hpp"

#include <algorithm>
#include <array>

#include "base/contains.hpp"
#include "measure/threshold.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {
namespace {

constexpr std::array<std::string_view, 12> kind_words{
    "h2d",       "d2h",     "d2d",     "bidir",      "p2p-read",   "p2p-write",
    "p2p-bidir", "h2d-all", "d2h-all", "one-to-all", "all-to-one", "all-to-all"};
constexpr std::array<std::string_view, 4> memory_words{"pinned", "pageable", "registered",
                                                       "managed"};
constexpr std::array<std::string_view, 2> engine_words{"copy", "kernel"};
constexpr std::array<std::string_view, 4> beside_words{"", "bothways", "withothers",
                                                       "withothersbothways"};

template <class Enum, std::size_t Count>
std::optional<Enum> parse(const std::array<std::string_view, Count>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return {};
  return static_cast<Enum>(found - words.begin());
}

template <std::size_t Count>
std::vector<std::string> names(const std::array<std::string_view, Count>& words) {
  return {words.begin(), words.end()};
}

std::string host_word(const CopySpec& spec) {
  return spec.node ? "host:" + std::to_string(*spec.node) : "host";
}

std::string join(const std::vector<Device>& devices, std::size_t first, char separator) {
  std::string text;
  for (std::size_t i = first; i < devices.size(); ++i) {
    if (i > first) text += separator;
    text += devices[i].id();
  }
  return text;
}

std::vector<std::string> words_of(const CopySpec& spec) {
  std::vector<std::string> words{std::string(to_string(spec.kind))};
  if (spec.beside != Beside::nothing) {
    words.emplace_back(beside_words[static_cast<std::size_t>(spec.beside)]);
  }
  if (spec.sums_copies) words.emplace_back("sum");
  if (spec.is_chase) words.emplace_back("chase");
  if (spec.reads) words.emplace_back("read");
  if (spec.memory) words.emplace_back(to_string(*spec.memory));
  words.emplace_back(to_string(spec.engine));
  words.push_back(report::size_word(spec.size_bytes));
  if (spec.is_latency) words.emplace_back("latency");
  if (spec.node) words.push_back("node" + std::to_string(*spec.node));
  return words;
}

// The device that executes a copy is the destination if it reads, else the source.
CopyRoute between(const Device& source, const Device& destination, bool reads) {
  return {source, destination, reads ? destination : source};
}

void add_host_routes(const CopySpec& spec, bool to_device, bool from_device,
                     std::vector<CopyRoute>& routes) {
  for (const Device& device : spec.devices) {
    if (to_device) routes.push_back({{}, device, device});
    if (from_device) routes.push_back({device, {}, device});
  }
}

// The measured one first.
std::vector<CopyRoute> routes_beside(const CopySpec& spec) {
  const bool to_device = spec.kind == CopyKind::h2d;
  const auto route = [](const Device& device, bool is_to_device) {
    return is_to_device ? CopyRoute{{}, device, device} : CopyRoute{device, {}, device};
  };
  std::vector<CopyRoute> routes{route(spec.devices.front(), to_device)};
  if (spec.beside != Beside::others) routes.push_back(route(spec.devices.front(), !to_device));
  for (std::size_t i = 1; i < spec.devices.size(); ++i) {
    routes.push_back(route(spec.devices[i], to_device));
    if (spec.beside == Beside::others_both_ways) {
      routes.push_back(route(spec.devices[i], !to_device));
    }
  }
  return routes;
}

bool is_between_all(CopyKind kind) {
  return kind == CopyKind::one_to_all || kind == CopyKind::all_to_one ||
         kind == CopyKind::all_to_all;
}

}  // namespace

std::string_view to_string(CopyKind kind) noexcept {
  return kind_words[static_cast<std::size_t>(kind)];
}
std::string_view to_string(HostKind kind) noexcept {
  return memory_words[static_cast<std::size_t>(kind)];
}
std::string_view to_string(CopyEngine engine) noexcept {
  return engine_words[static_cast<std::size_t>(engine)];
}

std::optional<CopyKind> parse_copy_kind(std::string_view text) noexcept {
  return parse<CopyKind>(kind_words, text);
}
std::optional<HostKind> parse_host_kind(std::string_view text) noexcept {
  return parse<HostKind>(memory_words, text);
}
std::optional<CopyEngine> parse_copy_engine(std::string_view text) noexcept {
  return parse<CopyEngine>(engine_words, text);
}

std::vector<std::string> copy_kind_names() { return names(kind_words); }
std::vector<std::string> host_kind_names() { return names(memory_words); }
std::vector<std::string> copy_engine_names() { return names(engine_words); }

bool uses_host(CopyKind kind) noexcept {
  switch (kind) {
    case CopyKind::h2d:
    case CopyKind::d2h:
    case CopyKind::bidir:
    case CopyKind::h2d_all:
    case CopyKind::d2h_all: return true;
    default: return false;
  }
}

bool uses_peers(CopyKind kind) noexcept { return !uses_host(kind) && kind != CopyKind::d2d; }

std::vector<CopyRoute> routes_of(const CopySpec& spec) {
  const std::vector<Device>& devices = spec.devices;
  if (spec.beside != Beside::nothing) return routes_beside(spec);
  std::vector<CopyRoute> routes;
  switch (spec.kind) {
    case CopyKind::h2d:
    case CopyKind::h2d_all: add_host_routes(spec, true, false, routes); break;
    case CopyKind::d2h:
    case CopyKind::d2h_all: add_host_routes(spec, false, true, routes); break;
    case CopyKind::bidir: add_host_routes(spec, true, true, routes); break;
    case CopyKind::d2d:
      for (const Device& device : devices) routes.push_back({device, device, device});
      break;
    case CopyKind::p2p_read: routes.push_back(between(devices[0], devices[1], true)); break;
    case CopyKind::p2p_write: routes.push_back(between(devices[0], devices[1], false)); break;
    case CopyKind::p2p_bidir:
      routes.push_back(between(devices[0], devices[1], spec.reads));
      routes.push_back(between(devices[1], devices[0], spec.reads));
      break;
    case CopyKind::one_to_all:
      for (std::size_t i = 1; i < devices.size(); ++i) {
        routes.push_back(between(devices[0], devices[i], spec.reads));
      }
      break;
    case CopyKind::all_to_one:
      for (std::size_t i = 1; i < devices.size(); ++i) {
        routes.push_back(between(devices[i], devices[0], spec.reads));
      }
      break;
    case CopyKind::all_to_all:
      for (const Device& source : devices) {
        for (const Device& destination : devices) {
          if (source == destination) continue;
          routes.push_back(between(source, destination, spec.reads));
        }
      }
      break;
  }
  return routes;
}

std::string id_of(const CopySpec& spec) {
  std::string id;
  for (const std::string& word : words_of(spec)) id += (id.empty() ? "" : ".") + word;
  if (spec.beside != Beside::nothing) return id + "@" + spec.devices.front().id();
  if (!uses_peers(spec.kind)) return id + "@" + join(spec.devices, 0, '+');
  if (spec.kind == CopyKind::all_to_all) return id + "@" + join(spec.devices, 0, '+');
  const std::string one = spec.devices.front().id();
  const std::string others = join(spec.devices, 1, '+');
  if (others.empty()) return id + "@" + one;  // skipped for want of a second device
  return id + "@" + (spec.kind == CopyKind::all_to_one ? others + ">" + one : one + ">" + others);
}

std::string source_of(const CopySpec& spec) {
  if (spec.beside != Beside::nothing) {
    return spec.kind == CopyKind::h2d ? host_word(spec) : spec.devices.front().id();
  }
  switch (spec.kind) {
    case CopyKind::h2d:
    case CopyKind::h2d_all:
    case CopyKind::bidir: return host_word(spec);
    case CopyKind::all_to_one: return join(spec.devices, 1, ',');
    case CopyKind::d2h_all:
    case CopyKind::all_to_all: return join(spec.devices, 0, ',');
    default: return spec.devices.front().id();
  }
}

std::string destination_of(const CopySpec& spec) {
  if (spec.beside != Beside::nothing) {
    return spec.kind == CopyKind::h2d ? spec.devices.front().id() : host_word(spec);
  }
  switch (spec.kind) {
    case CopyKind::d2h:
    case CopyKind::d2h_all: return host_word(spec);
    case CopyKind::all_to_one: return spec.devices.front().id();
    case CopyKind::p2p_read:
    case CopyKind::p2p_write:
    case CopyKind::p2p_bidir:
    case CopyKind::one_to_all: return join(spec.devices, 1, ',');
    default: return join(spec.devices, 0, ',');
  }
}

bool is_selected(const CopySpec& spec, std::string_view selector) {
  std::vector<std::string> words = words_of(spec);
  for (const Device& device : spec.devices) words.push_back(device.id());
  const std::string size = report::size_word(spec.size_bytes);
  if (uses_peers(spec.kind) && !spec.reads && is_between_all(spec.kind))
    words.emplace_back("write");
  for (std::size_t start = 0;;) {
    const std::size_t dot = selector.find('.', start);
    const std::string_view part = selector.substr(start, dot - start);
    if (!base::contains(words, part) && !means_size(part, size)) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    start = dot + 1;
  }
}

}  // namespace hiptool::measure
