// SPDX-License-Identifier: MIT
#include "results/devices/doctor.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "cli/document.hpp"
#include "harness.hpp"
#include "report/document.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;
using machine::Check;
using machine::Severity;

namespace {

const std::vector<Check> some_checks{
    {"kfd-perm", Severity::fail, "", "no permission", "/dev/kfd", "opens", "do this"},
    {"large-bar", Severity::warn, "amd:1", "256 MiB", "sysfs", "all", "do that"},
    {"large-bar", Severity::warn, "amd:2", "256 MiB", "sysfs", "all", "do that"},
    {"memlock", Severity::info, "", "8 MiB", "limits", "", ""},
    {"xid", Severity::unknown, "", "no NVIDIA GPU", "bus", "", "look there"},
    {"uvm", Severity::unknown, "", "no NVIDIA GPU", "bus", "", "look there"},
    {"wsl", Severity::pass, "", "not WSL", "kernel", "", ""},
};

std::string text_of(const std::vector<report::Line>& lines) {
  std::string text;
  for (const report::Line& line : lines) text += line.text + "\n";
  return text;
}

void add_gpu(const TemporaryFolder& root, const std::string& bus_id, const std::string& vendor) {
  const auto folder = root.path() / "sys/bus/pci/devices" / bus_id;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "vendor") << vendor << "\n";
  std::ofstream(folder / "device") << "0x744c\n";
  std::ofstream(folder / "class") << "0x030000\n";
}

}  // namespace

TEST_CASE("doctor: the verdict counts, names what is wrong once, and has its colour") {
  const report::Line line = results::doctor_verdict(some_checks, true);
  CHECK(line.text == "1 check failed, 2 warn: kfd-perm, large-bar; 1 passed, 2 unknown");
  CHECK(line.tone == report::Tone::bad);
  std::vector<Check> both = some_checks;
  both.push_back({"kfd-perm", Severity::warn, "", "slow", "/dev/kfd", "", "do this"});
  CHECK(results::doctor_verdict(both, true).text ==
        "1 check failed, 3 warn: kfd-perm, large-bar; 1 passed, 2 unknown");
  CHECK(results::doctor_exit_code(some_checks) == 1);
  const std::vector<Check> good{some_checks[3], some_checks[4], some_checks[6]};
  CHECK(results::doctor_verdict(good, true).text == "no check failed; 1 passed, 1 unknown");
  CHECK(results::doctor_verdict(good, true).tone == report::Tone::good);
  CHECK(results::doctor_verdict(good, false).text ==
        "1 host check passed, 1 unknown without a GPU");
  CHECK(results::doctor_exit_code(good) == 0);
  CHECK(results::doctor_verdict({some_checks[1]}, true).tone == report::Tone::warning);
  CHECK(results::doctor_exit_code({some_checks[1]}) == 0);
}

TEST_CASE(
    "doctor: the worst comes first, each with what to do; the rest in a line for each reason") {
  CHECK(text_of(results::finding_lines(some_checks, false)) ==
        "fail kfd-perm: no permission\n"
        "  fix: do this\n"
        "warn large-bar: 256 MiB\n"
        "  fix: do that\n"
        "warn large-bar: 256 MiB\n"
        "  fix: do that\n"
        "info memlock: 8 MiB\n"
        "unknown xid, uvm: no NVIDIA GPU\n"
        "pass wsl\n");
  const std::string all = text_of(results::finding_lines(some_checks, true));
  CHECK(contains(all, "unknown uvm: no NVIDIA GPU\n  fix: look there\n  read from bus\n"));
  CHECK(contains(all, "  read from /dev/kfd; expected: opens\n"));
  CHECK(contains(all, "pass wsl: not WSL\n"));
}

TEST_CASE("doctor: documents and tables have each field; what is empty is null") {
  report::Report report;
  report.document = {{"checks", report::objects_of(results::checks_table(some_checks))}};
  const std::string text = report::to_json(report);
  CHECK(contains(text, "\"severity\": \"warn\",\n      \"device\": \"amd:1\""));
  CHECK(contains(text, "\"device\": null"));
  CHECK(contains(text, "\"fix\": null"));
  const report::Table table = results::checks_table(some_checks);
  CHECK(table.rows.size() == some_checks.size());
  CHECK(table.rows.front().size() == table.columns.size());
}

TEST_CASE("doctor: a GPU that no runtime shows is examined, and its trouble is exit 1") {
  const TemporaryFolder root;
  add_gpu(root, "0000:03:00.0", "0x1002");
  Machine machine;
  machine.system_root = root.path();
  CHECK(machine.run({"devices", "--doctor", "--format", "json"}) == 1);
  CHECK(contains(machine.out.text, "\"id\": \"kfd-missing\",\n      \"severity\": \"fail\""));
  CHECK(contains(machine.out.text, "\n  \"status\": \"failed\",\n  \"exit_code\": 1,"));
  CHECK(contains(machine.out.text, "\"what\": \"kfd-missing\",\n      \"kind\": \"finding\""));
  CHECK(machine.run({"devices", "--doctor"}) == 1);
  CHECK(contains(machine.out.text, "driver-bound, kfd-missing"));
  CHECK(contains(machine.out.text, "\n  fix: run `sudo modprobe amdgpu`"));
  CHECK(widest_line(machine.out.text) <= 80);
}

TEST_CASE("doctor: what was not asked for is not examined") {
  const TemporaryFolder root;
  add_gpu(root, "0000:03:00.0", "0x1002");
  Machine machine;
  machine.system_root = root.path();
  machine.gpus = 2;
  CHECK(machine.run({"devices", "--doctor", "--platform", "nvidia"}) == 0);
  CHECK_FALSE(contains(machine.out.text, "0000:03:00.0"));
  CHECK(machine.run({"devices", "nvidia:1", "--doctor"}) == 0);
  // The fake's processor has no image for NVIDIA.
  CHECK(starts_with(machine.out.text, "1 check warns: gfx-target;"));
  CHECK_FALSE(contains(machine.out.text, "nvidia:0"));
  CHECK(machine.run({"devices", "-d", "all", "--doctor", "--format", "csv"}) == 0);
  CHECK(starts_with(machine.out.text, "id,severity,device,"));
  CHECK(contains(machine.out.text, "\ngfx-target,warn,nvidia:1,"));
  CHECK_FALSE(contains(machine.out.text, "\n\n"));
  CHECK(machine.run({"devices", "nvidia:9", "--doctor"}) == 3);
}

TEST_CASE("doctor: without any GPU nothing was examined; an unmet requirement goes first") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  CHECK(machine.run({"devices", "--doctor"}) == 3);
  CHECK(contains(machine.err.text, "only the host was checked"));
  const std::string first = machine.out.text.substr(0, machine.out.text.find('\n'));
  CHECK(contains(first, "no GPU found; only the host was checked"));
  CHECK(machine.run({"devices", "--doctor", "--require", "amd"}) == 3);
  CHECK(contains(machine.err.text, "required kind 'amd'"));
}

TEST_CASE("doctor: on a terminal a laptop without a GPU has one line in red") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  machine.out.terminal = true;
  machine.variables["LINES"] = "200";  // on a small screen the verdict is also the last line
  CHECK(machine.run({"devices", "--doctor", "--color", "always"}) == 3);
  const std::string all = machine.out.text + machine.err.text;
  CHECK(starts_with(all, "\x1b[31mFAILED: no GPU found"));
  CHECK(all.find("\x1b[31m") == all.rfind("\x1b[31m"));
  CHECK_FALSE(contains(all, "\x1b[1;31m"));
  CHECK(all.find("no GPU found; only") == all.rfind("no GPU found; only"));
  CHECK(contains(machine.err.text, "lspci"));
  // A program that reads standard error sees the reason there.
  machine.out.terminal = false;
  CHECK(machine.run({"devices", "--doctor"}) == 3);
  CHECK(contains(machine.err.text, "error: no GPU found"));
}

TEST_CASE("devices: an unmet requirement leads, and nothing after it is shown as good") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  machine.gpus = 1;
  machine.out.terminal = true;
  CHECK(machine.run({"devices", "--require", "amd", "--color", "always"}) == 3);
  CHECK(contains(machine.out.text.substr(0, machine.out.text.find('\n')),
                 "no usable device of the required kind 'amd'"));
  CHECK(starts_with(machine.out.text, "\x1b[31m"));
  CHECK_FALSE(contains(machine.out.text, "\x1b[32m"));
}

TEST_CASE("doctor and topology: CSV is one table, of both that of the checks") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  machine.gpus = 2;
  const std::pair<std::vector<std::string>, const char*> starts[] = {
      {{"--doctor"}, "id,severity,device,"},
      {{"--topology"}, "from,to,kind,"},
      {{"--doctor", "--topology"}, "id,severity,device,"},
      {{}, "id,platform,ordinal,"}};
  for (const auto& one : starts) {
    const auto& options = one.first;
    const std::string start = one.second;
    std::vector<std::string> words{"devices", "--format", "csv"};
    words.insert(words.end(), options.begin(), options.end());
    CHECK(machine.run(words) == 0);
    CAPTURE(start);
    CHECK(starts_with(machine.out.text, start));
    CHECK_FALSE(contains(machine.out.text, "\n\n"));
  }
}

TEST_CASE("topology: a matrix and its pairs for people, links for programs") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  machine.gpus = 3;
  CHECK(machine.run({"devices", "--topology"}) == 0);
  CHECK(contains(machine.out.text, "\nLinks between devices\nnvidia  0  1  2\n"));
  CHECK(contains(machine.out.text, "\n1       ?  X  ?\n"));
  CHECK(contains(machine.out.text, "\nlinks: ? not reported\n"));
  CHECK(machine.run({"devices", "--topology", "--format", "csv"}) == 0);
  CHECK(contains(machine.out.text, "\nnvidia:2,nvidia:1,unknown,,,true,,0,true\n"));
  machine.gpus = 5;  // 20 pairs: only on request
  CHECK(machine.run({"devices", "--topology"}) == 0);
  CHECK_FALSE(contains(machine.out.text, "\nPairs: "));
  CHECK(machine.run({"devices", "--topology", "--verbose"}) == 0);
  CHECK(contains(machine.out.text,
                 "\nPairs: links, access to the peer's memory, NUMA distance\nFrom "));
  machine.gpus = 1;
  CHECK(machine.run({"devices", "--topology"}) == 0);
  CHECK(contains(machine.out.text, "fewer than two GPUs"));
  CHECK_FALSE(contains(machine.out.text, "Links between"));
}
