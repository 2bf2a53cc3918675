// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <type_traits>

#include "base/dynamic_library.hpp"
#include "hip/call_table.hpp"

namespace hiptool::hip {

/// Fills a table with the functions of these names, with a prefix. "lacks a, b" where required
/// calls are missing, else empty; optional ones that are missing are null.
template <class Calls>
std::string load_calls(const base::DynamicLibrary& library, Calls& calls,
                       const std::string& prefix = {}) {
  std::string missing;
  Calls::for_each([&](auto member, const char* suffix, Need need) {
    using Function = std::remove_reference_t<decltype(calls.*member)>;
    const std::string name = prefix + suffix;
    calls.*member = library.function<Function>(name.c_str());
    if (calls.*member != nullptr || need == Need::optional) return;
    missing += (missing.empty() ? "lacks " : ", ") + name;
  });
  return missing;
}

}  // namespace hiptool::hip
