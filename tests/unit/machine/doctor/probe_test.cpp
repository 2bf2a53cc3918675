// SPDX-License-Identifier: MIT
#include "machine/doctor/probe.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../system/synthetic_tree.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::machine;

namespace {

using AnswerKind = PlatformAnswer::Kind;
using std::chrono::milliseconds;

/// A program in the place of hiptool: a shell script.
class ProbeScript {
 public:
  explicit ProbeScript(const std::string& text) {
    tree_.write("program", "#!/bin/sh\n" + text);
    REQUIRE(chmod(path().c_str(), 0755) == 0);
  }
  std::filesystem::path path() const { return tree_.root() / "program"; }

 private:
  system::SyntheticTree tree_;
};

const std::string good_status = R"(echo '{"record":"status","usable":true,"device_count":1}')"
                                "\n";

std::vector<ProbeResult> ask(const ProbeScript& script, const std::vector<Platform>& platforms,
                             milliseconds patience = milliseconds(300)) {
  const CancelToken cancel;
  return probe_in_children(script.path(), platforms, {}, {patience, milliseconds(60000)}, cancel);
}

Platforms::Options cpu_devices(int count) {
  Platforms::Options options;
  options.cpu_devices = count;
  return options;
}

}  // namespace

TEST_CASE("probe: devices, each pair of them, and what is tried before it is tried") {
  Platforms platforms(cpu_devices(3));
  const test::TemporaryFolder root;  // of a machine without GPUs, whatever this one has
  ProbeOptions options;
  options.root = root.path();
  options.copy_time = milliseconds(1);
  std::vector<std::string> names;
  ProbeResult result;
  probe_platform(platforms, Platform::cpu, options, [&](const Record& record) {
    names.push_back(record.name);
    apply(record, options.root, result);
  });
  CHECK(result.gpus.size() == 3);
  CHECK(result.peers.size() == 6);
  for (const PeerAnswer& peer : result.peers) CHECK(peer.is_copy_right == true);
  CHECK(names.front() == "step");
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == "peer") CHECK(names[i - 1] == "step");
  }
  options.with_copies = false;
  CHECK(probe_here(platforms, Platform::cpu, options).peers.empty());
}

TEST_CASE("probe: children are asked at once and given their platform and root") {
  // Each opens a pipe that the other one opens too, so that neither ends without the other.
  const ProbeScript script(R"(echo '{"record":"status","reason":"'"$1 $2 $3"'"}')"
                           "\ncd \"${0%/*}\"\nmkfifo meeting 2>&-\n"
                           "if [ $2 = amd ]; then echo > meeting; else read line < meeting; fi\n");
  const auto results = ask(script, {Platform::amd, Platform::nvidia}, test::hang_guard);
  REQUIRE(results.size() == 2);
  CHECK(results[0].answer.status.reason == "probe-platform amd /");
  CHECK(results[1].answer.status.reason == "probe-platform nvidia /");
  CHECK(results[1].answer.status.platform == Platform::nvidia);
  CHECK(results[0].answer.kind == AnswerKind::answered);
}

TEST_CASE("probe: one that hangs is left, what it told stands, the other one is not concerned") {
  const ProbeScript script(
      "if [ $2 = amd ]; then " + good_status +
      R"(echo '{"record":"step","what":"copying to amd:0"}'; exec sleep 60; fi)"
      "\n" +
      good_status);
  // A machine that is busy may need longer to start the shells.
  std::vector<ProbeResult> results;
  milliseconds patience(300);
  for (; patience < test::hang_guard; patience *= 4) {
    results = ask(script, {Platform::amd, Platform::nvidia}, patience);
    if (results[0].answer.detail == "copying to amd:0" &&
        results[1].answer.kind == AnswerKind::answered)
      break;
  }
  CHECK(results[0].answer.kind == AnswerKind::hung);
  CHECK(results[0].answer.detail == "copying to amd:0");
  CHECK(results[0].answer.status.usable);
  CHECK(results[0].answer.after_s >= 0.29);  // the shortest patience
  CHECK(results[1].answer.kind == AnswerKind::answered);
}

TEST_CASE("probe: news keeps a slow one alive") {
  // It takes longer than the patience, each part of it a fifth; busy machines need more of both.
  AnswerKind kind = AnswerKind::hung;
  for (milliseconds patience(500); kind == AnswerKind::hung && patience < test::hang_guard;
       patience *= 4) {
    const std::string pause_s = std::to_string(static_cast<double>(patience.count()) / 5000);
    const ProbeScript script("for i in 1 2 3 4 5 6; do sleep " + pause_s + "; echo; done\n" +
                             good_status);
    kind = ask(script, {Platform::amd}, patience)[0].answer.kind;
  }
  CHECK(kind == AnswerKind::answered);
}

TEST_CASE("probe: a signal or an exit code is a crash and says while doing what") {
  const std::string step = R"(echo '{"record":"step","what":"starting it"}')"
                           "\n";
  const auto killed = ask(ProbeScript(step + "kill -SEGV $$\n"), {Platform::nvidia});
  CHECK(killed[0].answer.kind == AnswerKind::crashed);
  CHECK(killed[0].answer.detail.find("signal 11") != std::string::npos);
  CHECK(killed[0].answer.detail.find("while starting it") != std::string::npos);
  CHECK_FALSE(killed[0].answer.status.reason.empty());
  const auto ended = ask(ProbeScript("exit 7\n"), {Platform::nvidia});
  CHECK(ended[0].answer.kind == AnswerKind::crashed);
  CHECK(ended[0].answer.detail == "ended with exit code 7");
}

TEST_CASE("probe: one that keeps its process after the last word is not waited for") {
  const ProbeScript script(good_status + "exec >&-\nexec sleep 86400\n");
  const auto results = ask(script, {Platform::amd}, std::chrono::hours(24));
  CHECK(results[0].answer.kind == AnswerKind::answered);
}

TEST_CASE("probe: a program that is not there, and a cancelled run") {
  const CancelToken quiet;
  CHECK_THROWS_AS(probe_in_children("/nowhere/program", {Platform::amd}, {}, {}, quiet), Error);
  CancelToken cancel;
  cancel.cancel();
  const ProbeScript script("exec sleep 60\n");
  CHECK_THROWS_AS(probe_in_children(script.path(), {Platform::amd}, {}, {}, cancel), Error);
}

TEST_CASE("probe: a call that waits for the disk answers late, and does not hang") {
  const test::TemporaryFolder folder;
  const std::string mark = folder / "go";
  const ProbeScript script("while [ ! -e " + mark + " ]; do sleep 0.01; done\n" + good_status);
  const CancelToken cancel;
  ProbePatience patience{milliseconds(1), milliseconds(60000), {}};
  std::uint64_t reads = 0;
  patience.disk_reads = [&](int process) {
    CHECK(process > 0);
    if (++reads == 5) std::ofstream(mark) << "x";  // it read on until now
    return std::min<std::uint64_t>(reads, 1000000);
  };
  const auto results = probe_in_children(script.path(), {Platform::amd}, {}, patience, cancel);
  CHECK(results[0].answer.kind == AnswerKind::answered);
  CHECK(results[0].answer.was_late);
  CHECK(reads >= 5);

  const ProbeScript stuck("exec sleep 60\n");
  patience.disk_reads = [](int) { return std::uint64_t{7}; };  // it read, and does no more
  const auto hung = probe_in_children(stuck.path(), {Platform::amd}, {}, patience, cancel);
  CHECK(hung[0].answer.kind == AnswerKind::hung);
}

TEST_CASE("probe: a library that loads for long is given up, and no driver hangs") {
  const ProbeScript script(good_status +
                           R"(echo '{"record":"step","what":"loading cuDNN","library":"cuDNN"}')"
                           "\nexec sleep 60\n");
  const CancelToken cancel;
  const auto results = probe_in_children(script.path(), {Platform::nvidia}, {},
                                         {milliseconds(60000), milliseconds(50), {}}, cancel);
  CHECK(results[0].answer.kind == AnswerKind::answered);
  REQUIRE(results[0].libraries.size() == 1);
  CHECK(results[0].libraries[0].name == "cuDNN");
  CHECK(results[0].libraries[0].platform == Platform::nvidia);
  CHECK(results[0].libraries[0].was_given_up);
  CHECK(results[0].libraries[0].load_s >= 0.05);
}

TEST_CASE("probe: what late answers and slow libraries mean") {
  Evidence evidence;
  evidence.root = "/nowhere";
  evidence.getenv = [](const char*) { return std::optional<std::string>(); };
  evidence.platforms.resize(1);
  PlatformAnswer& answer = evidence.platforms[0];
  answer.status.platform = Platform::nvidia;
  answer.status.usable = true;
  answer.status.library = "libcuda.so.1";
  answer.kind = AnswerKind::answered;
  answer.after_s = 6.5;
  answer.was_late = true;
  LibraryAnswer slow{Platform::nvidia, "cuBLASLt", "/lib/libcublasLt.so", "12.9", "", {}, 6.5};
  LibraryAnswer lost{Platform::nvidia, "cuDNN", "", "", "", {}, 60, true};
  evidence.libraries = {slow, lost};
  std::vector<std::string> found;
  for (const Check& check : examine(evidence)) {
    if (check.id != "driver-hang" && check.id != "libraries") continue;
    if (check.severity == Severity::warn) found.push_back(check.read);
    CHECK(check.severity != Severity::fail);
  }
  CHECK(found == std::vector<std::string>{"nvidia: answered in 6.50 s: 0 devices",
                                          "cuBLASLt 12.9 took 6.5 s to load",
                                          "cuDNN did not load within 60.0 s"});
}
