// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::conformance {

/// Makes each scenario a test case "scenario: ..." for the platform under test, which must be set.
/// One that cannot run there says why.
void register_scenarios();

}  // namespace hiptool::conformance
