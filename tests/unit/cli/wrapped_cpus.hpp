// SPDX-License-Identifier: MIT
/// Runs a command over two cpu devices whose table a test can damage.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
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

}  // namespace hiptool::cli::testing
