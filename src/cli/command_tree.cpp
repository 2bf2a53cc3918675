// SPDX-License-Identifier: MIT
#include "cli/command_tree.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/value_words.hpp"
#include "cli/wrong_words.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"

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

std::string name_of_subcommand(const CLI::App* subcommand) {
  return subcommand == nullptr ? std::string() : subcommand->get_name();
}

// For an option of other commands: "bench-copy and run-kernel have --samples".
std::string hint_for_other_commands(const CLI::App& root, const std::string& name) {
  std::vector<std::string> having;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> names;
    collect_option_names(*command, names);
    const bool has_name = std::find(names.begin(), names.end(), name) != names.end();
    if (has_name) having.push_back(command->get_name());
  }
  if (having.empty()) return {};
  const char* const verb = having.size() == 1 ? "has" : "have";
  return fmt::format("{} {} {}", report::and_list(having), verb, name);
}

// `next` is the word that follows it, or empty.
Error unknown_option(const CLI::App& root, const std::string& word, const std::string& next) {
  const CLI::App* subcommand = parsed_subcommand(root);
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? next : word.substr(equals + 1);
  std::string hint = hint_for_option(name, value, name_of_subcommand(subcommand));
  if (hint.empty()) hint = hint_for_other_commands(root, name);
  if (hint.empty()) {
    std::vector<std::string> candidates;
    if (subcommand != nullptr) collect_option_names(*subcommand, candidates);
    collect_option_names(root, candidates);
    hint = base::suggestion(name, candidates);
  }
  return usage_error("unknown option '" + name + "'", join_lines(hint, help_hint(root)));
}

Error unexpected_argument(CLI::App& root, CLI::App& command, const std::string& word) {
  std::string hint = hint_for_value(command, word);
  if (hint.empty()) hint = hint_for_value(root, word);
  const Command* const known = find_command(command.get_name());
  if (hint.empty() && known != nullptr && !known->usual_devices.empty()) {
    hint = hint_for_argument(word, command.get_option_no_throw("--model") != nullptr);
  }
  return usage_error("unexpected argument '" + word + "'", join_lines(hint, help_hint(root)));
}

Error unknown_word(CLI::App& root, const std::string& word, const std::string& next) {
  if (word.size() > 1 && word.front() == '-') return unknown_option(root, word, next);
  const auto chosen = root.get_subcommands();
  if (!chosen.empty()) return unexpected_argument(root, *chosen.front(), word);
  std::string hint = hint_for_word(root, word, next);
  if (hint.empty()) {
    std::vector<std::string> candidates;
    for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
      candidates.push_back(command->get_name());
    }
    hint = base::suggestion(word, candidates);
  }
  return usage_error("unknown command '" + word + "'", join_lines(hint, help_named_in(hint)));
}

// For a command whose first argument chooses a form: "write hiptool report compare OLD NEW, ...".
std::string forms_hint(const CLI::App& root) {
  const Command* const command = find_command(name_of_subcommand(parsed_subcommand(root)));
  if (command == nullptr || command->forms.empty()) return {};
  std::string text = "write one of:";
  for (const Form& form : command->forms) {
    text += fmt::format("\n  hiptool {} {} {}", command->name, form.name, form.arguments);
  }
  return text;
}

// Errors of CLI11 that no check of an option reports first.
Error parser_error(const CLI::App& root, const CLI::ParseError& error) {
  std::string message = error.what();
  std::string hint;
  if (error.get_name() == "ArgumentMismatch") {
    // "--size: 1 required SIZE missing"
    message = message.substr(0, message.find(": ")) + " needs a value";
  } else if (error.get_name() == "RequiredError") {
    message = message.substr(0, message.find(" is required")) + " is missing";
    hint = forms_hint(root);
  }
  return usage_error(std::move(message), join_lines(hint, help_hint(root)));
}

// An unknown word is the cause of the errors that follow from it, such as a missing argument.
void check_remaining(CLI::App& root) {
  const std::vector<std::string> words = root.remaining(true);
  const auto after = [&](std::size_t i) { return i + 1 < words.size() ? words[i + 1] : ""; };
  // Options belong to a command, so an unknown command comes first.
  const bool has_command = parsed_subcommand(root) != nullptr;
  for (std::size_t i = 0; has_command && i < words.size(); ++i) {
    const bool is_option = words[i].size() > 1 && words[i].front() == '-' && words[i] != "--";
    if (is_option) throw unknown_word(root, words[i], after(i));
  }
  if (!words.empty()) throw unknown_word(root, words.front(), after(0));
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

// The first argument of the command that was parsed, or empty.
std::string first_argument(const CLI::App& root) {
  const CLI::App* subcommand = parsed_subcommand(root);
  if (subcommand == nullptr) return {};
  for (const CLI::Option* option : subcommand->get_options()) {
    if (option->get_positional()) return option->count() > 0 ? option->results().front() : "";
  }
  return {};
}

// `hiptool help WORD [SECOND]`: codes (HT-...) and the names of commands in any case.
Request request_of_help(const CommandTree& tree) {
  const bool is_code = base::equals_ignoring_case(tree.help_topic().substr(0, 3), "HT-");
  const std::string topic = is_code ? tree.help_topic() : base::lower_case(tree.help_topic());
  const std::string second = base::lower_case(tree.help_page());
  const Command* const command = find_command(topic);
  const bool is_whole = command != nullptr && second == "all";
  const bool is_known = second.empty() || topic == "man" || is_whole ||
                        (command != nullptr && find_form(*command, second) != nullptr);
  if (!is_known) {
    std::vector<std::string> seconds{"all"};
    if (command != nullptr) {
      for (const Form& form : command->forms) seconds.emplace_back(form.name);
    }
    throw usage_error("unexpected argument '" + tree.help_page() + "'",
                      join_lines(base::suggestion(second, seconds),
                                 help_named_in(command == nullptr ? "" : command->name)));
  }
  return {Request::Kind::help,
          command,
          topic,
          topic == "man" ? second : "",
          command == nullptr ? "" : second,
          is_whole};
}

}  // namespace

std::string hint_for_word(CLI::App& root, const std::string& word, const std::string& next) {
  std::string hint = hint_for_command(word, next);
  return hint.empty() ? hint_for_value_of_any(root, word) : hint;
}

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
           OptionHelp("a command or a topic")
               .with_details("a code such as HT-COPY-RATE is explained too"));
  add_text(*help, "WORD", "", help_page_,
           OptionHelp("all: every option of the command in full")
               .with_details("of report also compare, merge or render; with man: the command "
                             "whose manual page to print"));
}

CommandTree::~CommandTree() = default;

void CommandTree::add_common_options() {
  CLI::App& root = *root_;
  begin_group(root, common_options);
  add_texts(root, "-d,--device", "LIST", common_.devices,
            OptionHelp("nvidia:0, amd:0-3, cpu, all, UUID or PCI bus id")
                .with_details("repeatable; amd:0-3 is four devices"));
  add_text(root, "--format", "FORMAT", common_.format,
           OptionHelp("format of standard output")
               .with_values({"table", "json", "csv", "markdown"})
               .with_default("table"));
  add_texts(root, "--export", "FORMAT=FILE", common_.exports,
            OptionHelp("also write the report to FILE")
                .with_details("- is standard output; repeatable; {rank} and {host} are replaced"));
  begin_group(root, more_common_options);
  root.get_help_ptr()->group(more_common_options);
  add_choice(root, "--platform", "NAME", common_.platform, {"amd", "nvidia", "cpu"},
             "use only devices of this platform");
  add_choice(root, "--color", "WHEN", common_.color, {"auto", "always", "never"},
             OptionHelp("colour the output").with_default("auto"));
  add_flag(root, "-q,--quiet", common_.quiet, "print only results and errors, no progress");
  add_flag(root, "-v,--verbose", common_.verbose,
           "also print notes of the library and the runtimes");
  add_flag(root, "-V,--version", common_.version,
           "show versions and the runtime libraries on disk");
  begin_group(root, usual_group);  // commands inherit it
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
    return {Request::Kind::help, asked_command(), {}, {}, first_argument(root)};
  } catch (const CLI::ParseError& error) {
    check_remaining(root);
    throw parser_error(root, error);
  } catch (const Error& error) {
    check_remaining(root);
    throw error.with_hint(join_lines(error.hint(), help_hint(root)));
  }
  if (tree.common().version) return {Request::Kind::version, nullptr, {}};
  const CLI::App* subcommand = parsed_subcommand(root);
  if (subcommand == nullptr) {
    const char* const version = tree.common().verbose ? "-V and --version print the version" : "";
    throw usage_error("no command given", join_lines(version, help_hint(root)));
  }
  if (subcommand->get_name() != "help") return {Request::Kind::command, asked_command(), {}};
  return request_of_help(tree);
}

}  // namespace hiptool::cli
