// SPDX-License-Identifier: MIT
#include "model/shard_name.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::string_view between = "-of-";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::string padded(std::uint32_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace

std::string ShardName::of(std::uint32_t other_number) const {
  return prefix + "-" + padded(other_number, digits) + std::string(between) +
         padded(total, digits) + suffix;
}

std::vector<std::string> ShardName::indexes() const {
  std::vector<std::string> names{prefix + suffix + ".index.json"};
  const std::size_t dot = prefix.rfind('.');
  if (dot != std::string::npos) {
    names.push_back(prefix.substr(0, dot) + suffix + ".index" + prefix.substr(dot) + ".json");
  }
  return names;
}

bool is_index_name(std::string_view file_name) {
  constexpr std::string_view mark = ".safetensors.index.";
  constexpr std::string_view end = "json";
  std::string name(file_name);
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  const std::size_t found = name.rfind(mark);
  if (found == std::string::npos || !name.ends_with(end)) return false;
  const std::string_view variant = std::string_view(name).substr(found + mark.size());
  return variant == end ||
         (variant.size() > end.size() + 1 && variant[variant.size() - end.size() - 1] == '.');
}

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
  const std::size_t middle = file_name.rfind(between);
  if (middle == std::string_view::npos) return std::nullopt;
  std::size_t begin = middle;
  while (begin > 0 && is_digit(file_name[begin - 1])) --begin;
  std::size_t end = middle + between.size();
  while (end < file_name.size() && is_digit(file_name[end])) ++end;
  const std::size_t digits = middle - begin;
  const bool has_form = (digits == 5 || digits == 6) && end - middle - between.size() == digits &&
                        begin >= 1 && file_name[begin - 1] == '-';
  if (!has_form) return std::nullopt;
  ShardName name;
  name.prefix = file_name.substr(0, begin - 1);
  name.number = *base::parse_number<std::uint32_t>(file_name.substr(begin, digits));
  name.total =
      *base::parse_number<std::uint32_t>(file_name.substr(middle + between.size(), digits));
  name.suffix = file_name.substr(end);
  name.digits = digits;
  if (name.number == 0 || name.number > name.total) return std::nullopt;
  return name;
}

}  // namespace hiptool::model
