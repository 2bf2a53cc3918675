// SPDX-License-Identifier: MIT
#pragma once
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "model/decoder_reading.hpp"
#include "model/text.hpp"

namespace hiptool::model {

using ConfigJson = nlohmann::json;

/// The members of one object of a config.json. Each that is looked at is remembered, so that the
/// others can be refused.
class ConfigFields {
 public:
  ConfigFields(const ConfigJson& object, const std::filesystem::path& path, std::string prefix = {})
      : object_(object), path_(path), prefix_(std::move(prefix)) {}

  [[noreturn]] void refuse(const std::string& name, const std::string& why,
                           const std::string& hint = "use a model of a supported kind") const {
    const auto found = object_.find(name);
    const std::string value =
        found == object_.end() ? "absent"
                               : found->dump(-1, ' ', false, ConfigJson::error_handler_t::replace);
    refuse_decoder(path_,
                   in_quotes(prefix_ + name) + " is " +
                       (value.size() > 60 ? value.substr(0, 60) + "..." : value) + ", " + why,
                   hint);
  }

  /// Whether it is there, be it null: transformers' defaults stand for what is absent only.
  bool has(const std::string& name) const { return object_.contains(name); }

  /// Null where it is absent or null.
  const ConfigJson* find(const std::string& name) {
    used_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::uint64_t> count(const std::string& name, std::uint64_t most = most_extent) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
      refuse(name, "not a whole number from 0 to " + std::to_string(most));
    }
    return value->get<std::uint64_t>();
  }
  std::uint64_t required_count(const std::string& name, std::uint64_t most = most_extent) {
    const auto value = count(name, most);
    if (!value || *value == 0) refuse(name, "which must be at least 1");
    return *value;
  }

  std::optional<double> number(const std::string& name) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
      refuse(name, "not a finite number");
    }
    return value->get<double>();
  }
  double positive(const std::string& name, double absent) {
    const double value = number(name).value_or(absent);
    if (!(value > 0)) refuse(name, "which must be above 0");
    return value;
  }
  double required_positive(const std::string& name) {
    if (find(name) == nullptr) refuse(name, "which this kind of scaling needs");
    return positive(name, 1);
  }

  bool flag(const std::string& name, bool absent) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return absent;
    if (!value->is_boolean()) refuse(name, "not true or false");
    return value->get<bool>();
  }

  std::optional<std::string> text(const std::string& name) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse(name, "not a text");
    return value->get<std::string>();
  }

  std::vector<double> numbers(const std::string& name, std::uint64_t wanted) {
    const ConfigJson* value = find(name);
    if (value == nullptr || !value->is_array() || value->size() != wanted) {
      refuse(name, "not an array of " + std::to_string(wanted) + " numbers");
    }
    std::vector<double> numbers;
    for (const ConfigJson& element : *value) {
      if (!element.is_number() || !(element.get<double>() > 0)) {
        refuse(name, "which has an element that is not a number above 0");
      }
      numbers.push_back(element.get<double>());
    }
    return numbers;
  }

  /// Members that were not looked at, other than null, false, empty ones and the names given.
  template <typename Names>
  void refuse_others(const Names& harmless) const {
    for (const auto& [name, value] : object_.items()) {
      if (used_.count(name) > 0 || value.empty() || value == false) continue;
      if (base::contains(harmless, name)) continue;
      refuse(name, "and what it changes is unknown here", "remove it if it changes no result");
    }
  }

 private:
  const ConfigJson& object_;
  const std::filesystem::path& path_;
  std::string prefix_;
  std::unordered_set<std::string> used_;
};

}  // namespace hiptool::model
