// SPDX-License-Identifier: MIT
/// Tables of a library's calls, in which each call is one line: CALL(need, result, name,
/// (parameters)).
#pragma once

namespace hiptool::hip {

/// Whether a library must have a call to be usable at all.
enum class Need { required, optional };

/// Defines a struct with a pointer for each call of the list, and for_each(visit), which calls
/// visit(&table::name, "name", need).
#define HIPTOOL_CALL_TABLE(table, list)              \
  struct table {                                     \
    using Table = table;                             \
    list(HIPTOOL_CALL_MEMBER) template <class Visit> \
    static constexpr void for_each(Visit&& visit) {  \
      list(HIPTOOL_CALL_VISIT)                       \
    }                                                \
  }
#define HIPTOOL_CALL_MEMBER(need, result, name, parameters) result(*name) parameters;
#define HIPTOOL_CALL_VISIT(need, result, name, parameters) visit(&Table::name, #name, Need::need);

}  // namespace hiptool::hip
