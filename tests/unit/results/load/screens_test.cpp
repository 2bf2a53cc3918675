// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "core/platform_state.hpp"
#include "harness.hpp"
#include "kept_screen.hpp"
#include "model_writer/model_writer.hpp"
#include "report/text.hpp"
#include "results/load/report.hpp"

using namespace hiptool;
using results::LoadOutcome;

namespace {

std::vector<Device> load_devices(std::size_t count) {
  static Platforms platforms =
      core::make_platforms(Platforms::Options{}, std::make_shared<cli::testing::FakeBinder>(2));
  std::vector<Device> devices = platforms.devices(Platform::nvidia);
  devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(count), devices.end());
  return devices;
}

// The folder of a model is not shown, only its name.
const ModelFile& made_model() {
  static const test::TemporaryFolder folder;
  static const ModelFile model = [] {
    model_writer::ModelWriterOptions options;
    options.path = folder.path() / "llama.gguf";
    options.decoder = model_writer::SampleDecoder{};
    options.decoder->architecture = "llama";
    return ModelFile::open(model_writer::write_model(options).path);
  }();
  return model;
}

LoadPlan plan_of(std::size_t count) {
  LoadPlan plan;
  for (const Device& device : load_devices(count)) plan.devices.push_back({device, {}});
  const auto tensors = made_model().tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ArenaLayout& layout = plan.devices[i * count / tensors.size()].layout;
    layout.placements.push_back({static_cast<std::uint32_t>(i), layout.arena_bytes});
    layout.tensor_bytes += tensors[i].size_bytes;
    layout.arena_bytes += tensors[i].size_bytes;
  }
  return plan;
}

LoadOutcome verified(std::size_t devices) {
  LoadOutcome outcome;
  outcome.status = LoadStatus::verified;
  outcome.verify_mode = VerifyMode::full;
  outcome.model = made_model();
  outcome.summary = summarize(made_model());
  outcome.plan = plan_of(devices);
  outcome.device_names.assign(devices, "NVIDIA H100 80GB HBM3");
  outcome.chosen_devices = devices;
  const std::uint64_t bytes = made_model().tensor_bytes();
  LoadStatistics load;
  load.load_time_s = 0.004;
  load.copied_bytes = load.read_bytes = load.buffered_bytes = bytes;
  load.readers = 4;
  load.slots = 8;
  load.slot_bytes = std::uint64_t{16} << 20;
  outcome.statistics = load;
  for (std::size_t i = 0; i < devices; ++i) {
    LoadStatistics part;
    part.copied_bytes = outcome.plan->devices[i].layout.tensor_bytes;
    part.copy_time_s = 0.002;
    outcome.device_statistics.push_back(part);
  }
  outcome.limits.h2d_bytes_per_s = 1.25 * static_cast<double>(bytes) / load.load_time_s;
  VerifyResult check;
  check.blocks = 40;
  check.compared_bytes = bytes;
  check.model_digest = 0x0123456789abcdef;
  check.tensor_digests.assign(made_model().tensors().size(), 0xfedcba9876543210);
  outcome.verification = check;
  outcome.phases = {{"start", 0, 0.1},        {"allocate", 0.1, 0.001},  {"load", 0.101, 0.004},
                    {"digest", 0.105, 0.002}, {"verify", 0.107, 0.0005}, {"probe", 0.11, 0.02}};
  outcome.process_verdict_time_s = 0.108;
  outcome.wall_time_s = 0.131;
  return outcome;
}

// A file that was not in the page cache.
LoadOutcome read_from_disk() {
  LoadOutcome outcome = verified(1);
  outcome.verify_mode = VerifyMode::fast;
  outcome.cached_bytes = 0;
  LoadStatistics& load = *outcome.statistics;
  load.load_time_s = 0.104;
  load.direct_bytes = load.read_bytes / 4 * 3;
  load.buffered_bytes -= load.direct_bytes;
  load.direct_engine = "io_uring";
  load.read_notes = {"the first 256 KiB while the driver started"};
  return outcome;
}

LoadOutcome wrong_bytes() {
  LoadOutcome outcome = verified(1);
  outcome.status = LoadStatus::mismatch;
  const TensorInfo& tensor = made_model().tensors()[3];
  outcome.verification->mismatch_count = 1;
  outcome.verification->mismatches = {{tensor.name, 0, 70'000, 68'000, 1, "nvidia:0"}};
  outcome.verification->wrong_devices = {{"nvidia:0", 40, 1}};
  return outcome;
}

LoadOutcome stopped_load() {
  LoadOutcome outcome = verified(1);
  outcome.status = LoadStatus::interrupted;
  outcome.verification.reset();
  outcome.statistics.reset();
  outcome.limits = {};
  outcome.done_bytes = made_model().tensor_bytes() / 2;
  outcome.phases.resize(2);
  return outcome;
}

reference::ProveResult proof(std::size_t layers) {
  reference::ProveResult result;
  for (std::size_t i = 0; i < layers; ++i) {
    result.layers.push_back({i, 1e-6 * static_cast<double>(i + 1), 1e-5});
  }
  return result;
}

LoadOutcome proved() {
  LoadOutcome outcome = verified(1);
  results::ProveOutcome& prove = outcome.prove.emplace();
  prove.devices = {"nvidia:0"};
  prove.prompt_ids = {1, 2, 3, 5, 8, 13, 21, 34};
  prove.result = proof(3);
  prove.result.logits = reference::LogitsResult{8, 2.4e-6, 1e-4, 1.02};
  prove.model_layers = 3;
  return outcome;
}

LoadOutcome wrong_proof() {
  LoadOutcome outcome = proved();
  reference::WrongValue wrong;
  wrong.layer = 1;
  wrong.stage = "attention_output";
  wrong.tensor = "blk.1.attn_output.weight";
  wrong.type = "Q4_K";
  wrong.device = "nvidia:0";
  wrong.position = 5;
  wrong.row = 17;
  wrong.rows = 96;
  wrong.expected = 0.125;
  wrong.got = -3.5;
  wrong.bound = 1.1e-5;
  wrong.wrong_values = 8;
  wrong.values = 768;
  wrong.repeats = true;
  outcome.prove->result.layers[1] = {1, 3.625, 1.1e-5, wrong};
  outcome.prove->result.first_wrong = wrong;
  return outcome;
}

LoadOutcome stopped_proof() {
  LoadOutcome outcome = proved();
  outcome.prove->result = proof(2);
  outcome.prove->is_interrupted = true;
  return outcome;
}

LoadOutcome decoded() {
  LoadOutcome outcome = verified(1);
  results::DecodeOutcome& decode = outcome.decode.emplace();
  decode.devices = {"nvidia:0"};
  decode.prompt_ids = {1, 2, 3};
  decode.ids = {5, 8, 13, 21};
  decode.wanted = 4;
  decode.logits_digest = 0x1122334455667788;
  decode.tokens_per_s = 35.1;
  decode.share_of_peak = 0.61;
  return outcome;
}

report::Report load_report(const LoadOutcome& outcome, const char* command, int exit_code) {
  report::Run run;
  run.command = command;
  const Error stopped(ErrorCode::cancelled, "load", "interrupted");
  run.end(exit_code, results::load_failures(outcome));
  return results::make_load_report(std::move(run), outcome, exit_code == 130 ? &stopped : nullptr,
                                   {});
}

std::vector<std::pair<std::string, report::Report>> load_reports() {
  std::vector<std::pair<std::string, report::Report>> reports;
  reports.emplace_back("load-1", load_report(verified(1), "load", 0));
  reports.emplace_back("load-2", load_report(verified(2), "load", 0));
  reports.emplace_back("load-1-disk", load_report(read_from_disk(), "load", 0));
  reports.emplace_back("load-1-wrong", load_report(wrong_bytes(), "load", 5));
  reports.emplace_back("load-1-interrupted", load_report(stopped_load(), "load", 130));
  reports.emplace_back("load-decode", load_report(decoded(), "load", 0));
  reports.emplace_back("prove", load_report(proved(), "prove", 0));
  reports.emplace_back("prove-wrong", load_report(wrong_proof(), "prove", 5));
  reports.emplace_back("prove-interrupted", load_report(stopped_proof(), "prove", 130));
  return reports;
}

}  // namespace

TEST_CASE("the screens of load and prove") {
  for (const auto& [name, report] : load_reports()) {
    test::check_kept_screen(name, report);
  }
}
