// SPDX-License-Identifier: MIT
/// The scripts of `hiptool completion`, each from the command tree.
#pragma once
#include <string>
#include <vector>

#include "cli/help/command_docs.hpp"

namespace hiptool::cli {

std::string bash_script(const ProgramDoc& program);
std::string zsh_script(const ProgramDoc& program);
std::string fish_script(const ProgramDoc& program);

// ---- words.cpp: what the three have in common

/// "a b c".
std::string join(const std::vector<std::string>& words, const char* between = " ");

std::vector<std::string> names_of(const std::vector<CommandDoc>& commands);

/// Own and common ones.
std::vector<OptionDoc> all_options(const CommandDoc& command);

/// "-q", "--quiet": the names that it has.
std::vector<std::string> spellings_of(const OptionDoc& option);
std::vector<std::string> spellings_of(const std::vector<OptionDoc>& options);

/// How the value of an option or argument is completed.
struct ValueDoc {
  enum class Kind {
    none,   ///< any value
    words,  ///< one of them
    list,   ///< several of them, with commas between
    keyed,  ///< one of them, '=' or ':' and a file; any key where there are no words
  };
  Kind kind = Kind::none;
  std::vector<std::string> words;
  bool takes_file = false;  ///< apart from the words
  char separator = 0;       ///< of `keyed`
};
ValueDoc value_of(const OptionDoc& option);
ValueDoc value_of(const ArgumentDoc& argument);

}  // namespace hiptool::cli
