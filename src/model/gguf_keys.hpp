// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "hiptool/model_file.hpp"
#include "model/decoder_reading.hpp"

namespace hiptool::model {

/// The metadata under the name of the architecture. Each key that is looked at is remembered, so
/// that the others can be refused. Values that do not fit are refused as refuse_decoder() does.
class GgufKeys {
 public:
  GgufKeys(const ModelFile& model, std::string architecture);

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  bool has(std::string_view name) const { return present_.count(key(name)) > 0; }

  [[noreturn]] void refuse(std::string_view name, const std::string& why,
                           const std::string& hint = "use a model of a supported kind") const;
  [[noreturn]] void refuse_missing(std::string_view name) const;

  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t most = most_extent);
  std::uint64_t required_count(std::string_view name, std::uint64_t most = most_extent);

  std::optional<double> number(std::string_view name);
  /// A number above 0, or that one where the key is absent.
  double positive(std::string_view name, double absent);

  /// One number for all layers, or an array with one for each.
  std::vector<std::uint64_t> per_layer(std::string_view name, std::size_t layers);

  std::optional<std::string> text(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  std::optional<std::vector<bool>> flags(std::string_view name);
  std::optional<std::vector<std::int64_t>> integers(std::string_view name);

  void ignore(std::string_view name) { use(name); }
  bool is_used(std::string_view name) const { return used_.count(key(name)) > 0; }

  /// Every key of the architecture must have been looked at.
  void refuse_others() const;

 private:
  bool use(std::string_view name);
  std::string value_text(const std::string& name) const;

  const ModelFile& model_;
  std::string prefix_;
  std::unordered_set<std::string> present_;
  std::unordered_set<std::string> used_;
};

}  // namespace hiptool::model
