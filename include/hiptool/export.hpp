// SPDX-License-Identifier: MIT
#pragma once

/// Marks the names that the library exports; all others are hidden. An attribute cannot be returned
/// by a function, hence a macro.
#define HIPTOOL_API __attribute__((visibility("default")))
