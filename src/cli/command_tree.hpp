// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace CLI {
class App;
}

namespace hiptool::cli {

/// The groups of the options that every command takes; of the second the help of a command has only
/// the names.
inline constexpr const char* common_options = "Options of every command";
inline constexpr const char* more_common_options = "More options of every command";

/// Options accepted before and after every subcommand, unparsed.
struct CommonOptions {
  bool quiet = false;
  bool verbose = false;
  bool version = false;
  std::optional<std::string> color;
  std::string format;  ///< empty: not given
  std::vector<std::string> exports;
  std::vector<std::string> devices;
  std::optional<std::string> platform;
};

/// All commands and options: the one source of parsing, help and suggestions.
class CommandTree {
 public:
  CommandTree();
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  CLI::App& root() noexcept { return *root_; }
  const CommonOptions& common() const noexcept { return common_; }
  const std::string& help_topic() const noexcept { return help_topic_; }
  const std::string& help_page() const noexcept { return help_page_; }
  const Runner& runner(const Command& command) const;
  /// What the command line has, after it was parsed, of that command and of all.
  std::vector<GivenOption> given(const Command& command) const;

 private:
  void add_common_options();

  CommonOptions common_;
  std::string help_topic_;
  std::string help_page_;
  std::vector<Runner> runners_;  // in the order of commands()
  std::unique_ptr<CLI::App> root_;
};

/// The request that the arguments make.
struct Request {
  enum class Kind { help, version, command };
  Kind kind = Kind::help;
  const Command* command = nullptr;  ///< the command to run or to show help for
  std::string topic;                 ///< of `help`, if it is not a command; may be empty
  std::string page = {};             ///< of `help man`: the command; empty: the program
  std::string form = {};             ///< "compare" of report, where help is of that alone
  bool is_whole = false;             ///< help with the details of every option
};

/// What an unknown command may have meant: a command, or a value of one. `next` is the word
/// that follows it, or empty. Empty if nothing is known.
std::string hint_for_word(CLI::App& root, const std::string& word, const std::string& next);

/// Parses the arguments into the tree's options. Throws Error(invalid_argument), with a suggestion
/// for a misspelt word.
Request parse(CommandTree& tree, int argc, const char* const* argv);

}  // namespace hiptool::cli
