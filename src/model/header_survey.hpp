// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::model {

/// Finds equal names without keeping all of them. A first reading of a large header collects their
/// hashes; if two are equal, a second one compares the names with that hash. So a header that
/// breaks a rule near its end never costs the memory of all that precedes it.
class HeaderSurvey {
 public:
  enum class Space : std::uint64_t { tensors, metadata };  ///< names differ within each

  HeaderSurvey() = default;
  /// Looks for two equal names of that hash.
  explicit HeaderSurvey(std::uint64_t wanted_hash) : wanted_(wanted_hash) {}

  /// False when the name is known to be a repetition.
  bool add(Space space, std::string_view name);
  /// A hash that two names share; call it once, after all names were added.
  std::optional<std::uint64_t> repeated_hash();

 private:
  std::optional<std::uint64_t> wanted_;
  std::set<std::string, std::less<>> seen_;  // with the wanted hash
  std::vector<std::uint64_t> hashes_;
  std::string last_;  // the name before: ends a run of equal ones, as zeros make, at once
};

}  // namespace hiptool::model
