// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/export.hpp"

namespace hiptool {

/// Version of the library that is running, such as "0.3.0". Never blocks, never throws.
[[nodiscard]] HIPTOOL_API const char* version() noexcept;

/// The commit of the sources it was built from, as `git describe` has it: "v0.3.0-0-g94dc3e24a1b2"
/// or "94dc3e24a1b2", with "-dirty" after it if files were changed; the version where the sources
/// came from neither a repository nor an archive of one. Never blocks, never throws.
[[nodiscard]] HIPTOOL_API const char* git_description() noexcept;

}  // namespace hiptool
