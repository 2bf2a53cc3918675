// SPDX-License-Identifier: MIT
#pragma once

// Many compilers default to C++17, whose first error would be about a name in the standard library.
#if __cplusplus < 202002L
#error "hiptool's headers need C++20: compile with -std=c++20"
#endif

/// Marks the names that the library exports; all others are hidden. An attribute cannot be returned
/// by a function, hence a macro.
#define HIPTOOL_API __attribute__((visibility("default")))
