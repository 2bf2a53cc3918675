// SPDX-License-Identifier: MIT
/// What a command showed to people, kept in its document, so that `report render` shows the same.
#pragma once
#include "report/report.hpp"

namespace hiptool::report {

/// The field `shown` of a document: lines, tables and notes.
Object shown_value(const Report& report);

/// Takes lines, tables and notes from such a field. False where it is absent or has another form;
/// the report then is as it was.
bool read_shown(const Value& shown, Report& report);

}  // namespace hiptool::report
