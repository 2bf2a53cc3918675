// SPDX-License-Identifier: MIT
#include "measure/doctor/probe.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "../system/synthetic_tree.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

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
  return probe_in_children(script.path(), platforms, {}, patience, cancel);
}

Platforms::Options cpu_devices(int count) {
  Platforms::Options options;
  options.cpu_devices = count;
  return options;
}

}  // namespace

TEST_CASE("probe: devices, each pair of them, and what is tried before it is tried") {
  Platforms platforms(cpu_devices(3));
  ProbeOptions options;
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
  const ProbeScript script(R"(echo '{"record":"status","reason":"'"$1 $2 $3"'"}')"
                           "\nsleep 0.4\n");
  const auto start = std::chrono::steady_clock::now();
  const auto results = ask(script, {Platform::amd, Platform::nvidia}, milliseconds(5000));
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(780));
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
  const auto start = std::chrono::steady_clock::now();
  const auto results = ask(script, {Platform::amd, Platform::nvidia});
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(1500));
  CHECK(results[0].answer.kind == AnswerKind::hung);
  CHECK(results[0].answer.detail == "copying to amd:0");
  CHECK(results[0].answer.status.usable);
  CHECK(results[0].answer.after_s >= 0.29);
  CHECK(results[1].answer.kind == AnswerKind::answered);
}

TEST_CASE("probe: news keeps a slow one alive") {
  const ProbeScript script("for i in 1 2 3 4; do sleep 0.15; echo; done\n" + good_status);
  CHECK(ask(script, {Platform::amd}, milliseconds(600))[0].answer.kind == AnswerKind::answered);
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
  const ProbeScript script(good_status + "exec >&-\nexec sleep 60\n");
  const auto start = std::chrono::steady_clock::now();
  const auto results = ask(script, {Platform::amd}, milliseconds(5000));
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(2000));
  CHECK(results[0].answer.kind == AnswerKind::answered);
}

TEST_CASE("probe: a program that is not there, and a cancelled run") {
  const CancelToken quiet;
  CHECK_THROWS_AS(
      probe_in_children("/nowhere/program", {Platform::amd}, {}, milliseconds(100), quiet), Error);
  CancelToken cancel;
  cancel.cancel();
  const ProbeScript script("exec sleep 60\n");
  CHECK_THROWS_AS(
      probe_in_children(script.path(), {Platform::amd}, {}, milliseconds(60000), cancel), Error);
}
