// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::fake {

/// Which release a fake libamdhip64 is. What a release lacks altogether its linker map
/// takes away.
struct Variant {
  int major;
  int version;  ///< as hipRuntimeGetVersion counts
};

extern const Variant variant;

}  // namespace hiptool::fake
