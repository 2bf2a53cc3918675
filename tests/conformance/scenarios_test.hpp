// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::conformance {

/// Makes each scenario a test case "scenario: ..." for the platform under test, which must be set.
/// One that cannot run there is registered as skipped, and the reason is printed.
void register_scenarios();

}  // namespace hiptool::conformance
