// SPDX-License-Identifier: MIT
// All pairs of options of each command.
#include "option_pairs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "cli/help/command_docs.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

constexpr std::array walks{load_walk,          prove_walk,     inspect_walk,    make_model_walk,
                           compare_walk,       merge_walk,     bench_copy_walk, devices_walk,
                           check_command_walk, operation_walk, product_walk,    kernel_list_walk,
                           module_walk};

/// Of no command in particular: they choose how a run is shown, or that there is none.
const std::set<std::string> of_no_run{"--color", "--quiet", "--verbose", "--help", "--version"};

void walk(PairWalk (*declare)(const PairFiles&)) {
  const PairFiles files;
  check_walk(declare(files));
}

}  // namespace

TEST_CASE("every option of every command is in a walk, or a walk says why it is not") {
  const PairFiles files;
  std::set<std::pair<std::string, std::string>> walked;  // of a command, an option
  std::set<std::pair<std::string, std::string>> left_out;
  std::set<std::string> of_any_command;
  for (const auto declare : walks) {
    const PairWalk walk = declare(files);
    for (const OptionProbe& probe : walk.probes) {
      walked.emplace(walk.base.front(), probe.name);
      of_any_command.insert(probe.name);
    }
    for (const auto& [name, reason] : walk.left_out) left_out.emplace(walk.base.front(), name);
  }
  CommandTree tree;
  const ProgramDoc program = describe(tree);
  std::set<std::pair<std::string, std::string>> options;
  for (const CommandDoc& command : program.commands) {
    for (const OptionDoc& option : command.options) {
      const std::pair one(command.name, option.long_name);
      options.insert(one);
      CAPTURE(one.first);
      CAPTURE(one.second);
      CHECK(walked.count(one) + left_out.count(one) == 1);
    }
  }
  for (const auto& one : left_out) CHECK_MESSAGE(options.count(one) == 1, one.second);
  for (const OptionDoc& option : program.common_options) {
    CAPTURE(option.long_name);
    CHECK(of_any_command.count(option.long_name) + of_no_run.count(option.long_name) == 1);
  }
}

TEST_CASE("pairs of options of load") { walk(load_walk); }

TEST_CASE("pairs of options of prove") { walk(prove_walk); }

TEST_CASE("pairs of options of inspect") { walk(inspect_walk); }

TEST_CASE("pairs of options of make-model") { walk(make_model_walk); }

TEST_CASE("pairs of options of report compare") { walk(compare_walk); }

TEST_CASE("pairs of options of report merge") { walk(merge_walk); }

TEST_CASE("pairs of options of bench-copy") { walk(bench_copy_walk); }

TEST_CASE("pairs of options of devices") { walk(devices_walk); }

TEST_CASE("pairs of options of check") { walk(check_command_walk); }

TEST_CASE("pairs of options of run-kernel: an operation") { walk(operation_walk); }

TEST_CASE("pairs of options of run-kernel: products of matrices") { walk(product_walk); }

TEST_CASE("pairs of options of run-kernel: a list") { walk(kernel_list_walk); }

TEST_CASE("pairs of options of run-kernel: a kernel of the user") {
  const PairFiles files;
  const PairWalk walk = module_walk(files);
  if (walk.variables.at("PATH").empty()) return test::skip_case("no C++ compiler is installed");
  check_walk(walk);
}

TEST_CASE("options: what one lacks is said, not that another has no effect with it") {
  const std::vector<std::pair<Words, std::string>> runs{
      {{"--device", "cpu", "--write-golden", "a"}, "--write-golden applies only to --prove"},
      {{"--layers", "1"}, "--layers applies only to --prove"},
      {{"--check-golden", "a", "--dry-run", "--io", "direct"},
       "--check-golden applies only to --prove"},
      {{"--prove", "--write-golden", "a", "--check-golden", "b", "--device", "cpu"},
       "--write-golden and --check-golden cannot be combined"},
      {{"--prove", "--write-golden", "a", "--decode", "3", "--verify", "full"},
       "--prove and --decode cannot be combined"},
      {{"--prove", "--write-golden", "a", "--device", "cpu"},
       "--device has no effect with --write-golden"},
      {{"--force"}, "--force applies only to --write-manifest or --write-golden"},
      {{"--demo", "--strict"}, "--strict has no effect with --demo"},
      {{"--demo", "--opaque"}, "--opaque has no effect with --demo"}};
  for (const auto& run : runs) {
    const Words& words = run.first;
    const std::string& part = run.second;
    CAPTURE(part);
    Machine machine;
    Words all{"load", "m.gguf"};
    all.insert(all.end(), words.begin(), words.end());
    CHECK(machine.run(all) == 2);
    CHECK_MESSAGE(contains(machine.err.text, part), machine.err.text);
  }
}
