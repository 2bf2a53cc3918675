// SPDX-License-Identifier: MIT
// The parser's own sentences and exit codes end here.
#include <CLI/CLI.hpp>

#include "cli/command_list.hpp"
#include "cli/command_tree.hpp"
#include "cli/failure.hpp"
#include "cli/suggest.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

const CLI::App* parsed_subcommand(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

std::string help_hint(const CLI::App& root) {
  const CLI::App* subcommand = parsed_subcommand(root);
  if (subcommand == nullptr || subcommand->get_name() == "help") return "see 'hiptool help'";
  return "see 'hiptool help " + subcommand->get_name() + "'";
}

std::string join_hints(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + "\n" + second;
}

void collect_option_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

Error unknown_word(const CLI::App& root, const std::string& word) {
  const CLI::App* subcommand = parsed_subcommand(root);
  std::vector<std::string> candidates;
  if (word.size() > 1 && word.front() == '-') {
    const std::string name = word.substr(0, word.find('='));
    if (subcommand != nullptr) collect_option_names(*subcommand, candidates);
    collect_option_names(root, candidates);
    return usage_error("unknown option '" + name + "'",
                       join_hints(suggestion(name, candidates), help_hint(root)));
  }
  if (subcommand != nullptr) {
    return usage_error("unexpected argument '" + word + "'", help_hint(root));
  }
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    candidates.push_back(command->get_name());
  }
  return usage_error("unknown command '" + word + "'",
                     join_hints(suggestion(word, candidates), help_hint(root)));
}

// Only what the checks of our own options do not catch before.
Error parser_error(const CLI::App& root, const CLI::ParseError& error) {
  std::string message = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    // "--size: 1 required SIZE missing"
    message = message.substr(0, message.find(": ")) + " needs a value";
  } else if (error.get_name() == "RequiredError") {
    message = message.substr(0, message.find(" is required")) + " is missing";
  }
  return usage_error(std::move(message), help_hint(root));
}

// A word that nobody knows explains more than what it led to, such as a missing argument.
void check_remaining(const CLI::App& root) {
  const std::vector<std::string> words = root.remaining(true);
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '-' && word != "--") throw unknown_word(root, word);
  }
  if (!words.empty()) throw unknown_word(root, words.front());
}

}  // namespace

Request parse(CommandTree& tree, int argc, const char* const* argv) {
  CLI::App& root = tree.root();
  if (argc <= 1) return {};
  const auto asked_command = [&]() -> const Command* {
    const CLI::App* subcommand = parsed_subcommand(root);
    return subcommand == nullptr ? nullptr : find_command(subcommand->get_name());
  };
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {Request::Kind::help, asked_command(), {}};
  } catch (const CLI::ParseError& error) {
    check_remaining(root);
    throw parser_error(root, error);
  } catch (const Error& error) {
    check_remaining(root);
    throw Error({error.code(), error.operation(), error.what(),
                 join_hints(error.hint(), help_hint(root)), error.native()});
  }
  if (tree.common().version) return {Request::Kind::version, nullptr, {}};
  const CLI::App* subcommand = parsed_subcommand(root);
  if (subcommand == nullptr) throw usage_error("no command was given", help_hint(root));
  if (subcommand->get_name() != "help") return {Request::Kind::command, asked_command(), {}};
  return {Request::Kind::help, find_command(tree.help_topic()), tree.help_topic()};
}

}  // namespace hiptool::cli
