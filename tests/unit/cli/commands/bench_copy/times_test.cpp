// SPDX-License-Identifier: MIT
// Verdicts over copy times that the HIP table sets: machines drift, these times do not.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "harness.hpp"
#include "hip/api.hpp"

using namespace hiptool;
using namespace hiptool::cli::testing;

namespace {

// Around 50 ms, so that a sample is one copy, with the noise of a quiet machine: 1 % of spread, now
// and then a straggler.
struct CopyTimes {
  std::mt19937_64 random;
  double scale = 1;

  float next_ms() {
    std::normal_distribution<double> body(1.0, 0.01);
    std::exponential_distribution<double> tail(1 / 0.05);
    return static_cast<float>(50 * scale *
                              (body(random) + (random() % 10 == 0 ? tail(random) : 0)));
  }
};
CopyTimes copy_times;
hip::hipError_t set_time(float* milliseconds, hip::hipEvent_t, hip::hipEvent_t) {
  *milliseconds = copy_times.next_ms();
  return hip::hipSuccess;
}

// The cpu platform, whose events answer the times above.
class TimedCpus final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = inner_.bind(platform, request);
    if (binding.api == nullptr || platform != Platform::cpu) return binding;
    static hip::Api timed;
    timed = *binding.api;
    timed.hipEventElapsedTime = set_time;
    binding.api = &timed;
    return binding;
  }

 private:
  FakeBinder inner_{0};
};

struct Rerun {
  int exit_code = 0;
  nlohmann::json document;
};

Rerun run(double scale, std::uint64_t seed, std::vector<std::string> more) {
  copy_times = {std::mt19937_64(seed), scale};
  Machine machine;
  machine.binder = std::make_shared<TimedCpus>();
  std::vector<std::string> words{"bench-copy", "--kind",   "h2d",       "--memory", "pageable",
                                 "--size",     "4KiB",     "--samples", "25",       "--device",
                                 "cpu:0",      "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  Rerun outcome;
  outcome.exit_code = machine.run(words);
  outcome.document = nlohmann::json::parse(machine.out.text, nullptr, false);
  return outcome;
}

// The verdict of a second run over a first one, each with noise of its own.
std::string verdict(double first_scale, double second_scale, std::uint64_t seed) {
  const TemporaryFolder folder;
  const std::string path = folder / "base.json";
  REQUIRE(run(first_scale, 2 * seed, {"--export", "json=" + path}).exit_code == 0);
  const Rerun second = run(second_scale, 2 * seed + 1, {"--baseline", path});
  REQUIRE(second.document["comparisons"].size() == 1);
  REQUIRE(second.document["measurements"][0]["details"]["copies_per_sample"] == 1);
  const std::string found = second.document["comparisons"][0]["verdict"];
  CHECK(second.exit_code == (found == "SLOWER" ? 1 : 0));
  return found;
}

}  // namespace

TEST_CASE("bench-copy: ten percent slower is SLOWER in 20 of 20, and the other way FASTER") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(verdict(1, 1.1, seed) == "SLOWER");
    CHECK(verdict(1.1, 1, seed) == "FASTER");
  }
}

TEST_CASE("bench-copy: equal times are never SLOWER or FASTER, and mostly SAME") {
  int same = 0;
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const std::string found = verdict(1, 1, seed);
    CHECK(found != "SLOWER");
    CHECK(found != "FASTER");
    same += found == "SAME" ? 1 : 0;
  }
  CHECK(same >= 15);
}
