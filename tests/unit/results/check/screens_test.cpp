// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>

#include "kept_screen.hpp"
#include "report/text.hpp"
#include "results/check/report.hpp"

using namespace hiptool;
using namespace hiptool::accept;

namespace {

const std::vector<std::pair<std::string, std::string>> figures{
    {"doctor", "23 checks passed"},
    {"copy", "h2d 52.4 GB/s, d2h 51.0 GB/s, d2d 1.29 TB/s, peers from 371 GB/s"},
    {"memory", "memtest-address u32 2.61 TB/s, memtest-random u32 2.58 TB/s"},
    {"kernels", "stream-triad f32 3.02 TB/s, fma f32 60.1 TFLOP/s, wmma f16 612 TFLOP/s"},
    {"operations", "9 operations, 242 cases"},
    {"libraries", "matmul by cublas 598 TFLOP/s, conv2d by cudnn 41.0 TFLOP/s"},
    {"model", "8 tokens, logits within 2.4e-06 standard deviations of float64"}};

StageResult passed(const std::string& stage, const std::string& device, const std::string& text) {
  StageResult result;
  result.stage = stage;
  result.device = device;
  result.status = StageStatus::passed;
  result.figures = text;
  result.time_s = 1;
  return result;
}

CheckOutcome accepted(int gpus) {
  CheckOutcome outcome;
  for (const auto& [stage, text] : figures) outcome.stages.push_back(stage);
  outcome.spread = 0.05;
  outcome.wall_time_s = 11.8;
  for (int i = 0; i < gpus; ++i) {
    CheckedDevice device;
    device.id = "nvidia:" + std::to_string(i);
    device.platform = Platform::nvidia;
    device.info.name = "NVIDIA H100 80GB HBM3";
    device.has_passed = true;
    outcome.result.devices.push_back(device);
  }
  outcome.result.stages.push_back(passed("doctor", "", "17 checks passed"));
  for (const auto& [stage, text] : figures) {
    for (const CheckedDevice& device : outcome.result.devices) {
      outcome.result.stages.push_back(passed(stage, device.id, text));
    }
    if (stage == "copy" && gpus > 1) {
      outcome.result.stages.push_back(passed("copy", "", "h2d-all 401 GB/s, d2h-all 388 GB/s"));
    }
  }
  return outcome;
}

StageResult& stage_of(CheckOutcome& outcome, const std::string& stage, const std::string& device) {
  auto& stages = outcome.result.stages;
  return *std::find_if(stages.begin(), stages.end(), [&](const StageResult& one) {
    return one.stage == stage && one.device == device;
  });
}

void add_slow(CheckOutcome& outcome, int gpu, const std::string& rate, const std::string& what) {
  const std::string device = "nvidia:" + std::to_string(gpu);
  StageResult& stage = stage_of(outcome, "copy", device);
  stage.status = StageStatus::failed;
  stage.faults.push_back(
      {machine::codes::copy_rate, what, device, rate + ", at least 48.0 GB/s expected by gpus.json",
       "check the slot and the link with `hiptool devices --doctor`", std::nullopt, 48e9, 24e9});
}

CheckOutcome refused(int gpus) {
  CheckOutcome outcome = accepted(gpus);
  if (gpus == 2) {  // the same on all
    add_slow(outcome, 0, "24.1 GB/s", "h2d.pinned.copy.256MiB");
    add_slow(outcome, 1, "24.3 GB/s", "h2d.pinned.copy.256MiB");
    return outcome;
  }
  if (gpus == 8) add_slow(outcome, 3, "24.1 GB/s", "h2d.pinned.copy.256MiB");
  if (gpus == 8) add_slow(outcome, 3, "23.0 GB/s", "d2h.pinned.copy.256MiB");
  const std::string device = "nvidia:" + std::to_string(gpus - 1);
  StageResult& memory = stage_of(outcome, "memory", device);
  memory.status = StageStatus::failed;
  memory.faults.push_back({machine::codes::memory_data, "memtest-random.u32.256MiB", device,
                           "1 value wrong, the first at 1000, bits 0x10",
                           "reset the GPU and check it again; replace it if that repeats",
                           Error(ErrorCode::data_mismatch, "check", "wrong data")});
  outcome.error = memory.faults.front().error;
  return outcome;
}

CheckOutcome interrupted(int gpus) {
  CheckOutcome outcome = accepted(gpus);
  auto& stages = outcome.result.stages;
  std::erase_if(stages, [](const StageResult& one) {
    return one.stage != "doctor" && one.stage != "copy" && one.stage != "memory";
  });
  for (StageResult& stage : stages) {
    if (stage.stage != "memory") continue;
    stage.status = StageStatus::skipped;
    stage.reason = "interrupted";
    stage.was_interrupted = true;
    stage.figures = "memtest-address u32 2.61 TB/s";
  }
  outcome.result.was_cancelled = true;
  outcome.error = Error(ErrorCode::cancelled, "check", "interrupted");
  return outcome;
}

report::Report report_of(const CheckOutcome& outcome, int exit_code) {
  report::Run run;
  run.command = "check";
  run.end(exit_code);
  return results::check_report(std::move(run), outcome);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("the screens of check") {
  for (const int gpus : {1, 2, 8}) {
    const std::string name = "check-" + std::to_string(gpus);
    test::check_kept_screen(name + "-accepted", report_of(accepted(gpus), 0));
    test::check_kept_screen(name + "-refused", report_of(refused(gpus), gpus == 2 ? 1 : 5));
    test::check_kept_screen(name + "-interrupted", report_of(interrupted(gpus), 130));
  }
}

TEST_CASE("in a pipe check has the figures and faults of each stage") {
  for (const int gpus : {1, 2, 8}) {
    for (const CheckOutcome& outcome : {accepted(gpus), refused(gpus), interrupted(gpus)}) {
      const std::string pipe = report::to_table(report_of(outcome, 1), {1'000'000, false, true, 0});
      for (const StageResult& stage : outcome.result.stages) {
        const bool has_failed = stage.status == StageStatus::failed;
        CHECK_MESSAGE((has_failed || pipe.find(stage.figures) != std::string::npos), stage.figures);
        for (const Fault& fault : stage.faults) CHECK(pipe.find(fault.reason) != std::string::npos);
      }
    }
  }
}

TEST_CASE("check on a terminal: the verdict ends a report that is longer than the screen") {
  const report::Report report = report_of(refused(8), 5);
  const std::string first = report.verdict.front().text;
  CHECK(first ==
        "refused: nvidia:7: memory: memtest-random.u32.256MiB: 1 value wrong, the first "
        "at 1000, bits 0x10 [HT-MEMORY-DATA]");
  CHECK(count_of(report::to_table(report, {200, false, true, 10}), first) == 2);
  CHECK(count_of(report::to_table(report, {200, false, true, 100}), first) == 1);
  CHECK(count_of(report::to_table(report, {200, false, true, 0}), first) == 1);
}

TEST_CASE("a fault of all GPUs is one line, a fault of one names it") {
  const report::Report both = report_of(refused(2), 1);
  REQUIRE(both.verdict.size() == 2);
  CHECK(both.verdict[0].text ==
        "refused: all 2 GPUs (nvidia:0-1): copy: h2d.pinned.copy.256MiB: 24.1 GB/s, at least 48.0 "
        "GB/s expected by gpus.json; alike on the other [HT-COPY-RATE]");
  CHECK(both.verdict[1].text ==
        "  to do: check the slot and the link with `hiptool devices --doctor`");
  // Two faults of one GPU that are to be treated alike, and the worse one of another before them.
  const report::Report eight = report_of(refused(8), 5);
  REQUIRE(eight.verdict.size() == 5);
  CHECK(eight.verdict[2].text.starts_with("nvidia:3: copy: h2d.pinned.copy.256MiB: 24.1 GB/s"));
  CHECK(eight.verdict[3].text.starts_with("nvidia:3: copy: d2h.pinned.copy.256MiB: 23.0 GB/s"));
}

TEST_CASE("the grid groups GPUs that fared alike and shows what an interrupt left") {
  const report::Table grid = report_of(refused(8), 5).tables.front();
  CHECK(grid.title == "8 x NVIDIA H100 80GB HBM3");
  std::vector<std::string> titles;
  for (const report::Column& column : grid.columns) titles.push_back(column.title);
  CHECK(titles == std::vector<std::string>{"Stage", "machine", "nvidia:0-2, nvidia:4-6", "nvidia:3",
                                           "nvidia:7"});
  const auto text_at = [](const report::Table& table, std::size_t row, std::size_t column) {
    return report::format_value(table.at(row, column), report::Unit::none);
  };
  CHECK(text_at(grid, 1, 3) == "FAILED");
  CHECK(grid.tone_at(1, 3) == report::Tone::bad);
  CHECK(text_at(grid, 1, 4) == "passed");
  CHECK(text_at(grid, 2, 4) == "FAILED");
  const report::Table stopped = report_of(interrupted(2), 130).tables.front();
  CHECK(text_at(stopped, 2, 2) == "interrupted");
  CHECK(text_at(stopped, 2, 3) == "interrupted; until then: memtest-address u32 2.61 TB/s");
  CHECK(text_at(stopped, 3, 2) == "not run");
}

TEST_CASE("an accepted machine counts what was not examined") {
  CheckOutcome outcome = accepted(1);
  outcome.doctor.push_back(
      {"xid", machine::Severity::unknown, "", "no permission", "dmesg", "", "run it as root"});
  outcome.doctor.push_back({"ecc", machine::Severity::unknown, "nvidia:7", "?", "?", "", "?"});
  const report::Report report = report_of(outcome, 0);
  CHECK(report.verdict.front().text == "accepted: 1 GPU, 7 stages each, 1 not examined, in 11.8 s");
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0].text ==
        "not examined, for reasons that `hiptool devices --doctor` names: xid");
}
