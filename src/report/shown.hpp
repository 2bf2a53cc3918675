// SPDX-License-Identifier: MIT
/// What a command showed to people and wrote to CSV, kept in its document, so that `report render`
/// writes the same.
#pragma once
#include "report/report.hpp"

namespace hiptool::report {

/// The field `shown` of a document: lines, tables and notes; and `csv`, where the rows of CSV
/// are not those of the document.
Object shown_value(const Report& report);

/// Takes lines, tables, notes and CSV from such a field. False where it is absent or has another
/// form; the report then is as it was.
bool read_shown(const Value& shown, Report& report);

}  // namespace hiptool::report
