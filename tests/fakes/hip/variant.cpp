// SPDX-License-Identifier: MIT
#include "fakes/hip/variant.hpp"

namespace hiptool::fake {

const Variant variant{FAKE_HIP_RELEASE / 10000000, FAKE_HIP_RELEASE};

}  // namespace hiptool::fake
