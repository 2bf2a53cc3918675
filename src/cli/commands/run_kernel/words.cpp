// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/words.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"

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

OutputWord parse_output(const std::string& text) {
  constexpr const char* hint = "write I:FILE or I:print:N, where I counts arguments from 0";
  constexpr std::string_view print = "print:";
  auto [argument, rest] = split_index(text, "--out", hint);
  OutputWord word;
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

std::optional<double> parse_tolerance(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto tolerance = base::parse_number<double>(text);
  if (!tolerance || !std::isfinite(*tolerance) || *tolerance < 0) {
    refuse("--tolerance", text, "write a number from 0, such as 1e-6");
  }
  return tolerance;
}

}  // namespace hiptool::cli
