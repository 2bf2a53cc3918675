// SPDX-License-Identifier: MIT
// All pairs of options of the commands that measure and diagnose, on the processor.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "option_pairs.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

// What was measured there was so slow that no later run is slower, however busy the processor is.
void slow_down(const std::string& path) {
  nlohmann::json document = nlohmann::json::parse(start_of(path, 1'000'000));
  for (auto& cell : document["measurements"]) {
    const double slow_s = 1000;
    cell["samples_s"] = std::vector<double>(9, slow_s);
    cell["median_s"] = slow_s;
  }
  std::ofstream(path) << document.dump();
}

// An expectation that every run reaches.
void lower_expectations(const std::string& path) {
  nlohmann::json document = nlohmann::json::parse(start_of(path));
  for (auto& of_kind : document["gpus"]) {
    for (auto& expectation : of_kind) expectation["bytes_per_s"] = 1;
  }
  std::ofstream(path) << document.dump();
}

}  // namespace

TEST_CASE("pairs of options of bench-copy") {
  const PairFiles files;
  const std::string baseline = files.input("baseline.json");
  run_first({"bench-copy", "--kind", "h2d", "--size", "4KiB", "--samples", "9", "--export",
             "json=" + baseline});
  slow_down(baseline);
  const Words too_high{"--fail-below", "h2d>=1000TB/s"};
  PairWalk walk =
      files.walk({"bench-copy", "--quiet"},
                 {{"--kind", {"--kind", "h2d,d2h"}},
                  {"--memory", {"--memory", "pinned,pageable"}},
                  {"--engine", {"--engine", "copy,kernel"}},
                  {"--size", {"--size", "4KiB,8KiB"}},
                  {"--level", {"--level", "ci"}},
                  {"--samples", {"--samples", "2"}},
                  {"--testcase", {"--testcase", "host_to_device_memcpy_ce"}},
                  {"--fail-below", too_high},
                  {"--retry", {"--retry", "1/2"}, {{too_high}}},
                  {"--baseline", {"--baseline", baseline}},
                  {"--strict-baseline", {}, {{{"--baseline", baseline}, {"--size", "4KiB,8KiB"}}}},
                  {"--device", {"--device", "cpu:0,cpu:1"}}});
  walk.usual = {{{"--size", "4KiB"}, {}}, {{"--samples", "1"}, {}}};
  walk.measured =
      "copies_per_sample|gated|gate_expired|serialised|clocks_disagree|copies|change|low|high|got|"
      "reason";
  // What --time allows ends with the noise, too: no number of samples is its own.
  check_walk(walk, "--time");
}

TEST_CASE("pairs of options of devices") {
  const PairFiles files;
  const PairWalk walk = files.walk({"devices"}, {{"--require", {"--require", "gpu"}},
                                                 {"--doctor", {}},
                                                 {"--topology", {}},
                                                 {"--device", {"--device", "cpu:1"}}});
  // Of a driver that hangs, of links between GPUs, and without an end.
  check_walk(walk, "--timeout --costs --watch");
}

TEST_CASE("pairs of options of check") {
  const PairFiles files;
  const std::string expected = files.input("expect.json");
  const std::string model = files.input("m.gguf");
  const Words written{"--write-expect", files.output("expect.json")};
  run_first({"make-model", model, "--architecture", "llama"});
  run_first({"check", "--device", "cpu:0", "--stage", "memory", "--size", "4KiB", "--write-expect",
             expected});
  lower_expectations(expected);
  PairWalk walk = files.walk({"check", "--quiet"},
                             {{"--level", {"--level", "standard"}},
                              {"--stage", {"--stage", "memory,copy"}},
                              {"--model", {"--model", model}, {{{"--stage", "memory,model"}}}},
                              {"--expect", {"--expect", expected}},
                              {"--write-expect", written},
                              {"--force", {}, {{{"--write-expect", files.output("foreign")}}}},
                              {"--margin", {"--margin", "50%"}, {{written}}},
                              {"--size", {"--size", "8KiB"}},
                              {"--device", {"--device", "cpu:0,cpu:1"}}});
  walk.usual = {{{"--stage", "memory"}, {}}, {{"--size", "4KiB"}, {}}, {{"--device", "cpu:0"}, {}}};
  walk.unseen["--write-expect --force"] = "the output is new";
  walk.unseen["--force --margin"] = "the output is new";
  walk.measured =
      "samples_s|figures|checked|max_error|copies_per_sample|gated|gate_expired|"
      "serialised|clocks_disagree|copies|overlap|reason|got|level|"
      "chosen_stages|written";
  check_walk(walk, "--spread --timeout");
}

TEST_CASE("pairs of options of run-kernel: an operation") {
  const PairFiles files;
  PairWalk walk = files.walk({"run-kernel", "relu", "--quiet"},
                             {{"--dtype", {"--dtype", "f16"}},
                              {"--size", {"--size", "4KiB"}},
                              {"--shape", {"--shape", "4x4"}},
                              {"--layout", {"--layout", "transposed"}},
                              {"--sweep", {"--sweep", "quick"}},
                              {"--seed", {"--seed", "7"}},
                              {"--fail-below", {"--fail-below", "relu>=1000TB/s"}},
                              {"--samples", {"--samples", "2"}},
                              {"--device", {"--device", "cpu:1"}}});
  walk.usual = {{{"--dtype", "f32"}, {}},
                {{"--shape", "8x8"}, {"--size", "--sweep"}},
                {{"--samples", "1"}, {"--sweep"}}};
  walk.measured = "got|reason";
  check_walk(walk,
             "--list --lib --shapes --transpose --batch --compute --time --module --name --grid "
             "--block --shared --arg --out --expect --tolerance --bytes --flops");
}

TEST_CASE("pairs of options of run-kernel: products of matrices") {
  const PairFiles files;
  const std::string shapes = files.input("shapes");
  std::ofstream(shapes) << "8x8x8\n4x4x4 batch=2\n";
  PairWalk walk = files.walk({"run-kernel", "matmul", "--quiet"},
                             {{"--dtype", {"--dtype", "f16"}},
                              {"--size", {"--size", "4KiB"}},
                              {"--shape", {"--shape", "4x4x4"}},
                              {"--layout", {"--layout", "transposed"}},
                              {"--seed", {"--seed", "7"}},
                              {"--lib", {"--lib", "own-exact"}},
                              {"--shapes", {"--shapes", shapes}},
                              {"--transpose", {"--transpose", "tt"}},
                              {"--batch", {"--batch", "3"}},
                              {"--compute", {"--compute", "f16"}},
                              {"--fail-below", {"--fail-below", "matmul>=1000TFLOP/s"}},
                              {"--samples", {"--samples", "2"}},
                              {"--device", {"--device", "cpu:1"}}});
  walk.usual = {{{"--shape", "8x8x8"}, {"--size", "--shapes"}}, {{"--samples", "1"}, {}}};
  walk.measured = "got|reason";
  for (const char* option :
       {"--dtype --compute", "--seed --compute", "--compute --fail-below", "--compute --samples"}) {
    walk.unseen[option] = "nothing on the processor sums in another type";
  }
  check_walk(walk,
             "--list --sweep --time --module --name --grid --block --shared --arg --out --expect "
             "--tolerance --bytes --flops");
}
