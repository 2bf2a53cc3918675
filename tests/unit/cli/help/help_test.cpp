// SPDX-License-Identifier: MIT
#include "cli/help/help.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/help/command_docs.hpp"
#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string help_of(Machine& machine, const std::vector<std::string>& words) {
  CHECK(machine.run(words) == 0);
  return machine.out.text;
}

// Every option and argument of the program, with the command that takes it.
template <typename Look>
void for_each_help(const Look& look) {
  CommandTree tree;
  const ProgramDoc program = describe(tree);
  for (const CommandDoc& command : program.commands) {
    for (const OptionDoc& option : command.options) {
      look(command.name + " " + option.long_name, option.help);
    }
    for (const ArgumentDoc& argument : command.arguments) {
      look(command.name + " " + argument.name, argument.help);
    }
  }
  for (const OptionDoc& option : program.common_options) look(option.long_name, option.help);
}

}  // namespace

TEST_CASE("help of every command fits 60 lines of 80 columns and names every option") {
  CommandTree tree;
  Machine machine;
  machine.out.terminal = true;
  machine.out.width = 80;
  for (const CommandDoc& command : describe(tree).commands) {
    CAPTURE(command.name);
    const std::string text = help_of(machine, {command.name, "--help"});
    CHECK(lines_of(text) <= 60);
    CHECK(widest_line(text) <= 80);
    for (const OptionDoc& option : command.options) {
      CAPTURE(option.long_name);
      CHECK(contains(text, option.spelled()));
    }
  }
  CHECK(lines_of(help_of(machine, {"help"})) <= 60);
}

TEST_CASE("the values and the default of an option are written in one place") {
  CHECK(brief_text("amount of work") == "amount of work");
  const OptionHelp help = OptionHelp("amount of work")
                              .with_details("ci takes a minute")
                              .with_values({"quick", "ci"})
                              .with_default("quick");
  CHECK(brief_text(help) == "amount of work [possible values: quick, ci] [default: quick]");
  CHECK(whole_text(help) ==
        "amount of work; ci takes a minute [possible values: quick, ci] [default: quick]");
  for_each_help([](const std::string& name, const OptionHelp& one) {
    CAPTURE(name);
    const std::string prose = one.summary + "; " + one.details;
    if (one.values.size() > 1) {
      CHECK_FALSE(contains(prose, fmt::format("{}", fmt::join(one.values, ", "))));
    }
    for (const char* word : {"default:", "default is", "if not given", "possible values"}) {
      CHECK_FALSE(contains(prose, word));
    }
    CHECK_FALSE(one.summary.empty());
  });
}

// `check` and `devices` take every GPU, the others one, and copies between GPUs need several.
TEST_CASE("the default of --device is that of the command") {
  CommandTree tree;
  const ProgramDoc program = describe(tree);
  const auto usual_of = [](const std::vector<OptionDoc>& options) {
    for (const OptionDoc& option : options) {
      if (option.long_name == "--device") return option.help.usual;
    }
    return std::string("no --device");
  };
  CHECK(usual_of(program.common_options).empty());
  CHECK(usual_of(program.command("inspect").common_options) == "no --device");
  for (const char* command : {"load", "prove", "run-kernel"}) {
    CHECK(usual_of(program.command(command).common_options) == "largest GPU");
  }
  CHECK(usual_of(program.command("check").common_options) == "all GPUs");
  CHECK(usual_of(program.command("devices").common_options) == "all devices");
  CHECK(usual_of(program.command("bench-copy").common_options) ==
        "largest GPU, all for copies between GPUs");
  Machine machine;
  CHECK(contains(help_of(machine, {"help", "check"}), "[default: all GPUs]"));
  CHECK(contains(help_of(machine, {"help", "reference"}), "Default of `--device`: all GPUs."));
}

TEST_CASE("a default of one word is a value of the option") {
  CommandTree described;
  for (const CommandDoc& command : describe(described).commands) {
    for (const OptionDoc& option : command.options) {
      const std::string& usual = option.help.usual;
      const bool is_word = !usual.empty() && usual.find(' ') == std::string::npos;
      if (!is_word || usual.starts_with("--")) continue;
      CAPTURE(command.name + " " + option.long_name + " " + usual);
      const std::string given = option.long_name + "=" + usual;
      const std::vector<const char*> words{"hiptool", command.name.c_str(), given.c_str()};
      std::string refusal;
      try {
        CommandTree tree;
        static_cast<void>(parse(tree, static_cast<int>(words.size()), words.data()));
      } catch (const hiptool::Error& error) {
        refusal = error.what();  // of a missing argument at most
      }
      CHECK_FALSE(contains(refusal, usual));
    }
  }
}

TEST_CASE("a summary is a phrase of one line, which shells show") {
  for_each_help([](const std::string& name, const OptionHelp& one) {
    CAPTURE(name);
    CHECK(one.summary.size() <= 72);
    CHECK_FALSE(contains(one.summary, "\n"));
    CHECK_FALSE(one.summary.ends_with("."));
  });
  Machine machine;
  for (const char* shell : {"fish", "zsh"}) {
    const std::string script = help_of(machine, {"completion", shell});
    CHECK(contains(script, "how to verify the bytes on the device"));
    CHECK_FALSE(contains(script, "not tampering"));
    CHECK_FALSE(contains(script, "possible values"));
  }
}

TEST_CASE("`hiptool help COMMAND all` has the details, so has the manual page") {
  Machine machine;
  const std::string brief = help_of(machine, {"help", "load"});
  const std::string whole = help_of(machine, {"help", "load", "all"});
  CHECK_FALSE(contains(brief, "not tampering"));
  CHECK(contains(brief, "hiptool help load all"));
  CHECK(contains(whole, "not tampering"));
  CHECK(contains(whole, "--top-k N"));
  CHECK(contains(help_of(machine, {"help", "man", "load"}), "not tampering"));
  CHECK(contains(help_of(machine, {"help", "reference"}), "not tampering"));
  CHECK(machine.run({"help", "load", "some"}) == 2);
  CHECK(contains(machine.err.text, "unexpected argument 'some'"));
}

TEST_CASE("options are in groups; rare ones are named on a line") {
  Machine machine;
  const std::string text = help_of(machine, {"run-kernel", "--help"});
  CHECK(contains(text, "\nA kernel of your own:\n  --module FILE, --name SYMBOL, "));
  CHECK(contains(text, "\nWhat to run:\n      --list "));
  CHECK(text.find("What to run:") < text.find("A kernel of your own:"));
}

TEST_CASE("help in a pipe is not wrapped; COLUMNS narrows it") {
  Machine machine;
  machine.variables.erase("COLUMNS");
  const std::string text = help_of(machine, {"help", "run-kernel", "all"});
  CHECK(contains(text,
                 "instead of a size; of conv2d n8c64h56w56:k64r3s3 (n images, c channels, h "
                 "height, w width; k channels of the result"));
  machine.variables["COLUMNS"] = "80";
  CHECK(widest_line(help_of(machine, {"help", "run-kernel", "all"})) <= 80);
  CHECK(widest_line(text) > 200);
}

TEST_CASE("a form of a command has a help of its own") {
  Machine machine;
  const std::string compare = help_of(machine, {"report", "compare", "--help"});
  CHECK(starts_with(compare, "hiptool report compare: compare two runs"));
  CHECK(contains(compare, "Usage: hiptool report compare [options] OLD NEW\n"));
  CHECK(contains(compare, "--effect SHARE"));
  CHECK_FALSE(contains(compare, "--exclude-list"));
  CHECK(contains(compare, "hiptool report compare a.json b.json --effect 1%"));
  CHECK_FALSE(contains(compare, "hiptool report merge"));
  CHECK(help_of(machine, {"help", "report", "compare"}) == compare);
  CHECK(help_of(machine, {"help", "REPORT", "Compare"}) == compare);
  const std::string render = help_of(machine, {"report", "render", "--help"});
  CHECK_FALSE(contains(render, "--effect"));
  CHECK(contains(help_of(machine, {"report", "--help"}), "hiptool report: "));
}

TEST_CASE("names of commands and topics in any case") {
  Machine machine;
  CHECK(help_of(machine, {"help", "LOAD"}) == help_of(machine, {"help", "load"}));
  CHECK(help_of(machine, {"help", "Exit-Codes"}) == help_of(machine, {"help", "exit-codes"}));
  CHECK(help_of(machine, {"help", "ht-copy-rate"}) == help_of(machine, {"help", "HT-COPY-RATE"}));
}
