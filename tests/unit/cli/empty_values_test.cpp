// SPDX-License-Identifier: MIT
// An empty value is wrong usage for every option and argument, and an empty variable is not set.
#include <doctest/doctest.h>

#include "cli/help/command_docs.hpp"
#include "harness.hpp"
#include "sanitized.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

TEST_CASE("an empty value of any option or argument of any command is refused") {
  CommandTree tree;
  const ProgramDoc program = describe(tree);
  std::size_t refused = 0;
  // Each run makes all options of the program, which takes a sanitizer long.
  const std::size_t step = test::is_sanitized ? 7 : 1;
  std::size_t seen = 0;
  const auto check_refused = [&](const std::vector<std::string>& words, const std::string& name) {
    Machine machine;
    CAPTURE(words.front());
    CHECK(machine.run(words) == 2);
    CHECK_MESSAGE(contains(machine.err.text, name + " has an empty value"), machine.err.text);
    CHECK(machine.platforms_made == 0);
    ++refused;
  };
  for (const CommandDoc& command : program.commands) {
    std::vector<OptionDoc> options = command.options;
    options.insert(options.end(), program.common_options.begin(), program.common_options.end());
    for (const OptionDoc& option : options) {
      if (option.value_name.empty() || ++seen % step != 0) continue;
      const std::string& name = option.long_name;
      check_refused({command.name, name, ""}, name);
      check_refused({command.name, name + "="}, name);
      // The next word is not its value.
      Machine machine;
      CHECK(machine.run({command.name, name + "=", "word"}) == 2);
      const bool is_optional = option.value_name.front() == '[';
      if (!is_optional) check_refused({command.name, name, "", name, "word"}, name);
      if (!option.short_name.empty()) check_refused({command.name, option.short_name, ""}, name);
    }
    if (command.arguments.empty()) continue;
    const ArgumentDoc& argument = command.arguments.front();
    check_refused({command.name, ""}, argument.name);
    if (argument.is_repeated) check_refused({command.name, "word", ""}, argument.name);
  }
  Machine machine;
  CHECK(machine.run({"report", "compare", "a.json", ""}) == 2);
  CHECK(contains(machine.err.text, "FILE has an empty value"));
  CHECK(refused > 300 / step);
}

TEST_CASE("an option whose value may be left out may be last, and takes no word before it") {
  Machine machine;
  CHECK(machine.run({"devices", "--topology", "--watch"}) == 2);
  CHECK(contains(machine.err.text, "--watch excludes"));
}

TEST_CASE("a size of 0 is refused where it means nothing") {
  for (const auto& [command, option] :
       {std::pair("check", "--size"), std::pair("bench-copy", "--size"),
        std::pair("make-model", "--size"), std::pair("run-kernel", "--size"),
        std::pair("run-kernel", "--bytes")}) {
    Machine machine;
    std::vector<std::string> words{command};
    if (words.front() == "make-model") words.emplace_back("never.gguf");
    if (words.front() == "run-kernel") words.emplace_back("memset");
    words.insert(words.end(), {option, "0"});
    CAPTURE(words.front());
    CHECK(machine.run(words) == 2);
    const bool names_it =
        contains(machine.err.text, option) || contains(machine.err.text, "a size of 0");
    CHECK_MESSAGE(names_it, machine.err.text);
  }
}

TEST_CASE("a value without a name in it is empty, and a value of 0 is given") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> runs{
      {{"bench-copy", "--device", "cpu", "--fail-below", "@"}, "'@' names no file"},
      {{"run-kernel", "memset", "--device", "cpu", "--fail-below", "@"}, "'@' names no file"},
      {{"bench-copy", "--device", "cpu", "--export", "json="}, "expected FORMAT=FILE"},
      {{"run-kernel", "memset", "--device", "cpu", "--shared", "0"}, "--shared applies only to"},
      {{"run-kernel", "--module", "k.hip", "--shared", "0"}, "--shared has no effect"}};
  for (const auto& [words, part] : runs) {
    Machine machine;
    CHECK(machine.run(words) == 2);
    CHECK_MESSAGE(contains(machine.err.text, part), machine.err.text);
  }
}

TEST_CASE("an empty variable counts as unset, unless it hides the devices of a vendor") {
  for (const char* name : {"HIPTOOL_DEVICE", "HIPTOOL_FORMAT", "NO_COLOR", "CLICOLOR_FORCE",
                           "COLUMNS", "TERM", "LC_ALL", "HF_HOME", "RANK", "SLURM_PROCID"}) {
    CAPTURE(name);
    CHECK(!without_empty(reader_of({{name, ""}}))(name));
    CHECK(without_empty(reader_of({{name, "x"}}))(name) == "x");
    Machine unset;
    unset.variables.erase(name);
    CHECK(unset.run({"devices"}) == 0);
    Machine empty;
    empty.variables[name] = "";
    CHECK(empty.run({"devices"}) == 0);
    CHECK(empty.out.text == unset.out.text);
  }
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                           "GPU_DEVICE_ORDINAL"}) {
    CHECK(without_empty(reader_of({{name, ""}}))(name) == "");
  }
}
