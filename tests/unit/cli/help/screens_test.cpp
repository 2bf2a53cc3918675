// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command.hpp"
#include "harness.hpp"
#include "kept_screen.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::string screen_of(const std::vector<std::string>& words, std::optional<std::size_t> columns) {
  Machine machine;
  machine.variables.erase("COLUMNS");
  machine.out.terminal = columns.has_value();
  machine.out.width = columns;
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--color", "never"});
  CHECK(machine.run(all) == 0);
  return machine.out.text;
}

std::string screens_of_help(const std::vector<std::string>& words) {
  return "---- a terminal of 80 columns\n" + screen_of(words, 80) +
         "---- a terminal of 120 columns\n" + screen_of(words, 120) + "---- a pipe\n" +
         screen_of(words, {});
}

}  // namespace

TEST_CASE("help of every command on terminals and in a pipe") {
  for (const Command& command : commands()) {
    hiptool::test::check_kept_screen("help-" + command.name,
                                     screens_of_help({command.name, "--help"}));
    for (const Form& form : command.forms) {
      hiptool::test::check_kept_screen("help-" + command.name + "-" + form.name,
                                       screens_of_help({command.name, form.name, "--help"}));
    }
  }
  hiptool::test::check_kept_screen("help", screens_of_help({"--help"}));
}
