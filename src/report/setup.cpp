// SPDX-License-Identifier: MIT
#include "report/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "report/measurement.hpp"

namespace hiptool::report {
namespace {

using Kind = SetupDifference::Kind;

constexpr double clock_tolerance = 0.05;

struct Leaf {
  Kind kind;
  std::string phase;  // "before", "during", "after" or empty
  std::string topic;  // the path without the phase
  std::string device;
  const Value* value;
};
using Leaves = std::map<std::string, Leaf>;

bool has_part(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

bool is_phase(std::string_view name) {
  return name == "before" || name == "during" || name == "after";
}

std::optional<Kind> kind_of_path(const std::string& path) {
  const std::string last = path.substr(path.find_last_of('.') + 1);
  // Counters and what follows from other fields; a temperature alone changes no time.
  if (has_part(last, {"replay", "source", "temperature", "bytes_per_s", "bus_id", "power"})) {
    return std::nullopt;
  }
  if (has_part(path, {"throttle", "reasons"})) return Kind::throttle;
  if (has_part(path, {"clock"})) return Kind::clock;
  if (has_part(path, {"link", "pcie", "width", "speed_gt_s"})) return Kind::link;
  if (has_part(path, {"driver", "runtime"})) return Kind::software;
  return std::nullopt;
}

bool holds_objects(const Array& values) {
  return std::any_of(values.begin(), values.end(), [](const Value& value) {
    return std::holds_alternative<Object>(value.data());
  });
}

// Elements of a list are identified by their names, so that their order does not matter.
std::string name_of(const Value& value, std::size_t index) {
  for (const char* key : {"id", "device"}) {
    if (std::string name = text_of(member(value, key)); !name.empty()) return name;
  }
  return std::to_string(index);
}

void collect(const Value& value, const std::string& path, Leaf leaf, Leaves& leaves);

// `leaf` has what the names above say.
void collect_member(const std::string& name, const Value& value, const std::string& path, Leaf leaf,
                    Leaves& leaves) {
  if (is_phase(name)) {
    leaf.phase = name;
  } else {
    leaf.topic += (leaf.topic.empty() ? "" : ".") + name;
  }
  if (!platform_of(name).empty()) leaf.device = name;
  collect(value, path.empty() ? name : path + "." + name, std::move(leaf), leaves);
}

void collect(const Value& value, const std::string& path, Leaf leaf, Leaves& leaves) {
  if (const auto* object = std::get_if<Object>(&value.data())) {
    for (const auto& [name, inner] : *object) collect_member(name, inner, path, leaf, leaves);
    return;
  }
  const auto* array = std::get_if<Array>(&value.data());
  if (array != nullptr && holds_objects(*array)) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      collect_member(name_of((*array)[i], i), (*array)[i], path, leaf, leaves);
    }
    return;
  }
  const auto kind = kind_of_path(leaf.topic);
  if (!kind || value.is_absent()) return;
  leaf.kind = *kind;
  leaf.value = &value;
  leaves.emplace(path, std::move(leaf));
}

Leaves leaves_of(const Value& setup) {
  Leaves leaves;
  collect(setup, {}, {}, leaves);
  return leaves;
}

// Of what was read during the work.
std::set<std::string_view> topics_during(const Leaves& leaves) {
  std::set<std::string_view> topics;
  for (const auto& entry : leaves) {
    if (entry.second.phase == "during") topics.insert(entry.second.topic);
  }
  return topics;
}

bool differ(const Leaf& left, const Leaf& right) {
  const auto old_number = number_of(*left.value);
  const auto new_number = number_of(*right.value);
  if (left.kind == Kind::clock && old_number && new_number) {
    const double larger = std::max(std::abs(*old_number), std::abs(*new_number));
    return std::abs(*old_number - *new_number) > clock_tolerance * larger;
  }
  if (old_number && new_number) return *old_number != *new_number;
  return json_text(*left.value) != json_text(*right.value);
}

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::clock: return "clocks";
    case Kind::link: return "link";
    case Kind::throttle: return "throttling";
    case Kind::software: break;
  }
  return "software";
}

std::vector<SetupDifference> setup_differences(const Value& old_setup, const Value& new_setup) {
  const Leaves before = leaves_of(old_setup);
  const Leaves after = leaves_of(new_setup);
  const auto during_before = topics_during(before);
  const auto during_after = topics_during(after);
  std::vector<SetupDifference> differences;
  for (const auto& [path, leaf] : before) {
    const auto other = after.find(path);
    if (other == after.end() || !differ(leaf, other->second)) continue;
    const bool is_idle = leaf.phase == "before" || leaf.phase == "after";
    if (is_idle && during_before.count(leaf.topic) > 0 && during_after.count(leaf.topic) > 0) {
      continue;
    }
    differences.push_back({leaf.kind, path, leaf.device, *leaf.value, *other->second.value});
  }
  return differences;
}

}  // namespace hiptool::report
