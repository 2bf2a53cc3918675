// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::cli {

/// The text with each `from` replaced.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Whether the name of an output file means standard output, whatever that is connected to.
inline bool is_standard_output(std::string_view name) {
  return name == "-" || name == "/dev/stdout" || name == "/dev/fd/1" || name == "/proc/self/fd/1";
}

/// Appends the value unless the list has it.
template <class Value>
void add_once(std::vector<Value>& list, const Value& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

/// "a, b": at most that many of them, then " and 3 more".
inline std::string first_of(const std::vector<std::string>& words, std::size_t most,
                            std::string_view between = ", ") {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) {
    if (i > 0) text += between;
    text += words[i];
  }
  if (words.size() > most) text += " and " + std::to_string(words.size() - most) + " more";
  return text;
}

}  // namespace hiptool::cli
