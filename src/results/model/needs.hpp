// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "reference/prove/needs.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// `prove_needs` of `hiptool.load/2` and `prove.needs` of `hiptool.inspect/2`.
report::Value needs_value(const reference::Needs& needs);

/// The same for people: "a proof needs 40 KiB on the device besides the weights, ...".
std::string needs_text(const reference::Needs& needs);

}  // namespace hiptool::results
