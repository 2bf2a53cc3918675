// SPDX-License-Identifier: MIT
// The walks of the commands that measure copies, look at devices and accept machines.
#include <fstream>
#include <nlohmann/json.hpp>

#include "option_pairs.hpp"
#include "tiny_decoder.hpp"

namespace hiptool::cli::testing {
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

PairWalk bench_copy_walk(const PairFiles& files) {
  const std::string baseline = files.input("baseline.json");
  const Words too_high{"--fail-below", "h2d>=1000TB/s"};
  PairWalk walk =
      files.walk({"bench-copy", "--quiet"},
                 {{"--kind", {"--kind", "h2d,d2h"}},
                  {"--memory", {"--memory", "pinned,pageable"}},
                  {"--engine", {"--engine", "copy,kernel"}},
                  {"--size", {"--size", "4KiB,8KiB"}},
                  {"--level", {"--level", "ci"}},
                  {"--samples", {"--samples", "2"}},
                  {"--time", {"--time", "0.000001"}},
                  {"--testcase", {"--testcase", "host_to_device_memcpy_ce"}},
                  {"--fail-below", too_high},
                  {"--retry", {"--retry", "1/2"}, {{too_high}}},
                  {"--baseline", {"--baseline", baseline}},
                  {"--strict-baseline", {}, {{{"--baseline", baseline}, {"--size", "4KiB,8KiB"}}}},
                  {"--export", {"--export", "json=" + files.output("e.json")}},
                  {"--device", {"--device", "cpu:0,cpu:1"}}});
  walk.make_inputs = [baseline] {
    run_first({"bench-copy", "--kind", "h2d", "--size", "4KiB", "--samples", "9", "--export",
               "json=" + baseline});
    slow_down(baseline);
  };
  walk.usual = {{{"--size", "4KiB"}, {}}, {{"--samples", "1"}, {"--time"}}};
  walk.measured =
      "copies_per_sample|gated|gate_expired|serialised|clocks_disagree|copies|change|low|high|got|"
      "reason";
  walk.left_out = {{"--repeat", "starts processes; program-repeat"},
                   {"--against", "starts processes; program-repeat"},
                   {"--effect", "of several processes; program-repeat"},
                   {"--strict-compare", "of several processes; program-repeat"}};
  return walk;
}

PairWalk devices_walk(const PairFiles& files) {
  PairWalk walk =
      files.walk({"devices"}, {{"--require", {"--require", "gpu"}},
                               {"--doctor", {}},
                               {"--topology", {}},
                               // Nothing on the processor can be watched, which ends the run.
                               {"--watch", {"--watch", "1"}, {{{"--format", "csv"}}}},
                               {"--platform", {"--platform", "nvidia"}},
                               {"--device", {"--device", "cpu:1"}},
                               // The table of devices has the free memory, which changes.
                               {"--format", {"--format", "csv"}, {{{"--topology"}}}},
                               {"--export", {"--export", "json=" + files.output("e.json")}}});
  for (const char* choice : {"--platform", "--device"}) {
    walk.unseen[std::string("--watch ") + choice] = "nothing here can be watched";
    walk.unseen[choice + std::string(" --format")] = "one device has no pair";
  }
  walk.left_out = {{"--timeout", "of a driver that hangs; program-doctor"},
                   {"--costs", "of links between GPUs; topology_test.cpp"}};
  return walk;
}

PairWalk check_command_walk(const PairFiles& files) {
  const std::string expected = files.input("expect.json");
  const std::string model = files.input("m.gguf");
  const Words written{"--write-expect", files.output("expect.json")};
  TinyDecoder::write(model);
  PairWalk walk = files.walk({"check", "--quiet"},
                             {{"--level", {"--level", "standard"}},
                              {"--stage", {"--stage", "memory,doctor"}},
                              {"--model", {"--model", model}, {{{"--stage", "memory,model"}}}},
                              {"--expect", {"--expect", expected}},
                              {"--write-expect", written},
                              {"--force", {}, {{{"--write-expect", files.output("foreign")}}}},
                              {"--repeat", {"--repeat", "1"}, {{written}}},
                              {"--margin", {"--margin", "50%"}, {{written}}},
                              {"--size", {"--size", "8KiB"}},
                              {"--export", {"--export", "json=" + files.output("e.json")}},
                              {"--device", {"--device", "cpu:0,cpu:1"}}});
  walk.make_inputs = [expected] {
    run_first({"check", "--device", "cpu:0", "--stage", "memory", "--size", "4KiB",
               "--write-expect", expected});
    lower_expectations(expected);
  };
  walk.usual = {{{"--stage", "memory"}, {}}, {{"--size", "4KiB"}, {}}, {{"--device", "cpu:0"}, {}}};
  walk.unseen["--write-expect --force"] = "the output is new";
  walk.unseen["--force --repeat"] = "the output is new";
  walk.unseen["--force --margin"] = "the output is new";
  walk.measured =
      "samples_s|figures|checked|max_error|copies_per_sample|gated|gate_expired|"
      "serialised|clocks_disagree|copies|overlap|reason|got|level|"
      "chosen_stages|written|spread";
  walk.left_out = {{"--spread", "of several GPUs of a kind; program-check_expect"},
                   {"--timeout", "of a step that hangs; program-check"},
                   {"--duration", "of a stage that takes seconds; program-check_soak"},
                   {"--peers", "of jobs of several processes; program-check_exchange"},
                   {"--peer-port", "of jobs of several processes; program-check_exchange"}};
  return walk;
}

}  // namespace hiptool::cli::testing
