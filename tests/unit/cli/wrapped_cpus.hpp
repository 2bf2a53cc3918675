// SPDX-License-Identifier: MIT
/// Runs a command over two cpu devices whose table a test can damage.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fakes/wrapper_table.hpp"
#include "harness.hpp"

namespace hiptool::cli::testing {

/// Two cpu devices behind a wrapper, which is set up when they are bound.
class WrappedCpus final : public hip::Binder {
 public:
  using Prepare = std::function<void(test::WrapperTable&)>;

  explicit WrappedCpus(Prepare prepare) : prepare_(std::move(prepare)) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = wrapper_.bind(platform, request);
    if (platform == Platform::cpu && prepare_) prepare_(table());
    return binding;
  }
  test::WrapperTable& table() const { return *wrapper_.table(Platform::cpu); }

 private:
  Prepare prepare_;
  test::WrapperBinder wrapper_{std::make_shared<FakeBinder>(0)};
};

struct CpusOutcome {
  int exit_code = 0;
  nlohmann::json document;
  std::string out;
  std::string err;
  std::shared_ptr<WrappedCpus> cpus;
};

/// Of `hiptool WORDS... --format json`.
inline CpusOutcome run_on_cpus(std::vector<std::string> words, WrappedCpus::Prepare prepare = {}) {
  CpusOutcome outcome;
  outcome.cpus = std::make_shared<WrappedCpus>(std::move(prepare));
  Machine machine;
  machine.binder = outcome.cpus;
  words.insert(words.end(), {"--format", "json"});
  outcome.exit_code = machine.run(words);
  outcome.out = machine.out.text;
  outcome.err = machine.err.text;
  outcome.document = nlohmann::json::parse(machine.out.text, nullptr, false);
  return outcome;
}

/// Calls whose failure leaves something unknown, or is only traced.
inline const std::set<std::string> harmless{"hipDeviceGetAttribute",
                                            "hipDeviceGetName",
                                            "hipDeviceGetUuid",
                                            "hipDeviceGetPCIBusId",
                                            "hipDeviceTotalMem",
                                            "hipFree",
                                            "hipHostFree",
                                            "hipHostUnregister",
                                            "hipStreamDestroy",
                                            "hipEventDestroy",
                                            "hipModuleUnload",
                                            "hipFuncGetAttribute",
                                            "hipDeviceDisablePeerAccess",
                                            "hipGetDevicePropertiesR0600",
                                            "hipGetDevicePropertiesR0000"};
/// Calls that only give texts; they have no error to answer.
inline const std::set<std::string> texts{"hipGetErrorName", "hipGetErrorString"};

/// Which of that many calls of a kind to fail: the first ones, and of more than twice as many the
/// middle and the last. Each is another place in the code.
inline std::vector<std::uint64_t> places(std::uint64_t count, std::uint64_t first) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t nth = 1; nth <= std::min(count, first); ++nth) chosen.push_back(nth);
  if (count > 2 * first) chosen.insert(chosen.end(), {count / 2, count});
  return chosen;
}

/// Runs a command with one failing call after the other: places(count, first) of each kind that the
/// run without a fault makes. Nothing may be left behind. A run that can do without the call is
/// right, which `check_right` looks at; any other is exit 6 and names the call, and `check_failed`
/// looks at the rest. Gives back how many runs failed.
inline int fail_each_call(const std::function<CpusOutcome(WrappedCpus::Prepare prepare)>& run,
                          std::uint64_t first,
                          const std::function<void(const nlohmann::json& document)>& check_right,
                          const std::function<void(const nlohmann::json& document)>& check_failed) {
  const CpusOutcome clean = run({});
  REQUIRE(clean.exit_code == 0);
  std::map<std::string, std::uint64_t> counts;
  hip::Api::for_each([&](auto, std::string_view name, hip::Need) {
    counts[std::string(name)] = clean.cpus->table().count(name);
  });
  int failed_runs = 0;
  for (const auto& [name, count] : counts) {
    const std::string call = name;
    if (texts.contains(call)) continue;
    for (const std::uint64_t nth : places(count, first)) {
      CAPTURE(call);
      CAPTURE(nth);
      const CpusOutcome faulty =
          run([&](test::WrapperTable& table) { table.fail(call, hip::hipErrorUnknown, nth); });
      CAPTURE(faulty.err);
      CHECK(faulty.cpus->table().live().is_empty());
      REQUIRE(faulty.document.is_object());
      if (harmless.contains(call)) CHECK(faulty.exit_code == 0);
      if (faulty.exit_code == 0) {
        check_right(faulty.document);
        continue;
      }
      CHECK(faulty.exit_code == 6);
      CHECK(faulty.document["status"] == "failed");
      CHECK(contains(faulty.document["error"]["message"].get<std::string>(), call));
      CHECK(contains(faulty.err, call));
      check_failed(faulty.document);
      ++failed_runs;
    }
  }
  return failed_runs;
}

}  // namespace hiptool::cli::testing
