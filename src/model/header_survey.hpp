// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::model {

/// Watches over names, which must differ, without keeping them. A first reading of a large header
/// collects their hashes; if two are equal, a second one looks at the names behind that hash. So a
/// header that breaks a rule near its end never costs the memory of all that stands before.
class HeaderSurvey {
 public:
  enum class Space : std::uint64_t { tensors, metadata };  ///< names differ within each

  HeaderSurvey() = default;
  /// Looks for two equal names of that hash.
  explicit HeaderSurvey(std::uint64_t wanted_hash) : wanted_(wanted_hash) {}

  /// False when it is known that the name was there before.
  bool add(Space space, std::string_view name);
  /// A hash that two names have; call it once, when all names were added.
  std::optional<std::uint64_t> repeated_hash();

 private:
  std::optional<std::uint64_t> wanted_;
  std::set<std::string, std::less<>> seen_;  // with the wanted hash
  std::vector<std::uint64_t> hashes_;
  std::string last_;  // the name before: a run of equal ones, as zeros make, ends at once
};

}  // namespace hiptool::model
