// SPDX-License-Identifier: MIT
/// Screens of commands that read files: made models, and documents of fixed results.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "harness.hpp"
#include "kept_screen.hpp"
#include "report/document.hpp"
#include "report/report.hpp"

using namespace hiptool;
using namespace hiptool::cli::testing;

namespace {

/// The folder of the files during its lifetime, so that no screen has a path of this machine.
class FilesHere {
 public:
  FilesHere() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.path());
  }
  ~FilesHere() { std::filesystem::current_path(before_); }
  FilesHere(const FilesHere&) = delete;
  FilesHere& operator=(const FilesHere&) = delete;

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

report::Measurement copy_measured(const std::string& kind, double rate) {
  report::Measurement copy;
  copy.id = kind + ".pinned.copy.256MiB@nvidia:0";
  copy.kind = kind;
  copy.source = kind == "h2d" ? "host" : "nvidia:0";
  copy.destination = kind == "h2d" ? "nvidia:0" : "host";
  copy.size_bytes = std::uint64_t{256} << 20;
  copy.set_names();
  for (const double step : {0.0, 0.004, -0.004, 0.008, -0.008, 0.002, -0.002, 0.006, -0.006}) {
    copy.samples_s.push_back(static_cast<double>(copy.size_bytes) / rate * (1 + step));
  }
  copy.median_s = copy.samples_s.front();
  copy.bytes_per_s = rate;
  return copy;
}

/// Writes the document of a run of bench-copy on that host.
void write_document(const std::string& path, const std::string& host, double h2d, double d2h) {
  report::Run run;
  run.command = "bench-copy";
  run.tool_version = "0.2.0";
  run.tool_commit = "0123456789ab";
  run.host = {host, "6.8.0", "AMD EPYC 9554 64-Core Processor", 128, std::uint64_t{1} << 40};
  run.devices = {
      {"nvidia:0", {"NVIDIA H100 80GB HBM3", "sm_90", "0000:65:00.0", "", "570.86", "12.8"}}};
  run.started_at = "2026-03-01T12:00:00Z";
  run.status = "ok";
  run.end(0);
  report::Report report = report::start_report(std::move(run));
  set_measurements(report, {copy_measured("h2d", h2d), copy_measured("d2h", d2h)});
  report.verdict = {{report::Tone::good, "2 measurements on nvidia:0 in 1.20 s"}};
  report.tables = {{"",
                    {{"copy", "Copy"}, {"rate", "Median", report::Unit::rate}},
                    {{"h2d", h2d}, {"d2h", d2h}}}};
  std::ofstream(path) << to_json(report);
}

void check_screens(const std::string& name, const std::vector<std::string>& words,
                   int exit_code = 0) {
  hiptool::test::check_kept_screen(name, [&](std::optional<std::size_t> columns) {
    return screen_of(words, columns, exit_code);
  });
}

}  // namespace

TEST_CASE("the screens of inspect, make-model and load --dry-run") {
  const FilesHere files;
  check_screens("make-model", {"make-model", "made.gguf", "--size", "1MiB", "--force"});
  Machine machine;
  REQUIRE(machine.run({"make-model", "llama.gguf", "--architecture", "llama"}) == 0);
  REQUIRE(machine.run({"make-model", "set.safetensors", "--size", "1MiB", "--shards", "2"}) == 0);
  check_screens("inspect", {"inspect", "made.gguf"});
  check_screens("inspect-set", {"inspect", "set.safetensors.index.json"});
  check_screens("inspect-two", {"inspect", "llama.gguf", "made.gguf"});
  check_screens("inspect-lists", {"inspect", "made.gguf", "--tensors", "--metadata"});
  std::ofstream("text.gguf") << "no model";
  check_screens("inspect-refused", {"inspect", "llama.gguf", "text.gguf"}, 4);
  check_screens("load-plan", {"load", "made.gguf", "--dry-run", "--tensors"});
}

TEST_CASE("the screens of report") {
  const FilesHere files;
  write_document("old.json", "node01", 55.3e9, 52.0e9);
  write_document("new.json", "node01", 55.2e9, 26.1e9);
  write_document("node02.json", "node02", 55.1e9, 52.3e9);
  write_document("node03.json", "node03", 54.9e9, 51.8e9);
  check_screens("report-render", {"report", "render", "old.json", "--format", "table"});
  check_screens("report-compare", {"report", "compare", "old.json", "node02.json"});
  check_screens("report-compare-slower", {"report", "compare", "old.json", "new.json"}, 1);
  check_screens("report-merge", {"report", "merge", "old.json", "node02.json", "node03.json"});
  check_screens("report-merge-straggler",
                {"report", "merge", "new.json", "node02.json", "node03.json"}, 1);
}
