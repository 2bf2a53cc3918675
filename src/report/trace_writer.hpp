// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "hiptool/timeline.hpp"

namespace hiptool::report {

/// The timeline as Chrome's Trace Event Format, which Perfetto and chrome://tracing open: one
/// thread for each lane, a complete event ("X") for each span, microseconds from the first span on,
/// and bytes and rate as arguments.
std::string to_trace(const Timeline& timeline);

}  // namespace hiptool::report
