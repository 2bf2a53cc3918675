// SPDX-License-Identifier: MIT
#include "accept/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "base/units.hpp"

namespace hiptool::accept {
namespace {

constexpr std::uint64_t least_limit_bytes = 16u << 20;  // less is governed by latency
constexpr const char* slow_action =
    "see link, clocks and other programs with `hiptool devices --doctor`; compare with "
    "`hiptool bench-copy` and `hiptool run-kernel`; cool, reseat or replace the device";

/// Why a cell is too slow.
struct TooSlow {
  std::string reason;
  report::Value expected;
};

std::string owner_of(const CheckCell& cell) {
  return cell.devices.size() == 1 || cell.is_pair() ? cell.devices.front() : std::string();
}

std::string kind_of_cell(const CheckCell& cell, const RateRules& rules) {
  if (cell.devices.empty()) return {};
  const auto found = rules.device_names.find(cell.devices.front());
  return found == rules.device_names.end() ? std::string() : found->second;
}

bool is_rated(const CheckCell& cell) { return cell.again && speed_of(cell).has_value(); }

// Of a copy the first word of the label, of a kernel its name.
bool has_half_rule(const CheckCell& cell) {
  if (cell.devices.size() != 1 || cell.size_bytes < least_limit_bytes) return false;
  const std::string first = cell.label.substr(0, cell.label.find('.'));
  return first == "h2d" || first == "d2h" || first == "d2d" || first.starts_with("stream-");
}

const Floor* floor_for(const CheckCell& cell, const RateRules& rules) {
  if (rules.floors == nullptr) return nullptr;
  const auto& floors = rules.floors->of(kind_of_cell(cell, rules));
  const auto found = floors.find(cell.label);
  if (found == floors.end() || found->second.devices != cell.devices.size()) return nullptr;
  return &found->second;
}

/// The fastest of its usual samples, as a speed.
double best_speed(const CheckCell& cell) {
  const double speed = *speed_of(cell);
  if (cell.samples_s.empty()) return speed;
  const double fast_s = base::quantile(cell.samples_s, 0.05);
  return fast_s > 0 ? speed * base::median(cell.samples_s) / fast_s : speed;
}

using Group = std::vector<const CheckCell*>;

/// The cells that a cell is compared with, itself first. Only GPUs have siblings.
Group siblings_of(const CheckCell& cell, const std::vector<CheckCell>& cells,
                  const RateRules& rules) {
  Group group{&cell};
  if (cell.is_for_floors_only || cell.devices.empty() ||
      report::platform_of(cell.devices.front()) == "cpu")
    return group;
  for (const CheckCell& other : cells) {
    if (&other == &cell || other.label != cell.label || !is_rated(other)) continue;
    const bool is_reverse =
        cell.is_pair() && other.source == cell.destination && other.destination == cell.source;
    const bool is_sibling = !cell.is_pair() && cell.devices.size() == 1 &&
                            other.devices.size() == 1 &&
                            kind_of_cell(other, rules) == kind_of_cell(cell, rules);
    if (is_reverse || is_sibling) group.push_back(&other);
  }
  return group;
}

std::optional<TooSlow> slower_than_siblings(const CheckCell& cell, const Group& group,
                                            double spread) {
  if (group.size() < 2) return {};
  std::vector<double> speeds;
  std::vector<double> best;
  for (const CheckCell* one : group) {
    speeds.push_back(*speed_of(*one));
    best.push_back(best_speed(*one));
  }
  const std::optional<double> slow = base::find_slow(speeds, best, spread).front();
  if (!slow) return {};
  const double others = *slow;
  report::Measurement usual = *group[1];
  if (usual.bytes_per_s)
    usual.bytes_per_s = others;
  else if (usual.flops_per_s)
    usual.flops_per_s = others;
  else
    usual.median_s = 1 / others;
  const std::string who = cell.is_pair()      ? "the other direction"
                          : group.size() == 2 ? group[1]->devices.front()
                                              : fmt::format("its {} siblings", group.size() - 1);
  return TooSlow{fmt::format("{} is {} below {} with {}", figure_text(cell),
                             format_share(1 - speeds.front() / others), who, figure_text(usual)),
                 figure_text(usual)};
}

std::optional<TooSlow> too_slow(const CheckCell& cell, const std::vector<CheckCell>& cells,
                                const RateRules& rules) {
  const Floor* const floor = floor_for(cell, rules);
  if (floor != nullptr && !meets(*floor, cell)) {
    const std::string expected = figure_text(*floor);
    return TooSlow{
        fmt::format("{}, {} {} expected by {}", figure_text(cell),
                    floor->most_s ? "at most" : "at least", expected, rules.floors->path),
        expected};
  }
  if (has_half_rule(cell) && cell.share_of_limit && *cell.share_of_limit < least_share_of_limit) {
    return TooSlow{fmt::format("{} is {} of its limit ({}), at least {} expected",
                               figure_text(cell), format_share(*cell.share_of_limit),
                               cell.limit_source, format_share(least_share_of_limit)),
                   format_share(least_share_of_limit) + " of the limit"};
  }
  return slower_than_siblings(cell, siblings_of(cell, cells, rules), rules.spread);
}

void measure_again(CheckCell& cell, const RateRules& rules) {
  std::optional<report::Measurement> again = rules.again(cell);
  if (!again || !speed_of(*again) || *speed_of(*again) <= *speed_of(cell)) return;
  static_cast<report::Measurement&>(cell) = std::move(*again);
}

/// What a floor is for and was not measured here.
void find_unmeasured(const std::vector<CheckCell>& cells, const RateRules& rules,
                     std::vector<RateFault>& faults) {
  if (rules.floors == nullptr) return;
  for (const CheckCell& cell : cells) {
    if (cell.status != report::Status::skipped || cell.devices.empty()) continue;
    const Floor* const floor = floor_for(cell, rules);
    if (floor == nullptr) continue;
    const std::string expected = figure_text(*floor);
    faults.push_back({owner_of(cell),
                      {cell.id,
                       fmt::format("not measured ({}), {} expected by {}", cell.reason, expected,
                                   rules.floors->path),
                       "make it possible, or remove it from the file", std::nullopt, expected,
                       "skipped: " + cell.reason}});
  }
}

}  // namespace

std::vector<RateFault> judge_rates(std::vector<CheckCell>& cells, const RateRules& rules,
                                   FloorResults& results) {
  std::vector<RateFault> faults;
  std::vector<std::size_t> suspects;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_rated(cells[i]) && too_slow(cells[i], cells, rules)) suspects.push_back(i);
  }
  for (const std::size_t i : suspects) measure_again(cells[i], rules);
  for (const CheckCell& cell : cells) {
    if (!is_rated(cell)) continue;
    if (floor_for(cell, rules) != nullptr) ++results.judged;
    const auto slow = too_slow(cell, cells, rules);
    if (!slow) continue;
    faults.push_back(
        {owner_of(cell),
         {cell.id, slow->reason, slow_action, std::nullopt, slow->expected, figure_text(cell)}});
  }
  find_unmeasured(cells, rules, faults);
  return faults;
}

}  // namespace hiptool::accept
