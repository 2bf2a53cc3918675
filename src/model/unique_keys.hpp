// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <unordered_set>

#include "model/json_reader.hpp"

namespace hiptool::model {

/// The keys of one object whose values are read by name: of two equal ones either could be meant,
/// so a second one is refused. The same rule holds for all JSON that hiptool reads, but a
/// config.json may repeat a key with an equal value.
class UniqueKeys {
 public:
  explicit UniqueKeys(JsonReader& reader) : reader_(reader) {}

  /// As JsonReader::next_key(); Error(corrupt_data) for a key that was there before.
  bool next(std::string& key) {
    if (!reader_.next_key(key)) return false;
    if (seen_.size() == most_keys) reader_.malformed("an object has too many keys");
    if (!seen_.insert(key).second) reader_.malformed("the key '" + key + "' appears twice");
    return true;
  }

 private:
  static constexpr std::size_t most_keys = 200'000;
  JsonReader& reader_;
  std::unordered_set<std::string> seen_;
};

}  // namespace hiptool::model
