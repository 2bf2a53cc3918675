// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"

namespace hiptool::cli {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, std::string hint) {
  throw usage_error(fmt::format("invalid value '{}' for {}", text, option), std::move(hint));
}

/// The number before the first colon, and the text after it, which is not empty.
std::pair<std::size_t, std::string> split_index(const std::string& text, const std::string& option,
                                                const char* hint) {
  const std::size_t colon = text.find(':');
  const auto index = base::parse_number<std::size_t>(std::string_view(text).substr(0, colon));
  if (colon == std::string::npos || !index || colon + 1 == text.size()) refuse(option, text, hint);
  return {*index, text.substr(colon + 1)};
}

}  // namespace

Dim3 parse_dimensions(const std::string& text, const std::string& option) {
  constexpr const char* hint =
      "write X, X,Y or X,Y,Z with whole numbers from 1, such as 128 or 16,16";
  if (text.empty()) {
    throw usage_error(option + " is not given", hint);
  }
  const auto words = split_list(text, option);
  std::array<std::uint32_t, 3> sizes{1, 1, 1};
  if (words.size() > sizes.size()) refuse(option, text, hint);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto size = base::parse_number<std::uint32_t>(words[i]);
    if (!size || *size == 0) refuse(option, text, hint);
    sizes[i] = *size;
  }
  return {sizes[0], sizes[1], sizes[2]};
}

std::vector<std::uint64_t> parse_shape(const std::string& text) {
  constexpr const char* hint =
      "write 1 to 8 whole numbers from 1 with x between, such as 4096x4096";
  std::vector<std::uint64_t> dims;
  if (text.empty()) return dims;
  std::uint64_t count = 1;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    const auto dim =
        base::parse_number<std::uint64_t>(std::string_view(text).substr(start, end - start));
    // So many elements need more memory than any device has.
    if (!dim || *dim == 0 || *dim > (std::uint64_t{1} << 48) / count) {
      refuse("--shape", text, hint);
    }
    count *= *dim;
    dims.push_back(*dim);
    start = end + 1;
  }
  if (dims.size() > Layout::max_rank) refuse("--shape", text, hint);
  return dims;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const auto arrangement : measure::arrangements) names.emplace_back(to_string(arrangement));
  return names;
}

std::vector<measure::Arrangement> parse_layouts(const std::vector<std::string>& lists,
                                                bool only_of_any_shape) {
  std::vector<measure::Arrangement> chosen;
  for (const std::string& list : lists) {
    for (const std::string& given : split_list(list, "--layout")) {
      const std::string word = choice_of(given, layout_names(), "--layout");
      const measure::Arrangement arrangement = *measure::arrangement_from_name(word);
      if (only_of_any_shape && !measure::takes_any_shape(arrangement)) {
        throw usage_error(fmt::format("--layout {} has shapes of its own and is not timed", word),
                          "add --sweep quick, which judges without timing");
      }
      base::add_once(chosen, arrangement);
    }
  }
  return chosen;
}

std::uint64_t parse_seed(const std::string& text) {
  if (text.empty()) return 1;
  const auto seed = base::parse_number<std::uint64_t>(text);
  if (!seed) refuse("--seed", text, "write a whole number from 0, such as 7");
  return *seed;
}

results::OutputWord parse_output(const std::string& text) {
  constexpr const char* hint = "write I:FILE or I:print:N, where I counts arguments from 0";
  constexpr std::string_view print = "print:";
  auto [argument, rest] = split_index(text, "--out", hint);
  results::OutputWord word;
  word.argument = argument;
  if (rest + ":" == print) refuse("--out", text, hint);  // a file of that name is ./print
  if (!rest.starts_with(print)) {
    word.file = std::move(rest);
    return word;
  }
  word.print_count = base::parse_number<std::uint64_t>(std::string_view(rest).substr(print.size()));
  if (!word.print_count || *word.print_count == 0) refuse("--out", text, hint);
  return word;
}

ExpectWord parse_expect(const std::string& text) {
  auto [argument, file] =
      split_index(text, "--expect", "write I:FILE, where I counts arguments from 0");
  return {argument, std::move(file)};
}

std::string file_of_indexed(const std::string& text) {
  const std::size_t colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

std::string file_of_argument(const std::string& text) {
  constexpr std::string_view file = "file:";
  if (!text.starts_with("buf:")) return {};
  std::string rest = text;
  for (int part = 0; part < 3; ++part) rest = file_of_indexed(rest);  // buf, type and count
  return rest.starts_with(file) ? rest.substr(file.size()) : std::string();
}

std::optional<user_kernel::Tolerance> parse_tolerance(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr const char* hint =
      "write a number from 0, such as 1e-6, or rtol=1e-3,atol=1e-6 (relative and absolute)";
  const auto parse = [&](std::string_view word) {
    const auto number = base::parse_number<double>(word);
    if (!number || !std::isfinite(*number) || *number < 0) refuse("--tolerance", text, hint);
    return *number;
  };
  if (text.find('=') == std::string::npos) return user_kernel::Tolerance(parse(text));
  std::optional<double> relative;
  std::optional<double> absolute;
  for (const std::string& word : split_list(text, "--tolerance")) {
    const std::string_view value =
        std::string_view(word).substr(std::min(word.size(), std::string_view("rtol=").size()));
    std::optional<double>& which = word.starts_with("rtol=") ? relative : absolute;
    if (which || !(word.starts_with("rtol=") || word.starts_with("atol="))) {
      refuse("--tolerance", text, hint);
    }
    which = parse(value);
  }
  return user_kernel::Tolerance(relative.value_or(0), absolute.value_or(0));
}

}  // namespace hiptool::cli
