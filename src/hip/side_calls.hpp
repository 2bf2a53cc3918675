// SPDX-License-Identifier: MIT
/// Fills the table of a vendor library's calls.
#pragma once
#include <string>
#include <type_traits>

#include "base/dynamic_library.hpp"

namespace hiptool::hip {

/// `for_each` is the table's for_each_..._call. "lacks a, b" where required calls are missing, else
/// empty; optional ones that are missing are null.
template <class Calls, class ForEach>
std::string load_calls(const base::DynamicLibrary& library, const ForEach& for_each, Calls& calls) {
  std::string missing;
  for_each([&](auto member, const char* name, bool is_required) {
    using Function = std::remove_reference_t<decltype(calls.*member)>;
    calls.*member = library.function<Function>(name);
    if (calls.*member != nullptr || !is_required) return;
    missing += (missing.empty() ? "lacks " : ", ") + std::string(name);
  });
  return missing;
}

}  // namespace hiptool::hip
