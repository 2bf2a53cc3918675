// SPDX-License-Identifier: MIT
/// The single-node test cases of nvbandwidth by their names, for those who come from it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/copy/plan.hpp"

namespace hiptool::measure {

/// All names that are known, in nvbandwidth's order (its version 0.8).
std::vector<std::string> testcase_names();

/// What measures the same here; empty for an unknown name. nvbandwidth prints one direction of its
/// bidirectional cases and times a chase of pointers for latency: here both directions are printed,
/// and latency is that of one small copy.
std::vector<CopyTemplate> testcase_templates(std::string_view name);

}  // namespace hiptool::measure
