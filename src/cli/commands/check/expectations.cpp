// SPDX-License-Identifier: MIT
#include "cli/commands/check/expectations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "cli/document.hpp"
#include "cli/reports/devices_report.hpp"

namespace hiptool::cli {
namespace {

using accept::CheckedDevice;
using accept::Fault;
using accept::StageResult;
using accept::StageStatus;

accept::GpuCounts count_gpus(const accept::CheckResult& result) {
  accept::GpuCounts counts;
  for (const CheckedDevice& device : result.devices) {
    if (is_gpu(device.platform)) ++counts[device.info.name];
  }
  return counts;
}

}  // namespace

std::optional<Fault> compare_gpu_counts(const accept::Floors& floors, const CheckedMachine& machine,
                                        CheckOutcome& outcome) {
  if (!machine.is_whole || !machine.dead.empty()) return {};
  auto& compared = outcome.result.floors.gpus;
  compared = accept::compare_counts(floors, count_gpus(outcome.result));
  std::vector<std::string> expected;
  std::vector<std::string> got;
  for (const accept::CountedGpus& gpus : compared) {
    if (gpus.found >= gpus.expected) continue;
    expected.push_back(fmt::format("{} {}", gpus.expected, gpus.name));
    got.push_back(fmt::format("{} of {} {}", gpus.found, gpus.expected, gpus.name));
  }
  if (got.empty()) return {};
  return Fault{"gpu-count",
               fmt::format("{} found; {} expects more", fmt::join(got, " and "), floors.path),
               "find the missing GPU with `hiptool devices --doctor` and `sudo dmesg`, check its "
               "power and seating; to check some of the GPUs name them with --device",
               std::nullopt,
               fmt::format("{}", fmt::join(expected, ", ")),
               fmt::format("{}", fmt::join(got, ", "))};
}

void compare_floors(const accept::CheckOptions& options, CheckOutcome& outcome) {
  if (!options.floors) return;
  accept::CheckResult& result = outcome.result;
  const auto level = accept::parse_check_level(options.floors->level);
  std::set<std::string> kinds;
  for (const CheckedDevice& device : result.devices) kinds.insert(device.info.name);
  for (const std::string& kind : kinds) {
    for (const auto& [label, floor] : options.floors->of(kind)) {
      const bool is_measured =
          std::any_of(result.cells.begin(), result.cells.end(),
                      [&, &name = label](const auto& cell) { return cell.label == name; });
      if (is_measured) continue;
      const auto& chosen = outcome.stages;
      const bool is_of_other =
          std::find(chosen.begin(), chosen.end(), accept::stage_of_label(label)) == chosen.end();
      const bool is_of_more = floor.devices > 1;  // which are not chosen here
      const bool is_of_higher = level && *level > options.level;
      if (is_of_other || is_of_more || is_of_higher || result.worst() != nullptr) {
        result.floors.not_measured.push_back(kind + ": " + label);
        continue;
      }
      if (!outcome.error) {
        outcome.error = Error(ErrorCode::invalid_argument, "check",
                              fmt::format("{} expects '{}' of {}, which this run did not measure",
                                          options.floors->path, label, kind),
                              "write the file anew with --write-expect, or remove the measurement");
      }
    }
  }
}

void write_expectations(const CheckedMachine& machine, double margin, ExportFile& file,
                        const std::string& path, CheckOutcome& outcome) {
  const accept::CheckResult& result = outcome.result;
  std::vector<accept::RatedCell> cells;
  for (const accept::CheckCell& cell : result.cells) {
    if (!cell.again || cell.devices.empty()) continue;
    const auto device =
        std::find_if(result.devices.begin(), result.devices.end(),
                     [&](const CheckedDevice& one) { return one.id == cell.devices.front(); });
    if (device != result.devices.end()) cells.push_back({&cell, device->info.name});
  }
  const accept::GpuCounts counts =
      machine.is_whole ? count_gpus(outcome.result) : accept::GpuCounts();
  file.write(accept::floors_text(cells, counts, std::string(to_string(outcome.level)), margin,
                                 iso_time(std::chrono::system_clock::now())));
  outcome.written = path;
}

}  // namespace hiptool::cli
