// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cli/commands/completion/scripts.hpp"

namespace hiptool::cli {
namespace {

// readline splits words at '=' and ':', so a word is put together from its parts, completed, and
// the parts before the last one are taken away again.
constexpr const char* bash_functions =
    R"BASH(# Each word that begins with what is typed, after a part that stays: $1.
_hiptool_words() {
  local kept=$1 word
  shift
  for word in "$@"; do
    if [[ $kept$word == "$value"* ]]; then COMPREPLY+=("$head$kept$word"); fi
  done
}
# Words with commas between, each once.
_hiptool_list() {
  local kept= word
  if [[ $value == *,* ]]; then kept=${value%,*},; fi
  for word in "$@"; do
    if [[ ,$kept != *,"$word",* ]]; then _hiptool_words "$kept" "$word"; fi
  done
}
# Files, after a part that stays: $1.
_hiptool_files() {
  local name
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do
    COMPREPLY+=("$head$1$name")
  done < <(compgen -f -- "${value#"$1"}")
}
# A key, the separator $1 and a file.
_hiptool_keyed() {
  local separator=$1
  shift
  if [[ $value == *"$separator"* ]]; then
    _hiptool_files "${value%%"$separator"*}$separator"
  else
    compopt -o nospace 2>/dev/null
    _hiptool_words '' "${@/%/$separator}"
  fi
}
)BASH";

constexpr const char* bash_main = R"BASH(_hiptool() {
  local raw=${COMP_WORDS[COMP_CWORD]} command= option= place=0 current value head= i
  local -a words=()
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if ((i > 1)) && [[ ${COMP_WORDS[i]} =~ ^[=:]+$ || ${COMP_WORDS[i-1]} =~ ^[=:]+$ ]]; then
      words[${#words[@]}-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    if [[ -n $option ]]; then option=; continue; fi
    case ${words[i]} in
      --*=*) ;;
      -*) if _hiptool_takes_value "$command" "${words[i]}"; then option=${words[i]}; fi ;;
      *) if [[ -n $command ]]; then ((++place)); else command=${words[i]}; fi ;;
    esac
  done
  current=${words[${#words[@]}-1]}
  value=$current
  if [[ -z $option && $current == --*=* ]]; then
    option=${current%%=*}; head=$option=; value=${current#*=}
  fi
  _hiptool_offer
  local kept=$((${#current} - ${#raw}))
  if [[ $raw =~ ^[=:]+$ ]]; then kept=${#current}; fi
  for ((i = 0; i < ${#COMPREPLY[@]}; ++i)); do COMPREPLY[i]=${COMPREPLY[i]:kept}; done
}
complete -F _hiptool hiptool
)BASH";

std::string bash_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " '" + word + "'";
  return text;
}

// The commands of a shell that complete it; ":" for none.
std::string bash_reply(const ValueDoc& value) {
  std::string text;
  switch (value.kind) {
    case ValueDoc::Kind::none: break;
    case ValueDoc::Kind::words: text = "_hiptool_words ''" + bash_words(value.words); break;
    case ValueDoc::Kind::list: text = "_hiptool_list" + bash_words(value.words); break;
    case ValueDoc::Kind::keyed:
      return fmt::format("_hiptool_keyed '{}'", value.separator) + bash_words(value.words);
  }
  if (value.takes_file) text += std::string(text.empty() ? "" : "; ") + "_hiptool_files ''";
  return text.empty() ? ":" : text;
}

// "load:--device|load:-d".
std::string bash_pattern(const std::string& command, const OptionDoc& option) {
  std::vector<std::string> names;
  for (const std::string& name : spellings_of(option)) names.push_back(command + ":" + name);
  return join(names, "|");
}

template <class Visit>
void for_each_value_option(const ProgramDoc& program, Visit visit) {
  const auto visit_all = [&](const std::string& command, const std::vector<OptionDoc>& options) {
    for (const OptionDoc& option : options) {
      if (!option.value_name.empty()) visit(bash_pattern(command, option), option);
    }
  };
  visit_all("", program.common_options);
  for (const CommandDoc& command : program.commands) visit_all(command.name, all_options(command));
}

std::string bash_takes_value(const ProgramDoc& program) {
  std::vector<std::string> patterns;
  for_each_value_option(
      program, [&](const std::string& name, const OptionDoc&) { patterns.push_back(name); });
  return "_hiptool_takes_value() {\n  case $1:$2 in\n    " + join(patterns, "|") +
         ") return 0 ;;\n  esac\n  return 1\n}\n";
}

std::string bash_offer(const ProgramDoc& program) {
  std::string text =
      "_hiptool_offer() {\n  if [[ -n $option ]]; then\n    case $command:$option in\n";
  for_each_value_option(program, [&](const std::string& name, const OptionDoc& option) {
    text += "      " + name + ") " + bash_reply(value_of(option)) + " ;;\n";
  });
  text += "    esac\n  elif [[ $current == -* ]]; then\n    case $command in\n";
  for (const CommandDoc& command : program.commands) {
    text += "      " + command.name + ") _hiptool_words ''" +
            bash_words(spellings_of(all_options(command))) + " ;;\n";
  }
  text += "      '') _hiptool_words ''" + bash_words(spellings_of(program.common_options)) +
          " ;;\n    esac\n  else\n    case $command:$place in\n";
  for (const CommandDoc& command : program.commands) {
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const ArgumentDoc& argument = command.arguments[i];
      text += fmt::format("      {}:{}) {} ;;\n", command.name,
                          argument.is_repeated ? "*" : std::to_string(i),
                          bash_reply(value_of(argument)));
    }
  }
  return text + "      :*) _hiptool_words ''" + bash_words(names_of(program.commands)) +
         " ;;\n    esac\n  fi\n}\n";
}

}  // namespace

std::string bash_script(const ProgramDoc& program) {
  return "# bash completion of hiptool, generated by `hiptool completion bash`\n" +
         std::string(bash_functions) + bash_takes_value(program) + bash_offer(program) + bash_main;
}

}  // namespace hiptool::cli
