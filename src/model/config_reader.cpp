// SPDX-License-Identifier: MIT
#include "model/config_reader.hpp"

#include <limits>

namespace hiptool::model {

ConfigReader::ConfigReader(const Json& whole, ModelSummary& summary)
    : whole_(whole), summary_(summary) {
  const Json* part = &whole;
  // Qwen-Omni has thinker_config.text_config.
  for (int depth = 0; depth < 2; ++depth) {
    const Json* inner = nullptr;
    for (const char* name :
         {"text_config", "llm_config", "language_config", "thinker_config", "decoder"}) {
      const auto found = part->find(name);
      if (inner == nullptr && found != part->end() && found->is_object()) inner = &*found;
    }
    if (inner == nullptr) break;
    part = language_ = inner;
  }
}

ConfigReader::Named ConfigReader::find_named(Names names) const {
  for (const Json* part : {language_, &whole_}) {
    if (part == nullptr) continue;
    for (const char* name : names) {
      const auto found = part->find(name);
      if (found != part->end() && !found->is_null()) return {name, &*found};
    }
  }
  return {};
}

std::optional<std::uint64_t> ConfigReader::count(Names names, std::uint64_t most) {
  const auto [name, value] = find_named(names);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return believe(name, *value, most);
}

std::vector<std::uint64_t> ConfigReader::per_layer(Names names) {
  const auto [name, value] = find_named(names);
  if (value == nullptr) return {};
  std::vector<std::uint64_t> counts;
  if (value->is_number()) {
    if (const auto one = believe(name, *value, most_count)) counts.push_back(*one);
  } else if (value->is_array()) {
    for (const Json& element : *value) {
      const auto one = believe(name, element, most_count);
      if (!one) return {};
      counts.push_back(*one);
    }
  }
  return for_each_layer(summary_, *names.begin(), std::move(counts));
}

std::optional<std::string> ConfigReader::text(Names names) const {
  const Json* value = find(names);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

bool ConfigReader::is_true(const char* name) const {
  const Json* value = find({name});
  return value != nullptr && *value == true;
}

bool ConfigReader::is_false(const char* name) const {
  const Json* value = find({name});
  return value != nullptr && *value == false;
}

std::set<std::string> ConfigReader::names() const {
  std::set<std::string> names;
  for (const Json* part : {language_, &whole_}) {
    if (part == nullptr) continue;
    for (const auto& [name, value] : part->items()) names.insert(name);
  }
  return names;
}

const ConfigReader::Json* ConfigReader::find_in(const char* object, const char* name) const {
  const Json* outer = find({object});
  if (outer == nullptr || !outer->is_object()) return nullptr;
  const auto found = outer->find(name);
  return found == outer->end() ? nullptr : &*found;
}

std::optional<std::uint64_t> ConfigReader::count_in(const char* object, const char* name) {
  const Json* found = find_in(object, name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return believe(name, *found, most_count);
}

std::optional<std::uint64_t> ConfigReader::believe(const char* name, const Json& value,
                                                   std::uint64_t most) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{largest}) {
    return believable(summary_, name, largest, most);
  }
  if (value.is_number_integer()) {
    return believable(summary_, name, value.get<std::int64_t>(), most);
  }
  summary_.warnings.push_back(std::string(name) +
                              " in config.json is not a whole number and is ignored");
  return std::nullopt;
}

}  // namespace hiptool::model
