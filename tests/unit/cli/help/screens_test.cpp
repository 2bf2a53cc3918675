// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command.hpp"
#include "harness.hpp"
#include "kept_screen.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

void check_help_screen(const std::string& name, const std::vector<std::string>& words) {
  hiptool::test::check_kept_screen(
      name, [&](std::optional<std::size_t> columns) { return screen_of(words, columns); });
}

}  // namespace

TEST_CASE("help of every command on terminals and in a pipe") {
  for (const Command& command : commands()) {
    check_help_screen("help-" + command.name, {command.name, "--help"});
    for (const Form& form : command.forms) {
      check_help_screen("help-" + command.name + "-" + form.name,
                        {command.name, form.name, "--help"});
    }
  }
  check_help_screen("help", {"--help"});
}

TEST_CASE("refusals of wrong usage on terminals and in a pipe") {
  hiptool::test::check_kept_screen("refused", [](std::optional<std::size_t> columns) {
    std::string text;
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"zebra"},
                                               {"help", "matmul"},
                                               {"report", "compare", "old.json"},
                                               {"bench-copy", "--size", "64XB"},
                                               {"check", "--samples", "3"},
                                               {"load", "--write-golden", "g.json", "m.gguf"},
                                               {"run-kernel", "fma", "--sweep", "quick"}}) {
      text += "$ hiptool";
      for (const std::string& word : words) text += " " + word;
      text += "\n" + screen_of(words, columns, 2);
    }
    return text;
  });
}
