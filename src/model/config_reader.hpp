// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/layer_caches.hpp"
#include "model/metadata_counts.hpp"

namespace hiptool::model {

/// The fields of a config.json; fields of its language part come first: models that also
/// see, hear or speak keep it in an object of its own.
class ConfigReader {
 public:
  using Json = nlohmann::json;
  using Names = std::initializer_list<const char*>;

  ConfigReader(const Json& whole, ModelSummary& summary);

  bool has_language_part() const noexcept { return language_ != nullptr; }
  /// The first of these fields that is there and not null; else null.
  const Json* find(Names names) const { return find_named(names).value; }
  std::optional<std::uint64_t> count(Names names, std::uint64_t most = most_count);
  /// One number for all layers, or an array with one for each.
  std::vector<std::uint64_t> per_layer(Names names);
  std::optional<std::string> text(Names names) const;
  bool is_true(const char* name) const;
  bool is_false(const char* name) const;
  /// Of all fields, each once.
  std::set<std::string> names() const;
  /// A field of an object that is a field.
  std::optional<std::uint64_t> count_in(const char* object, const char* name);
  /// Null where the object or its field is not there.
  const Json* find_in(const char* object, const char* name) const;

 private:
  struct Named {
    const char* name = nullptr;
    const Json* value = nullptr;
  };
  Named find_named(Names names) const;
  std::optional<std::uint64_t> believe(const char* name, const Json& value, std::uint64_t most);

  const Json& whole_;
  const Json* language_ = nullptr;
  ModelSummary& summary_;
};

/// Which layers keep what, and what states they have. Needs a summary with the number of layers.
CacheFacts read_config_caches(ConfigReader& config, const ModelSummary& summary);

/// How many times a token runs through which layers.
LayerLoops read_loops(ConfigReader& config, std::uint64_t layers);

}  // namespace hiptool::model
