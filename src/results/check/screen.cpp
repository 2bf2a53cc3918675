// SPDX-License-Identifier: MIT
#include "results/check/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/selection.hpp"
#include "machine/vendor_tools.hpp"

namespace hiptool::results {
namespace {

using accept::CheckedDevice;
using accept::CheckOutcome;
using accept::Fault;
using accept::StageResult;
using accept::StageStatus;
using report::Line;
using report::Tone;

std::string devices_text(const std::vector<CheckedDevice>& devices) {
  const bool are_gpus = std::all_of(devices.begin(), devices.end(), [](const CheckedDevice& one) {
    return machine::is_gpu(one.platform);
  });
  return base::count_of(devices.size(), are_gpus ? "GPU" : "device");
}

/// A fault, and all devices on which the stage found the same.
struct SharedFault {
  const StageResult* stage;
  const Fault* fault;
  std::vector<std::string> devices;  ///< none: the machine
  std::vector<std::string> actions;  ///< each once
  bool differs = false;              ///< the texts are not the same on all of them
};

bool is_shared(const SharedFault& shared, const StageResult& stage, const Fault& fault) {
  return !stage.device.empty() && !shared.devices.empty() && shared.stage->stage == stage.stage &&
         shared.fault->code == fault.code && shared.fault->what == fault.what;
}

void add_shared(std::vector<SharedFault>& list, const StageResult& stage, const Fault& fault) {
  auto found = std::find_if(list.begin(), list.end(),
                            [&](const SharedFault& one) { return is_shared(one, stage, fault); });
  if (found == list.end()) found = list.insert(list.end(), {&stage, &fault, {}, {}, false});
  if (!stage.device.empty()) base::add_once(found->devices, stage.device);
  if (stage.text_of(fault) != found->stage->text_of(*found->fault)) found->differs = true;
  base::add_once(found->actions, fault.action);
}

std::vector<SharedFault> shared_faults(const CheckOutcome& outcome) {
  std::vector<SharedFault> list;
  for (const StageResult* stage : failed_stages(outcome)) {
    for (const Fault& fault : stage->faults) add_shared(list, *stage, fault);
  }
  return list;
}

std::string fault_text(const SharedFault& shared, const CheckOutcome& outcome) {
  const std::size_t count = shared.devices.size();
  const auto& devices = outcome.result.devices;
  std::string who = count == 0 ? "machine" : base::ranges_of(shared.devices);
  if (count > 1 && count == devices.size()) {
    who = fmt::format("all {} ({})", devices_text(devices), who);
  }
  std::string alike;
  if (shared.differs) alike = fmt::format("; alike on the other{}", count > 2 ? "s" : "");
  return fmt::format("{}: {}: {}{} [{}]", who, shared.stage->stage,
                     shared.stage->text_of(*shared.fault), alike, shared.fault->code);
}

/// What the doctor or another stage found that refuses nothing, of one severity: all of it, and
/// which checks of the doctor.
struct Findings {
  std::size_t count = 0;
  std::vector<std::string> doctor_ids;       ///< each once
  std::vector<SharedFault> of_other_stages;  ///< with the devices that share them
};

bool is_checked(const CheckOutcome& outcome, const std::string& device) {
  const auto& devices = outcome.result.devices;
  return device.empty() ||
         std::any_of(devices.begin(), devices.end(),
                     [&device](const CheckedDevice& one) { return one.id == device; });
}

Findings findings_of(const CheckOutcome& outcome, machine::Severity severity) {
  Findings found;
  const auto& stages = outcome.result.stages;
  // On a machine without a GPU it examined nothing, and its stage says so.
  const bool has_doctor = std::any_of(stages.begin(), stages.end(), [](const StageResult& one) {
    return one.stage == "doctor" && one.status != StageStatus::skipped;
  });
  if (has_doctor) {
    for (const machine::Check& check : outcome.doctor) {
      if (check.severity != severity || check.is_moot) continue;
      if (!is_checked(outcome, check.device)) continue;
      ++found.count;
      base::add_once(found.doctor_ids, check.id);
    }
  }
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.stage == "doctor") continue;
    for (const Fault& warning : stage.warnings) {
      if (warning.severity != severity) continue;
      add_shared(found.of_other_stages, stage, warning);
    }
  }
  found.count += found.of_other_stages.size();
  return found;
}

/// What a verdict begins with: "accepted: ".
std::string lead_of(const CheckOutcome& outcome, const char* verdict) {
  return std::string(verdict) + (outcome.has_no_gpu ? ": no GPU found, CPU checked: " : ": ");
}

std::string accepted_text(const CheckOutcome& outcome) {
  const std::size_t skipped = outcome.result.count(StageStatus::skipped);
  const std::size_t warnings = findings_of(outcome, machine::Severity::warn).count;
  const std::size_t unknown = findings_of(outcome, machine::Severity::unknown).count;
  return fmt::format("{}{}, {} each{}{}{}, in {}", lead_of(outcome, "accepted"),
                     devices_text(outcome.result.devices),
                     base::count_of(outcome.stages.size(), "stage"),
                     skipped > 0 ? fmt::format(" ({} skipped)", skipped) : "",
                     warnings > 0 ? ", " + base::count_of(warnings, "warning") : "",
                     unknown > 0 ? fmt::format(", {} not examined", unknown) : "",
                     format_duration(outcome.wall_time_s));
}

Line unfinished_line(const CheckOutcome& outcome) {
  if (outcome.error->code() != ErrorCode::cancelled) {
    const std::string code =
        outcome.error_code.empty() ? "" : fmt::format(" [{}]", outcome.error_code);
    return report::failure_line(fmt::format("refused: {}{}{}",
                                            outcome.has_no_gpu ? "no GPU found; " : "",
                                            outcome.error->what(), code));
  }
  return report::failure_line(
      "interrupted after " +
      base::count_of(outcome.result.count(StageStatus::passed), "passed stage"));
}

// ---- the grid

const StageResult* find_stage(const CheckOutcome& outcome, const std::string& stage,
                              const std::string& device) {
  const auto& stages = outcome.result.stages;
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const StageResult& one) {
    return one.stage == stage && one.device == device;
  });
  return found == stages.end() ? nullptr : &*found;
}

struct GridCell {
  std::string text;  ///< empty: the stage has no result for it
  Tone tone = Tone::plain;
  bool operator==(const GridCell&) const = default;
};

GridCell cell_of(const CheckOutcome& outcome, const std::string& stage, const std::string& device) {
  const StageResult* const result = find_stage(outcome, stage, device);
  if (result == nullptr) {
    const bool is_missing = outcome.result.was_cancelled && !device.empty();
    return is_missing ? GridCell{"not run", Tone::warning} : GridCell{};
  }
  if (result->was_interrupted) return {"interrupted", Tone::warning};
  switch (result->status) {
    case StageStatus::passed: return {"passed", Tone::plain};
    case StageStatus::failed: return {"FAILED", Tone::bad};
    case StageStatus::skipped: break;
  }
  return {"skipped", Tone::warning};
}

/// Devices of one name that fared alike in every stage.
struct GridColumn {
  std::string name;
  std::vector<std::string> devices;
  std::vector<GridCell> cells;  ///< one for each stage

  std::string title() const {
    return devices.front().empty() ? "machine" : base::ranges_of(devices);
  }
};

std::vector<std::string> stages_of(const CheckOutcome& outcome) {
  std::vector<std::string> stages = outcome.stages;
  for (const StageResult& result : outcome.result.stages) base::add_once(stages, result.stage);
  return stages;
}

std::vector<GridColumn> grid_columns(const CheckOutcome& outcome) {
  std::map<std::string, std::string> names;
  std::vector<std::string> ids;
  for (const CheckedDevice& device : outcome.result.devices) {
    names[device.id] = device.info.name;
    ids.push_back(device.id);
  }
  // The machine, and platforms that do not answer.
  for (const StageResult& result : outcome.result.stages) base::add_once(ids, result.device);
  std::stable_partition(ids.begin(), ids.end(), [](const std::string& id) { return id.empty(); });
  std::vector<GridColumn> columns;
  for (const std::string& id : ids) {
    GridColumn column{names[id], {id}, {}};
    for (const std::string& stage : stages_of(outcome)) {
      column.cells.push_back(cell_of(outcome, stage, id));
    }
    const auto same = std::find_if(columns.begin(), columns.end(), [&](const GridColumn& one) {
      const bool are_devices = names.count(id) > 0 && names.count(one.devices.front()) > 0;
      return are_devices && one.name == column.name && one.cells == column.cells;
    });
    if (same == columns.end()) {
      columns.push_back(std::move(column));
    } else {
      same->devices.push_back(id);
    }
  }
  return columns;
}

/// "8 x AMD Instinct MI300X".
std::string counted_devices(const std::vector<CheckedDevice>& devices) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const CheckedDevice& device : devices) {
    const std::string name = device.info.name.empty() ? device.id : device.info.name;
    auto found = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& count) { return count.first == name; });
    if (found == counts.end()) found = counts.insert(counts.end(), {name, 0});
    ++found->second;
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x ", count) : "") + name;
  }
  return text;
}

/// The column whose figures are shown: the one of most devices. Null where 80 columns have no room
/// for them.
const GridColumn* largest_of(const std::vector<GridColumn>& columns) {
  constexpr std::size_t most_columns = 3;
  if (columns.size() > most_columns) return nullptr;
  const GridColumn* largest = nullptr;
  for (const GridColumn& column : columns) {
    if (column.devices.front().empty()) continue;
    if (largest == nullptr || column.devices.size() > largest->devices.size()) largest = &column;
  }
  return largest;
}

/// One line for each stage and reason, with the devices it is of.
void add_skipped(const CheckOutcome& outcome, std::vector<Line>& notes) {
  std::vector<std::pair<const StageResult*, std::vector<std::string>>> skipped;
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.status != StageStatus::skipped) continue;
    auto found = std::find_if(skipped.begin(), skipped.end(), [&](const auto& one) {
      return one.first->stage == stage.stage && one.first->text() == stage.text();
    });
    if (found == skipped.end()) found = skipped.insert(skipped.end(), {&stage, {}});
    found->second.push_back(device_or_machine(stage));
  }
  for (const auto& [stage, devices] : skipped) {
    notes.push_back(
        {Tone::plain, fmt::format("{}{} on {}: {}", stage->was_interrupted ? "" : "skipped ",
                                  stage->stage, base::ranges_of(devices), stage->text())});
  }
}

void add_compared(const CheckOutcome& outcome, std::vector<Line>& notes) {
  const auto& expectations = outcome.result.expectations;
  if (!outcome.expect.empty()) {
    std::size_t gpus = 0;
    for (const accept::CountedGpus& one : expectations.gpus) gpus += one.found;
    std::string text = base::count_of(expectations.judged, "rate");
    if (!expectations.gpus.empty())
      text += " and the number of GPUs, " + std::to_string(gpus) + ",";
    notes.push_back({Tone::plain, text + " compared with " + outcome.expect});
  }
  if (!expectations.why_not_counted.empty()) {
    notes.push_back(
        {Tone::plain, "the number of GPUs was not compared: " + expectations.why_not_counted});
  }
  if (expectations.not_measured.empty()) return;
  const std::size_t more = expectations.not_measured.size() - 1;
  notes.push_back({Tone::plain, fmt::format("not measured here, though expected: {}{}",
                                            expectations.not_measured.front(),
                                            more > 0 ? fmt::format(" and {} more", more) : "")});
}

void add_findings(const CheckOutcome& outcome, std::vector<Line>& notes) {
  const Findings warnings = findings_of(outcome, machine::Severity::warn);
  for (const SharedFault& warning : warnings.of_other_stages) {
    notes.push_back({Tone::warning, "warning: " + fault_text(warning, outcome)});
  }
  const Findings unknown = findings_of(outcome, machine::Severity::unknown);
  for (const SharedFault& one : unknown.of_other_stages) {
    notes.push_back({Tone::plain, "not examined: " + fault_text(one, outcome)});
  }
  if (!warnings.doctor_ids.empty()) {
    const std::size_t count = warnings.count - warnings.of_other_stages.size();
    notes.push_back({Tone::warning, fmt::format("{}: {}; see `hiptool devices --doctor`",
                                                base::count_of(count, "warning"),
                                                fmt::join(warnings.doctor_ids, ", "))});
  }
  if (!unknown.doctor_ids.empty()) {
    notes.push_back({Tone::plain,
                     fmt::format("not examined, for reasons that `hiptool devices --doctor` names: "
                                 "{}",
                                 fmt::join(unknown.doctor_ids, ", "))});
  }
}

}  // namespace

std::string device_or_machine(const StageResult& stage) {
  return stage.device.empty() ? "machine" : stage.device;
}

std::vector<const StageResult*> failed_stages(const CheckOutcome& outcome) {
  std::vector<const StageResult*> failed;
  for (const StageResult& stage : outcome.result.stages) {
    if (stage.status == StageStatus::failed) failed.push_back(&stage);
  }
  std::stable_sort(failed.begin(), failed.end(), [](const auto* left, const auto* right) {
    return accept::is_worse(left->faults.front(), right->faults.front());
  });
  return failed;
}

std::vector<Line> check_verdict(const CheckOutcome& outcome) {
  const std::vector<SharedFault> faults = shared_faults(outcome);
  if (faults.empty() && outcome.error) return {unfinished_line(outcome)};
  std::vector<Line> lines;
  if (faults.empty()) {
    lines.push_back({Tone::good, accepted_text(outcome)});
    if (const std::string unknown = accept::limits_text(outcome); !unknown.empty())
      lines.push_back({Tone::plain, unknown});
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string lead = i == 0 ? lead_of(outcome, "refused") : "";
    lines.push_back({Tone::bad, lead + fault_text(faults[i], outcome), i == 0});
    // Once for faults of a stage that are to be treated alike.
    const bool is_said_below =
        i + 1 < faults.size() && faults[i + 1].stage->stage == faults[i].stage->stage &&
        faults[i + 1].devices == faults[i].devices && faults[i + 1].actions == faults[i].actions;
    if (is_said_below) continue;
    for (const std::string& action : machine::joined_fixes(faults[i].actions)) {
      lines.push_back({Tone::plain, "  to do: " + action});
    }
  }
  if (outcome.result.was_cancelled) {
    lines.push_back({Tone::warning, "interrupted: the other stages are not finished"});
  }
  return lines;
}

report::Table stage_grid(const CheckOutcome& outcome) {
  const std::vector<GridColumn> columns = grid_columns(outcome);
  const GridColumn* const shown = largest_of(columns);
  report::Table table;
  table.title = counted_devices(outcome.result.devices);
  table.columns = {{"stage", "Stage"}};
  for (const GridColumn& column : columns) table.columns.push_back({"status", column.title()});
  if (shown != nullptr) {
    const std::string of =
        outcome.result.devices.size() > 1 ? "Result on " + shown->devices.front() : "Result";
    table.columns.push_back({"result", of, report::Unit::none, true});
  }
  const std::vector<std::string> stages = stages_of(outcome);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto& row = table.rows.emplace_back();
    auto& tones = table.tones.emplace_back();
    row.emplace_back(stages[i]);
    tones.push_back(Tone::plain);
    for (const GridColumn& column : columns) {
      row.push_back(report::text_or_absent(column.cells[i].text));
      tones.push_back(column.cells[i].tone);
    }
    if (shown == nullptr) continue;
    const StageResult* const result = find_stage(outcome, stages[i], shown->devices.front());
    row.push_back(result == nullptr ? report::Value() : report::text_or_absent(result->text()));
  }
  return table;
}

std::vector<Line> check_notes(const CheckOutcome& outcome) {
  std::vector<Line> notes;
  add_skipped(outcome, notes);
  add_compared(outcome, notes);
  for (const std::string& reason : outcome.no_gpu_reasons) notes.push_back({Tone::plain, reason});
  add_findings(outcome, notes);
  if (!outcome.written.empty()) {
    std::string text = "wrote expectations to " + outcome.written;
    if (!outcome.visibility.empty())
      text += ", without the number of GPUs, because " + outcome.visibility + " may hide some";
    notes.push_back({Tone::plain, text});
  }
  if (!outcome.not_written.empty()) {
    notes.push_back({Tone::warning, fmt::format("no expectations were written to {}, because this "
                                                "run did not pass",
                                                outcome.not_written)});
  }
  return notes;
}

}  // namespace hiptool::results
