// SPDX-License-Identifier: MIT
/// Values of options and arguments where a command stands, such as the name of a kernel.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hiptool::cli {

/// The values of options and arguments of that command or of the whole program: "did you mean
/// '--level quick'?" for an option's, "did you mean 'hiptool run-kernel matmul'?" for an
/// argument's; empty for other words.
std::string hint_for_value(CLI::App& app, std::string_view word);

/// The same for a word without a command, of all commands: several options are listed, as in
/// "'f16' is a value of load --kv-type and make-model --dtype".
std::string hint_for_value_of_any(CLI::App& root, std::string_view word);

/// "see 'hiptool help load' or 'hiptool help prove'": the commands that the hint names, if any,
/// else "see 'hiptool help'".
std::string help_named_in(const std::string& hint);

}  // namespace hiptool::cli
