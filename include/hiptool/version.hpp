// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/export.hpp"

namespace hiptool {

/// Version of the library that is running, such as "0.1.0". Never blocks, never throws.
HIPTOOL_API const char* version() noexcept;

/// `git describe` of the sources it was built from, or the version where there was no repository.
HIPTOOL_API const char* git_description() noexcept;

}  // namespace hiptool
