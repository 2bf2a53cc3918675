// SPDX-License-Identifier: MIT
#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/suggest.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
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
                       join_lines(base::suggestion(name, candidates), help_hint(root)));
  }
  if (subcommand != nullptr) {
    return usage_error("unexpected argument '" + word + "'", help_hint(root));
  }
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    candidates.push_back(command->get_name());
  }
  return usage_error("unknown command '" + word + "'",
                     join_lines(base::suggestion(word, candidates), help_hint(root)));
}

// Errors of CLI11 that no check of an option reports first.
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

// An unknown word is the cause of the errors that follow from it, such as a missing argument.
void check_remaining(const CLI::App& root) {
  const std::vector<std::string> words = root.remaining(true);
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '-' && word != "--") throw unknown_word(root, word);
  }
  if (!words.empty()) throw unknown_word(root, words.front());
}

// For "--name=" CLI11 takes the next word, which may be the model, for the value. The words are in
// reverse order, as its parser wants them.
std::vector<std::string> words_for_parser(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool has_options = true;  // until "--"
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") has_options = false;
    const bool is_without_value = has_options && word.size() > 3 && word.starts_with("--") &&
                                  word.find('=') == word.size() - 1;
    if (is_without_value) word.pop_back();
    words.push_back(std::move(word));
    if (is_without_value) words.emplace_back();
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// CLI11 checks no value that may be left out. The words are in reverse order.
void refuse_empty_optional_values(const CLI::App& root, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    for (const CLI::Option* option : command->get_options()) {
      const bool is_optional = option->get_items_expected_max() > 0 &&
                               option->get_expected_min() == 0 && !option->get_positional();
      if (is_optional) names.push_back(option->get_name());
    }
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& name = words[i + 1];
    if (std::find(names.begin(), names.end(), name) != names.end()) refuse_empty(words[i], name);
  }
}

}  // namespace

CommandTree::CommandTree()
    : root_(std::make_unique<CLI::App>(
          "find GPUs, load and verify model files, measure copies and kernels", "hiptool")) {
  // At most one subcommand, so that a file with the name of a command is not parsed as a second
  // one.
  root_->require_subcommand(0, 1);
  root_->fallthrough();
  root_->set_help_flag("-h,--help", "show help, with examples");
  add_common_options();
  for (const Command& command : commands()) {
    CLI::App* subcommand = root_->add_subcommand(command.name, command.summary);
    runners_.push_back(command.add(*subcommand));
  }
  CLI::App* help = root_->add_subcommand("help", "explain a command or a topic");
  add_text(*help, "TOPIC", "", help_topic_,
           "a command, exit-codes, environment, thresholds, units, reference or man");
  add_text(*help, "COMMAND", "", help_page_, "with man: the command whose manual page to print");
}

CommandTree::~CommandTree() = default;

void CommandTree::add_common_options() {
  CLI::App& root = *root_;
  add_texts(root, "-d,--device", "LIST", common_.devices,
            "devices: nvidia:0, amd:1, cpu, all, UUID or PCI bus id; repeatable; default: the "
            "discrete GPU with the most memory");
  add_choice(root, "--platform", "NAME", common_.platform, {"amd", "nvidia", "cpu"},
             "use only devices of this platform");
  add_text(root, "--format", "FORMAT", common_.format,
           "format of standard output: table, json, csv, markdown");
  add_texts(root, "--export", "FORMAT=FILE", common_.exports,
            "also write the report to FILE, or to standard output for -; repeatable; {rank} and "
            "{host} are replaced");
  add_choice(root, "--color", "WHEN", common_.color, {"auto", "always", "never"},
             "colour the output");
  add_flag(root, "-q,--quiet", common_.quiet, "print only results and errors, no progress");
  add_flag(root, "-v,--verbose", common_.verbose,
           "also print notes of the library and the runtimes");
  add_flag(root, "-V,--version", common_.version,
           "show versions and the runtime libraries on disk");
}

const Runner& CommandTree::runner(const Command& command) const {
  return runners_[static_cast<std::size_t>(&command - commands().data())];
}

std::vector<GivenOption> CommandTree::given(const Command& command) const {
  std::vector<GivenOption> list;
  for (const CLI::App* app :
       {root_->get_subcommand(command.name), static_cast<CLI::App*>(root_.get())}) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->count() == 0) continue;
      const std::vector<std::string>& names = option->get_lnames();
      list.push_back(
          {names.empty() ? option->get_name(true) : "--" + names.front(), option->results()});
    }
  }
  return list;
}

Request parse(CommandTree& tree, int argc, const char* const* argv) {
  CLI::App& root = tree.root();
  if (argc <= 1) return {};
  const auto asked_command = [&]() -> const Command* {
    const CLI::App* subcommand = parsed_subcommand(root);
    return subcommand == nullptr ? nullptr : find_command(subcommand->get_name());
  };
  try {
    std::vector<std::string> words = words_for_parser(argc, argv);
    refuse_empty_optional_values(root, words);
    root.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return {Request::Kind::help, asked_command(), {}};
  } catch (const CLI::ParseError& error) {
    check_remaining(root);
    throw parser_error(root, error);
  } catch (const Error& error) {
    check_remaining(root);
    throw error.with_hint(join_lines(error.hint(), help_hint(root)));
  }
  if (tree.common().version) return {Request::Kind::version, nullptr, {}};
  const CLI::App* subcommand = parsed_subcommand(root);
  if (subcommand == nullptr) throw usage_error("no command given", help_hint(root));
  if (subcommand->get_name() != "help") return {Request::Kind::command, asked_command(), {}};
  if (!tree.help_page().empty() && tree.help_topic() != "man") {
    throw usage_error("unexpected argument '" + tree.help_page() + "'", help_hint(root));
  }
  return {Request::Kind::help, find_command(tree.help_topic()), tree.help_topic(),
          tree.help_page()};
}

}  // namespace hiptool::cli
