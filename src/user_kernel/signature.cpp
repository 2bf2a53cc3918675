// SPDX-License-Identifier: MIT
#include "user_kernel/signature.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "user_kernel/element_value.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr std::uint64_t pointer_bytes = 8;

struct NamedType {
  std::string_view name;
  ElementType type;
};

// Names of one word; names of several are in the order in which base_type() joins their words.
constexpr std::array named_types{
    NamedType{"float", ElementType::f32},         NamedType{"double", ElementType::f64},
    NamedType{"bool", ElementType::u8},           NamedType{"char", ElementType::i8},
    NamedType{"signed char", ElementType::i8},    NamedType{"unsigned char", ElementType::u8},
    NamedType{"short", ElementType::i16},         NamedType{"unsigned short", ElementType::u16},
    NamedType{"int", ElementType::i32},           NamedType{"unsigned", ElementType::u32},
    NamedType{"long", ElementType::i64},          NamedType{"unsigned long", ElementType::u64},
    NamedType{"long long", ElementType::i64},     NamedType{"unsigned long long", ElementType::u64},
    NamedType{"uint", ElementType::u32},          NamedType{"uchar", ElementType::u8},
    NamedType{"ushort", ElementType::u16},        NamedType{"ulong", ElementType::u64},
    NamedType{"size_t", ElementType::u64},        NamedType{"ptrdiff_t", ElementType::i64},
    NamedType{"int8_t", ElementType::i8},         NamedType{"uint8_t", ElementType::u8},
    NamedType{"int16_t", ElementType::i16},       NamedType{"uint16_t", ElementType::u16},
    NamedType{"int32_t", ElementType::i32},       NamedType{"uint32_t", ElementType::u32},
    NamedType{"int64_t", ElementType::i64},       NamedType{"uint64_t", ElementType::u64},
    NamedType{"half", ElementType::f16},          NamedType{"__half", ElementType::f16},
    NamedType{"_Float16", ElementType::f16},      NamedType{"__hip_bfloat16", ElementType::bf16},
    NamedType{"hip_bfloat16", ElementType::bf16}, NamedType{"__nv_bfloat16", ElementType::bf16},
    NamedType{"__bf16", ElementType::bf16}};

constexpr std::array<std::string_view, 9> type_words{"void", "bool",   "char",     "short", "int",
                                                     "long", "signed", "unsigned", "float"};
constexpr std::array<std::string_view, 11> dropped_words{
    "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct",
    "class",    "typename",     "enum",       "register", "__global"};

bool is_type_word(std::string_view word) {
  return base::contains(type_words, word) || word == "double";
}

bool is_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == ':';
}

/// The position behind the bracket that closes the one at `open`, whatever kinds are inside.
std::size_t behind_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (std::string_view("(<[{").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")>]}").find(text[i]) != std::string_view::npos && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

/// The parts between commas outside of brackets.
std::vector<std::string_view> split_parameters(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && std::string_view("(<[{").find(list[i]) != std::string_view::npos) {
      i = behind_bracket(list, i) - 1;
    } else if (i == list.size() || list[i] == ',') {
      parts.push_back(list.substr(from, i - from));
      from = i + 1;
    }
  }
  return parts;
}

/// Words with their template arguments, and the characters between them.
std::vector<std::string> words_of_parameter(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_name(text[i])) {
      while (end < text.size() && is_name(text[end])) ++end;
      if (end < text.size() && text[end] == '<') end = behind_bracket(text, end);
    } else if (text[i] == '[' || text[i] == '(') {
      end = behind_bracket(text, i);
    }
    words.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// "unsigned long" of {"long", "unsigned", "int"}: the order and a redundant int do not matter.
std::string base_type(const std::vector<std::string>& words) {
  if (!std::ranges::all_of(words, is_type_word)) return joined_words(words);
  const auto count = [&](std::string_view word) { return std::ranges::count(words, word); };
  std::string rest = count("char") > 0 ? "char" : count("short") > 0 ? "short" : "";
  for (auto left = count("long"); left > 0; --left) rest += rest.empty() ? "long" : " long";
  if (count("float") > 0) rest = "float";
  if (count("double") > 0) rest = "double";
  if (count("bool") > 0) rest = "bool";
  if (count("void") > 0) rest = "void";
  if (count("unsigned") > 0) return rest.empty() ? "unsigned" : "unsigned " + rest;
  if (count("signed") > 0 && rest == "char") return "signed char";
  return rest.empty() ? "int" : rest;
}

std::optional<ElementType> element_of(std::string_view base) {
  if (base.starts_with("std::")) base.remove_prefix(5);
  if (base.starts_with("::")) base.remove_prefix(2);
  const auto found = std::ranges::find(named_types, base, &NamedType::name);
  return found == named_types.end() ? std::nullopt : std::optional(found->type);
}

/// A parameter in its parts.
struct Declaration {
  std::vector<std::string> words;  ///< of the type, without const, and perhaps the name at the end
  std::string name;                ///< what follows the last star
  int stars = 0;
  bool is_const = false;  ///< what a pointer points to
  bool is_simple = true;  ///< no reference, no pointer to a function
};

Declaration parse_declaration(std::string_view text) {
  Declaration parts;
  for (const std::string& word : words_of_parameter(text.substr(0, text.find('=')))) {
    if (word == "const") {
      parts.is_const = parts.is_const || parts.stars == 0;
    } else if (word == "*") {
      ++parts.stars;
    } else if (word.front() == '[') {
      ++parts.stars;
      if (parts.name.empty() && parts.words.size() > 1) {
        parts.name = parts.words.back();
        parts.words.pop_back();
      }
    } else if (is_name(word.front())) {
      if (base::contains(dropped_words, word)) continue;
      if (parts.stars > 0) parts.name = word;
      if (parts.stars == 0) parts.words.push_back(word);
    } else {
      parts.is_simple = false;
    }
  }
  const bool has_name =
      parts.stars == 0 && parts.words.size() > 1 && !is_type_word(parts.words.back());
  if (has_name) {
    parts.name = parts.words.back();
    parts.words.pop_back();
  }
  return parts;
}

ArgumentInfo parse_parameter(std::string_view text) {
  const Declaration parts = parse_declaration(text);
  ArgumentInfo info;
  if (parts.words.empty() || !parts.is_simple) return info;
  const std::string base = base_type(parts.words);
  info.name = parts.name;
  info.type = base + std::string(static_cast<std::size_t>(parts.stars), '*');
  if (parts.stars > 0) {
    info.kind = ArgumentKind::pointer;
    info.size_bytes = pointer_bytes;
    info.is_const = parts.is_const;
    if (parts.is_const) info.type = "const " + info.type;
    if (parts.stars == 1) info.element = element_of(base);
    return info;
  }
  info.kind = ArgumentKind::value;
  info.element = element_of(base);
  if (info.element) info.size_bytes = size_bytes(*info.element);
  return info;
}

std::string_view trimmed_list(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

/// "T" of "class T = float".
std::string template_name(std::string_view parameter) {
  const std::vector<std::string> words =
      words_of_parameter(parameter.substr(0, parameter.find('=')));
  return words.empty() ? std::string() : words.back();
}

}  // namespace

std::vector<ArgumentInfo> parse_parameters(std::string_view list,
                                           std::string_view template_parameters,
                                           std::string_view arguments) {
  if (arguments.starts_with('<')) arguments.remove_prefix(1);
  if (arguments.ends_with('>')) arguments.remove_suffix(1);
  const auto names = split_parameters(template_parameters);
  const auto values = split_parameters(arguments);
  std::string text;
  for (std::size_t i = 0; i < list.size();) {
    std::size_t end = i + 1;
    if (is_name(list[i])) {
      while (end < list.size() && is_name(list[end])) ++end;
    }
    std::string_view word = list.substr(i, end - i);
    for (std::size_t place = 0; place < std::min(names.size(), values.size()); ++place) {
      if (!arguments.empty() && template_name(names[place]) == word) {
        word = trimmed_list(values[place]);
        break;
      }
    }
    text += word;
    i = end;
  }
  return parse_parameters(text);
}

std::string example_template_arguments(std::string_view template_parameters) {
  if (trimmed_list(template_parameters).empty()) return {};
  std::string text;
  for (const std::string_view parameter : split_parameters(template_parameters)) {
    const auto words = words_of_parameter(parameter);
    const bool is_type =
        !words.empty() && (words.front() == "class" || words.front() == "typename");
    text += (text.empty() ? "<" : ", ") + std::string(is_type ? "float" : "32");
  }
  return text + ">";
}

std::vector<ArgumentInfo> parse_parameters(std::string_view list) {
  list = trimmed_list(list);
  std::vector<ArgumentInfo> arguments;
  if (list.empty() || list == "void") return arguments;
  for (const std::string_view part : split_parameters(list)) {
    arguments.push_back(parse_parameter(part));
  }
  return arguments;
}

std::optional<std::vector<ArgumentInfo>> parameters_of_symbol(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  const std::string_view whole = text.get();
  // The list is the last pair of parentheses; "(anonymous namespace)" may come before.
  if (!whole.ends_with(')')) return std::nullopt;
  std::size_t open = whole.size();
  int depth = 0;
  do {
    --open;
    depth += whole[open] == ')' ? 1 : whole[open] == '(' ? -1 : 0;
  } while (open > 0 && depth > 0);
  return parse_parameters(whole.substr(open + 1, whole.size() - open - 2));
}

void add_types(std::vector<ArgumentInfo>& arguments, const std::vector<ArgumentInfo>& declared) {
  if (arguments.size() != declared.size()) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ArgumentInfo& known = arguments[i];
    const ArgumentInfo& said = declared[i];
    const bool has_size = said.size_bytes > 0 && known.size_bytes > 0;
    if (has_size && said.size_bytes != known.size_bytes) continue;
    const bool have_kinds =
        known.kind != ArgumentKind::unknown && said.kind != ArgumentKind::unknown;
    if (have_kinds && known.kind != said.kind) continue;
    if (known.name.empty()) known.name = said.name;
    if (said.type.empty()) continue;
    known.type = said.type;
    known.element = said.element;
    known.is_const = said.is_const;
    if (known.kind == ArgumentKind::unknown) known.kind = said.kind;
    if (known.size_bytes == 0) known.size_bytes = said.size_bytes;
  }
}

std::string describe(const ArgumentInfo& info) {
  std::string text = info.type;
  if (text.empty() && info.kind == ArgumentKind::pointer) text = "pointer";
  if (text.empty()) {
    text = info.size_bytes == 0 ? "?" : base::plain_count_of(info.size_bytes, "byte");
  }
  return info.name.empty() ? text : text + " " + info.name;
}

std::string describe(const std::vector<ArgumentInfo>& arguments) {
  std::string text;
  for (const ArgumentInfo& info : arguments) text += (text.empty() ? "" : ", ") + describe(info);
  return text.empty() ? "none" : text;
}

}  // namespace hiptool::user_kernel
