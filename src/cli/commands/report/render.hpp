// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/report.hpp"

namespace hiptool::cli {

/// One document as it is written in another format.
ReportPair make_render_reports(report::Object document);

}  // namespace hiptool::cli
