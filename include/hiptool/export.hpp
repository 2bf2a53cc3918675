// SPDX-License-Identifier: MIT
#pragma once

/// Marks what the library exports; everything else is hidden. An attribute cannot be put behind a
/// function, hence a macro.
#define HIPTOOL_API __attribute__((visibility("default")))
