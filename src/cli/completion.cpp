// SPDX-License-Identifier: MIT
#include "cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hiptool::cli {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string join(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> names_of(const std::vector<CommandDoc>& commands) {
  std::vector<std::string> names;
  for (const CommandDoc& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> words_of(const std::vector<OptionDoc>& options) {
  std::vector<std::string> words;
  for (const OptionDoc& option : options) {
    if (!option.short_name.empty()) words.push_back(option.short_name);
    if (!option.long_name.empty()) words.push_back(option.long_name);
  }
  return words;
}

std::vector<OptionDoc> all_options(const CommandDoc& command) {
  std::vector<OptionDoc> options = command.options;
  options.insert(options.end(), command.common_options.begin(), command.common_options.end());
  return options;
}

std::string spelled(const OptionDoc& option, const char* between) {
  if (option.short_name.empty()) return option.long_name;
  if (option.long_name.empty()) return option.short_name;
  return option.short_name + between + option.long_name;
}

// ---- bash

std::string bash_reply(const std::vector<std::string>& choices, bool takes_file) {
  if (!choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", join(choices));
  }
  return takes_file ? "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$current\"))"
                    : ":";
}

std::string bash_values(const CommandDoc& command) {
  std::string text;
  for (const OptionDoc& option : all_options(command)) {
    if (option.value_name.empty()) continue;
    std::string pattern = command.name + ":" + option.long_name;
    if (!option.short_name.empty()) pattern += "|" + command.name + ":" + option.short_name;
    text += fmt::format("    {}) {}; return ;;\n", pattern,
                        bash_reply(option.choices, option.takes_file));
  }
  return text;
}

std::string bash_script(const std::vector<CommandDoc>& commands,
                        const std::vector<OptionDoc>& common) {
  std::vector<std::string> with_value;
  for (const OptionDoc& option : common) {
    if (!option.value_name.empty()) with_value.push_back(spelled(option, "|"));
  }
  std::string text =
      "# bash completion of hiptool, made by `hiptool completion bash`\n"
      "_hiptool() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command= before= i\n"
      "  COMPREPLY=()\n"
      "  # '=' stands as a word of its own\n"
      "  if [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [[ $current == = ]]; then current=; fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n";
  text += fmt::format(
      "    case $before in\n      {}) before=; continue ;;\n    esac\n"
      "    before=${{COMP_WORDS[i]}}\n"
      "    case $before in\n      {}) command=$before; break ;;\n    esac\n  done\n",
      join(with_value, "|"), join(names_of(commands), "|"));
  text += "  case $command:$previous in\n";
  for (const CommandDoc& command : commands) text += bash_values(command);
  for (const OptionDoc& option : common) {
    if (option.value_name.empty()) continue;
    text += fmt::format("    :{}) {}; return ;;\n", spelled(option, "|:"),
                        bash_reply(option.choices, option.takes_file));
  }
  text += "  esac\n  case $command in\n";
  for (const CommandDoc& command : commands) {
    text += fmt::format(
        "    {})\n      if [[ $current == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n",
        command.name, join(words_of(all_options(command))));
    for (const ArgumentDoc& argument : command.arguments) {
      text += "      else\n        " + bash_reply(argument.choices, argument.takes_file) + "\n";
      break;
    }
    text += "      fi ;;\n";
  }
  text += fmt::format(
      "    *)\n      if [[ $current == -* ]]; then\n"
      "        COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n"
      "      else\n        COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n      fi ;;\n  "
      "esac\n}}\n"
      "complete -F _hiptool hiptool\n",
      join(words_of(common)), join(names_of(commands)));
  return text;
}

// ---- zsh

// Within a specification of _arguments, itself within single quotes.
std::string zsh_text(const std::string& text) {
  std::string safe = replaced(text, "\\", "\\\\");
  for (const char* mark : {"[", "]", ":"}) safe = replaced(safe, mark, std::string("\\") + mark);
  return replaced(safe, "'", "'\\''");
}

std::string zsh_action(const std::vector<std::string>& choices, bool takes_file) {
  if (choices.empty()) return takes_file ? "_files" : " ";
  std::vector<std::string> safe;
  for (const std::string& choice : choices) safe.push_back(replaced(choice, ":", "\\:"));
  return "(" + join(safe) + ")";
}

std::string zsh_option(const OptionDoc& option) {
  const std::string value =
      option.value_name.empty()
          ? ""
          : ":" + zsh_text(option.value_name) + ":" + zsh_action(option.choices, option.takes_file);
  std::string text;
  for (const std::string& name : {option.short_name, option.long_name}) {
    if (name.empty()) continue;
    const bool is_long = name.rfind("--", 0) == 0;
    text += fmt::format("        '*{}{}[{}]{}' \\\n", name, is_long && !value.empty() ? "=" : "",
                        zsh_text(option.help), value);
  }
  return text;
}

std::string zsh_command(const CommandDoc& command) {
  std::string text = "    " + command.name + ")\n      _arguments \\\n";
  for (const OptionDoc& option : all_options(command)) text += zsh_option(option);
  for (const ArgumentDoc& argument : command.arguments) {
    text += fmt::format("        '{}:{}:{}' \\\n", argument.is_repeated ? "*" : "",
                        zsh_text(argument.name), zsh_action(argument.choices, argument.takes_file));
  }
  return text + "        && return ;;\n";
}

std::string zsh_script(const std::vector<CommandDoc>& commands,
                       const std::vector<OptionDoc>& common) {
  std::string text =
      "#compdef hiptool\n# zsh completion of hiptool, made by `hiptool completion zsh`\n"
      "_hiptool() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n"
      "  local -a commands\n  commands=(\n";
  for (const CommandDoc& command : commands) {
    text += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.summary));
  }
  text += "  )\n  _arguments -C -A '-*' \\\n";
  for (const OptionDoc& option : common) text += zsh_option(option);
  text +=
      "    '1:command:->command' \\\n    '*::argument:->argument' && return\n"
      "  if [[ $state == command ]]; then\n    _describe command commands\n    return\n  fi\n"
      "  case $line[1] in\n";
  for (const CommandDoc& command : commands) text += zsh_command(command);
  // Autoloaded as a file of the function path, or sourced.
  return text +
         "  esac\n}\nif [[ $funcstack[1] == _hiptool ]]; then\n  _hiptool \"$@\"\nelse\n"
         "  compdef _hiptool hiptool\nfi\n";
}

// ---- fish

std::string fish_text(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_option(const OptionDoc& option, const std::string& condition) {
  std::string text = "complete -c hiptool" + condition;
  if (!option.short_name.empty()) text += " -s " + option.short_name.substr(1);
  if (!option.long_name.empty()) text += " -l " + option.long_name.substr(2);
  if (!option.value_name.empty()) text += option.takes_file ? " -r -F" : " -x";
  if (!option.choices.empty()) text += " -a " + fish_text(join(option.choices));
  return text + " -d " + fish_text(option.help) + "\n";
}

// fish's own functions for this take the value of an option for a command.
std::string fish_functions(const std::vector<CommandDoc>& commands,
                           const std::vector<OptionDoc>& common) {
  std::vector<std::string> with_value;
  for (const OptionDoc& option : common) {
    if (!option.value_name.empty()) with_value.push_back(spelled(option, " "));
  }
  return fmt::format(
      "function __hiptool_command\n  set -l before ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if contains -- \"$before\" {}\n      set before ''\n      continue\n    end\n"
      "    set before $word\n    if contains -- $word {}\n      echo $word\n      return 0\n"
      "    end\n  end\n  return 1\nend\n",
      join(with_value), join(names_of(commands)));
}

std::string fish_script(const std::vector<CommandDoc>& commands,
                        const std::vector<OptionDoc>& common) {
  const std::string no_command = " -n 'not __hiptool_command > /dev/null'";
  std::string text = "# fish completion of hiptool, made by `hiptool completion fish`\n" +
                     fish_functions(commands, common) + "complete -c hiptool -f\n";
  for (const CommandDoc& command : commands) {
    text += "complete -c hiptool" + no_command + " -a " + command.name + " -d " +
            fish_text(command.summary) + "\n";
  }
  for (const OptionDoc& option : common) text += fish_option(option, no_command);
  for (const CommandDoc& command : commands) {
    const std::string condition = " -n 'contains -- " + command.name + " (__hiptool_command)'";
    for (const OptionDoc& option : all_options(command)) text += fish_option(option, condition);
    for (const ArgumentDoc& argument : command.arguments) {
      if (argument.takes_file) text += "complete -c hiptool" + condition + " -F\n";
      if (argument.choices.empty()) continue;
      text += "complete -c hiptool" + condition + " -a " + fish_text(join(argument.choices)) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CommandDoc>& commands,
                              const std::vector<OptionDoc>& common_options) {
  if (shell == "zsh") return zsh_script(commands, common_options);
  if (shell == "fish") return fish_script(commands, common_options);
  return bash_script(commands, common_options);
}

}  // namespace hiptool::cli
