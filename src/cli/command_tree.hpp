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

/// Options that stand before or after every subcommand, as they were written.
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

/// Everything that can be said on the command line: the one source of parsing, help and
/// suggestions.
class CommandTree {
 public:
  CommandTree();
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  CLI::App& root() noexcept { return *root_; }
  const CLI::App& root() const noexcept { return *root_; }
  const CLI::App& subcommand(const std::string& name) const;
  const CommonOptions& common() const noexcept { return common_; }
  const std::string& help_topic() const noexcept { return help_topic_; }
  const Runner& runner(const Command& command) const;

 private:
  void add_common_options();

  CommonOptions common_;
  std::string help_topic_;
  std::vector<Runner> runners_;  // in the order of commands()
  std::unique_ptr<CLI::App> root_;
};

/// What the words asked for.
struct Request {
  enum class Kind { overview, help, version, command };
  Kind kind = Kind::overview;
  const Command* command = nullptr;  ///< for help of a command and for running one
  std::string topic;                 ///< for help of something else; may be empty
};

/// Parses the words into the tree's options. Throws Error(invalid_argument), with a suggestion
/// where a word looks misspelt.
Request parse(CommandTree& tree, int argc, const char* const* argv);

}  // namespace hiptool::cli
