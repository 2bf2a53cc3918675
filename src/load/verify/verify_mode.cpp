// SPDX-License-Identifier: MIT
#include "load/verify/verify_mode.hpp"

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "system/residency.hpp"

namespace hiptool::load {
namespace {

std::optional<std::uint64_t> cached_bytes(const ModelFile& model) {
  std::uint64_t cached = 0;
  for (const ModelPart& part : model.files()) {
    const auto bytes = system::estimate_cached_bytes(part.path);
    if (!bytes) return std::nullopt;
    cached += *bytes;
  }
  return cached;
}

}  // namespace

bool is_warm(const ModelFile& model, const LoadReport& report) {
  return !report.cached_bytes || *report.cached_bytes >= model.file_bytes() / 10 * 9;
}

void choose_verify_mode(const ModelFile& model, VerifyMode wanted, LoadReport& report) {
  if (!report.cached_bytes) report.cached_bytes = cached_bytes(model);
  report.verify_mode = wanted;
  report.is_read_back = wanted == VerifyMode::readback;
  if (wanted != VerifyMode::automatic) return;
  // A second reading of a file that is not cached would double the time of the load.
  const bool reads_twice = is_warm(model, report);
  report.verify_mode = reads_twice ? VerifyMode::full : VerifyMode::fast;
  if (!reads_twice) report.verify_note = "the file is not cached, so it is read only once";
}

void note_cost_of_full(LoadReport& report) {
  if (report.verify_mode != VerifyMode::fast) return;
  report.verify_note += "; full verification would read it again, which takes about " +
                        format_duration(report.statistics->load_time_s);
}

}  // namespace hiptool::load
