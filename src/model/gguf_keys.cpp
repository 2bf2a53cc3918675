// SPDX-License-Identifier: MIT
#include "model/gguf_keys.hpp"

#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "model/text.hpp"

namespace hiptool::model {

GgufKeys::GgufKeys(const ModelFile& model, std::string architecture)
    : model_(model), prefix_(std::move(architecture) + ".") {
  for (const MetadataEntry& entry : model.metadata()) present_.insert(entry.key);
}

void GgufKeys::refuse(std::string_view name, const std::string& why,
                      const std::string& hint) const {
  refuse_decoder(model_.path(), in_quotes(key(name)) + " is " + value_text(key(name)) + ", " + why,
                 hint);
}

void GgufKeys::refuse_missing(std::string_view name) const {
  refuse_decoder(model_.path(), "the metadata lack " + in_quotes(key(name)),
                 "convert the model again with a current converter");
}

std::optional<std::uint64_t> GgufKeys::count(std::string_view name, std::uint64_t most) {
  if (!use(name)) return std::nullopt;
  const auto value = model_.integer(key(name));
  if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > most) {
    refuse(name, "not a whole number from 0 to " + std::to_string(most));
  }
  return static_cast<std::uint64_t>(*value);
}

std::uint64_t GgufKeys::required_count(std::string_view name, std::uint64_t most) {
  const auto value = count(name, most);
  if (!value) refuse_missing(name);
  if (*value == 0) refuse(name, "which must be at least 1");
  return *value;
}

std::optional<double> GgufKeys::number(std::string_view name) {
  if (!use(name)) return std::nullopt;
  std::optional<double> value = model_.real(key(name));
  if (const auto whole = model_.integer(key(name))) value = static_cast<double>(*whole);
  if (!value || !std::isfinite(*value)) refuse(name, "not a finite number");
  return value;
}

double GgufKeys::positive(std::string_view name, double absent) {
  const double value = number(name).value_or(absent);
  if (!(value > 0)) refuse(name, "which must be above 0");
  return value;
}

std::vector<std::uint64_t> GgufKeys::per_layer(std::string_view name, std::size_t layers) {
  if (!model_.array_size(key(name))) {
    const auto one = count(name);
    return one ? std::vector<std::uint64_t>(layers, *one) : std::vector<std::uint64_t>();
  }
  if (*model_.array_size(key(name)) != layers) {
    refuse(name, "which does not fit " + base::plain_count_of(layers, "layer"));
  }
  const auto numbers = integers(name);
  if (!numbers) refuse(name, "not whole numbers");
  std::vector<std::uint64_t> counts;
  for (const std::int64_t value : *numbers) {
    if (value < 0 || static_cast<std::uint64_t>(value) > most_extent) {
      refuse(name, "which has a number out of range: " + std::to_string(value));
    }
    counts.push_back(static_cast<std::uint64_t>(value));
  }
  return counts;
}

std::optional<std::string> GgufKeys::text(std::string_view name) {
  if (!use(name)) return std::nullopt;
  auto value = model_.text(key(name));
  if (!value) refuse(name, "not a text");
  return value;
}

std::optional<bool> GgufKeys::flag(std::string_view name) {
  if (!use(name)) return std::nullopt;
  const auto value = model_.boolean(key(name));
  if (!value) refuse(name, "not true or false");
  return value;
}

std::optional<std::vector<bool>> GgufKeys::flags(std::string_view name) {
  if (!model_.array_size(key(name))) return std::nullopt;
  use(name);
  return model_.booleans(key(name));
}

std::optional<std::vector<std::int64_t>> GgufKeys::integers(std::string_view name) {
  if (!model_.array_size(key(name))) return std::nullopt;
  use(name);
  return model_.integers(key(name));
}

void GgufKeys::refuse_others() const {
  for (const MetadataEntry& entry : model_.metadata()) {
    const std::string_view name = entry.key;
    if (name.substr(0, prefix_.size()) != prefix_ || used_.count(entry.key) > 0) continue;
    refuse(name.substr(prefix_.size()), "and what it changes is unknown here",
           "remove the key if it changes no result");
  }
}

bool GgufKeys::use(std::string_view name) {
  used_.insert(key(name));
  return has(name);
}

std::string GgufKeys::value_text(const std::string& name) const {
  if (const auto text = model_.text(name)) return in_quotes(*text);
  if (const auto flag = model_.boolean(name)) return *flag ? "true" : "false";
  if (const auto whole = model_.integer(name)) return std::to_string(*whole);
  if (const auto real = model_.real(name)) return std::to_string(*real);
  if (const auto size = model_.array_size(name)) {
    return "an array of " + base::plain_count_of(*size, "element");
  }
  return "absent";
}

}  // namespace hiptool::model
