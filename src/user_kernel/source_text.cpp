// SPDX-License-Identifier: MIT
#include "user_kernel/source_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"

namespace hiptool::user_kernel {
namespace {

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// The limit avoids quadratic time for sources with many unfinished declarations.
constexpr std::size_t most_declaration_bytes = 4096;
constexpr std::string_view global_mark = "__global__";

/// The directive on a line and what follows it, without blanks around: {"if", "0"}.
std::pair<std::string_view, std::string_view> directive_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto skip = [&](std::size_t from) {
    return std::min(line.find_first_not_of(blanks, from), line.size());
  };
  const std::size_t hash = skip(0);
  if (hash == line.size() || line[hash] != '#') return {};
  const std::size_t begin = skip(hash + 1);
  std::size_t end = begin;
  while (end < line.size() && is_word(line[end])) ++end;
  std::string_view rest = line.substr(skip(end));
  rest = rest.substr(0, rest.find_last_not_of(blanks) + 1);
  return {line.substr(begin, end - begin), rest};
}

/// The end of the lines dropped after `#if 0`: the start of its #else, #elif or #endif.
std::size_t end_of_dropped(std::string_view text, std::size_t from) {
  int depth = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
    const std::string_view word = directive_of(text.substr(from, end - from)).first;
    if (word.starts_with("if")) ++depth;
    if (depth == 0 && (word == "else" || word.starts_with("elif") || word == "endif")) return from;
    if (word == "endif") --depth;
    from = end;
  }
  return text.size();
}

/// The source with comments, literals, preprocessor lines and the lines after `#if 0` replaced by
/// blanks; of the same length and with the same line ends.
std::string code_of(std::string_view text) {
  std::string code(text);
  const auto blank = [&code](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  const auto end_of = [text](std::string_view mark, std::size_t from) {
    const std::size_t at = text.find(mark, from);
    return at == std::string_view::npos ? text.size() : at + mark.size();
  };
  bool begins_line = true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      blank(i, end = end_of("\n", i) - (end_of("\n", i) < text.size() ? 1 : 0));
    } else if (rest.starts_with("/*")) {
      blank(i, end = end_of("*/", i + 2));
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2u : 1u;
      blank(i, ++end);
    } else if (rest.starts_with("'\\") ||
               (rest.size() > 2 && text[i] == '\'' && text[i + 2] == '\'')) {
      blank(i, end = std::max(end_of("'", i + 2), i + 1));
    } else if (text[i] == '#' && begins_line) {
      end = i;
      do {
        end = end_of("\n", end);
      } while (end < text.size() && end >= 2 && text[end - 2] == '\\');
      if (directive_of(text.substr(i, end - i)) ==
          std::pair<std::string_view, std::string_view>{"if", "0"}) {
        end = end_of_dropped(text, end);
      }
      blank(i, end);
    }
    const std::string_view seen = text.substr(i, std::min(end, text.size()) - i);
    if (seen.find('\n') != std::string_view::npos) {
      begins_line = true;
    } else if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      begins_line = false;
    }
    i = end;
  }
  return code;
}

std::vector<std::string> words_of(std::string_view code) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!is_word(code[i])) continue;
    const std::size_t from = i;
    while (i < code.size() && (is_word(code[i]) || code.substr(i).starts_with("::"))) {
      i += is_word(code[i]) ? 1u : 2u;
    }
    words.emplace_back(code.substr(from, i - from));
  }
  return words;
}

std::string_view first_word(std::string_view code) {
  const auto begin = std::ranges::find_if(code, is_word);
  const auto end = std::find_if_not(begin, code.end(), is_word);
  return code.substr(static_cast<std::size_t>(begin - code.begin()),
                     static_cast<std::size_t>(end - begin));
}

/// The position after the bracket that closes the one at `open`.
std::size_t after_bracket(std::string_view code, std::size_t open, char opening, char closing) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == opening) ++depth;
    if (code[i] == closing && --depth == 0) return i + 1;
  }
  return code.size();
}

struct FunctionName {
  std::string name;
  std::string arguments;  ///< of a template: "<float>"
  std::string parameters;
  std::uint64_t max_block_threads = 0;
};

/// The first number of "(256, 2)"; 0 if it is none.
std::uint64_t first_number(std::string_view list) {
  list.remove_prefix(std::min(list.find_first_not_of("( \t\n"), list.size()));
  const std::size_t digits = std::min(list.find_first_not_of("0123456789"), list.size());
  const std::size_t next = list.find_first_not_of(" \t\n", digits);
  if (next == std::string_view::npos || (list[next] != ',' && list[next] != ')')) return 0;
  return base::parse_number<std::uint64_t>(list.substr(0, digits)).value_or(0);
}

/// The last word before the argument list that begins at or after `start`; attributes in
/// parentheses, such as __launch_bounds__(256), come before it.
FunctionName function_name(std::string_view code, std::size_t start) {
  std::string_view name;
  std::string_view arguments;
  std::uint64_t max_block_threads = 0;
  code = code.substr(0, start + most_declaration_bytes);
  for (std::size_t i = start; i < code.size(); ++i) {
    if (is_word(code[i])) {
      const std::size_t from = i;
      while (i + 1 < code.size() && is_word(code[i + 1])) ++i;
      name = code.substr(from, i + 1 - from);
      arguments = {};
      if (name == global_mark) break;
    } else if (code[i] == '<') {
      const std::size_t end = after_bracket(code, i, '<', '>');
      arguments = code.substr(i, end - i);
      i = end - 1;
    } else if (code[i] == '(') {
      const std::size_t end = after_bracket(code, i, '(', ')');
      const std::string_view list = code.substr(i, end - i);
      if (name != "__launch_bounds__" && name != "__attribute__") {
        const bool is_whole = list.ends_with(')');
        return {std::string(name), template_arguments(arguments),
                std::string(is_whole ? list.substr(1, list.size() - 2) : ""), max_block_threads};
      }
      if (name == "__launch_bounds__") max_block_threads = first_number(list);
      i = end - 1;
      name = arguments = {};
    } else if (code[i] == ';' || code[i] == '{' || code[i] == '#') {
      break;
    }
  }
  return {};
}

/// Tracks the namespaces while it moves forward through the code.
class Scopes {
 public:
  explicit Scopes(std::string_view code) : code_(code) {}

  /// Only forward.
  void go_to(std::size_t place) {
    for (; place_ < place && place_ < code_.size(); ++place_) {
      const char letter = code_[place_];
      if (letter == '{') open(code_.substr(statement_, place_ - statement_));
      if (letter == '}' && !names_.empty()) names_.pop_back();
      if (letter == '{' || letter == '}' || letter == ';') statement_ = place_ + 1;
    }
  }

  /// The start of the current statement.
  std::size_t statement() const { return statement_; }
  bool is_in_function() const {
    return std::ranges::any_of(names_, [](const Scope& one) { return one.is_other; });
  }
  std::string prefix() const {
    std::string prefix;
    for (const Scope& one : names_) {
      if (!one.name.empty()) prefix += one.name + "::";
    }
    return prefix;
  }

 private:
  struct Scope {
    std::string name;
    bool is_other = false;  ///< a function, a class, ...
  };

  void open(std::string_view head) {
    const std::vector<std::string> words = words_of(head);
    const auto found = std::ranges::find(words, "namespace");
    const bool is_linkage = words.size() == 1 && words.front() == "extern";  // extern "C" {
    Scope scope;
    scope.is_other = found == words.end() && !is_linkage;
    if (found != words.end() && found + 1 != words.end()) scope.name = words.back();
    names_.push_back(std::move(scope));
  }

  std::string_view code_;
  std::size_t place_ = 0;
  std::size_t statement_ = 0;
  std::vector<Scope> names_;
};

void for_each_word(std::string_view code, std::string_view word,
                   const std::function<void(std::size_t)>& use) {
  for (auto at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    const std::size_t after = at + word.size();
    if ((at > 0 && is_word(code[at - 1])) || (after < code.size() && is_word(code[after])))
      continue;
    use(at);
  }
}

/// "class T, int N" of a statement that begins with "template <class T, int N>".
std::string template_list(std::string_view statement) {
  const std::size_t open = statement.find('<');
  if (open == std::string_view::npos || open > statement.find('(')) return {};
  const std::size_t end = after_bracket(statement, open, '<', '>');
  return std::string(statement.substr(open + 1, end - open - 2));
}

std::string_view without_arguments(std::string_view name) { return name.substr(0, name.find('<')); }

/// Without alignment specifiers: the memory is aligned to 128 bytes anyway.
std::string without_alignment(std::string text) {
  for (const std::string_view word : {"__align__", "alignas", "__attribute__"}) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    const std::size_t open = text.find('(', at);
    if (open == std::string::npos) continue;
    text.erase(at, after_bracket(text, open, '(', ')') - at);
  }
  return text;
}

std::string trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t\r\n") + 1 - from));
}

/// The replacement of a declaration with `T name` between __shared__ and the bracket; empty if it
/// is not of that form.
std::string dynamic_shared(const std::string& declaration, bool is_in_function) {
  const std::string words = trimmed(without_alignment(declaration));
  std::size_t name = words.size();
  while (name > 0 && is_word(words[name - 1])) --name;
  const std::string type = trimmed(std::string_view(words).substr(0, name));
  if (type.empty() || name == words.size()) return {};
  const std::string own = words.substr(name);
  if (is_in_function) {
    return type + "* const " + own + " = static_cast<" + type +
           "*>(::hiptool_cpu::dynamic_shared());";
  }
  return "[[maybe_unused]] static const ::hiptool_cpu::DynamicShared<" + type + "> " + own + "{};";
}

}  // namespace

std::vector<SourceKernel> list_source_kernels(std::string_view text) {
  const std::string code = code_of(text);
  Scopes scopes(code);
  std::vector<SourceKernel> kernels;
  std::unordered_map<std::string, std::size_t> places;
  for_each_word(code, global_mark, [&](std::size_t at) {
    FunctionName function = function_name(code, at + global_mark.size());
    if (function.name.empty()) return;
    scopes.go_to(at);
    const std::string name = scopes.prefix() + function.name;
    const std::string_view statement =
        std::string_view(code).substr(scopes.statement(), most_declaration_bytes);
    const bool is_template = first_word(statement) == "template";
    const auto [place, is_new] = places.emplace(name, kernels.size());
    if (is_new) {
      kernels.push_back({name, is_template, {}, std::move(function.parameters), {}, 0});
      kernels.back().max_block_threads = function.max_block_threads;
      if (is_template) kernels.back().template_parameters = template_list(statement);
    }
    if (is_template && !function.arguments.empty()) {
      kernels[place->second].instances.push_back(std::move(function.arguments));
    }
  });
  return kernels;
}

const SourceKernel* find_source_kernel(const std::vector<SourceKernel>& kernels,
                                       std::string_view name) {
  std::string_view wanted = without_arguments(name);
  if (wanted.starts_with("::")) wanted.remove_prefix(2);
  const SourceKernel* found = nullptr;
  for (const SourceKernel& kernel : kernels) {
    if (kernel.name == wanted) return &kernel;
    if (!kernel.name.ends_with("::" + std::string(wanted))) continue;
    if (found != nullptr) return nullptr;
    found = &kernel;
  }
  return found;
}

std::string template_arguments(std::string_view name) {
  std::string arguments;
  for (std::size_t i = name.find('<'); i < name.size(); ++i) {
    const bool is_blank = name[i] == ' ';
    const bool parts_words = is_blank && !arguments.empty() && is_word(arguments.back()) &&
                             i + 1 < name.size() && is_word(name[i + 1]);
    if (!is_blank || parts_words) arguments += name[i];
  }
  return arguments;
}

std::string with_dynamic_shared(std::string_view text) {
  constexpr std::string_view mark = "__shared__";
  const std::string code = code_of(text);
  Scopes scopes(code);
  std::string result;
  std::size_t copied = 0;
  for_each_word(code, mark, [&](std::size_t at) {
    scopes.go_to(at);
    const std::string_view near = std::string_view(code).substr(at, most_declaration_bytes);
    const std::size_t bracket = at + std::min(near.find_first_of("[;={"), near.size());
    if (bracket >= code.size() || code[bracket] != '[' || at < copied) return;
    const std::size_t end = at + near.find(';', bracket - at);
    if (end < at || end >= code.size()) return;
    const std::string_view size = std::string_view(code).substr(bracket, end - bracket);
    if (trimmed(size.substr(1)) != "]") return;
    const std::string_view before =
        std::string_view(code).substr(scopes.statement(), at - scopes.statement());
    if (first_word(before) != "extern") return;
    const std::size_t start = scopes.statement() + before.find("extern");
    const std::string instead = dynamic_shared(
        code.substr(at + mark.size(), bracket - at - mark.size()), scopes.is_in_function());
    if (instead.empty()) return;
    result += text.substr(copied, start - copied);
    result += instead;
    const std::string_view gone = text.substr(start, end - start);
    result.append(static_cast<std::size_t>(std::ranges::count(gone, '\n')), '\n');
    copied = end + 1;
  });
  result += text.substr(std::min(copied, text.size()));
  return result;
}

std::string hint_for_refused(std::string_view text, std::string_view output) {
  if (output.find("cooperative_groups::this_grid") != std::string_view::npos) {
    return "this_grid() waits for all blocks at once, but the processor runs them one after the "
           "other; choose a GPU with --device, or split the kernel where it waits";
  }
  if (code_of(text).find("<<<") == std::string::npos) return {};
  return "the source launches kernels with <<<...>>>, which is host code; put the kernels into a "
         "file of their own";
}

}  // namespace hiptool::user_kernel
