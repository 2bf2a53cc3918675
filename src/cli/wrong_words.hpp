// SPDX-License-Identifier: MIT
/// The right word for words that people know from other programs, and for a file that is given
/// without a command.
#pragma once
#include <string>
#include <string_view>

namespace hiptool::cli {

/// "did you mean 'hiptool devices'?" for "info"; for the name of a model file the commands that
/// take one; empty for a word that no one is known to try. `next` is the word that follows it, or
/// empty: "info m.gguf" asks for a model, not for devices.
std::string hint_for_command(std::string_view word, std::string_view next);

/// "did you mean '--format json'?" for "--json" after `command`, which is empty where the option
/// stands before any; `value` is the word that follows it, or empty. Empty as above.
std::string hint_for_option(std::string_view option, std::string_view value,
                            std::string_view command);

/// "did you mean 'nvidia:0'?" for "cuda:0"; empty as above.
std::string hint_for_device(std::string_view id);

/// "did you mean '--device nvidia:0'?" for a device after a command that has no such argument, and
/// so for a model if the command has --model; empty for other words.
std::string hint_for_argument(std::string_view word, bool takes_model);

}  // namespace hiptool::cli
