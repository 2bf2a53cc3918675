// SPDX-License-Identifier: MIT
#pragma once
#include "report/report.hpp"

namespace hiptool::report {

/// A report for people from a document alone: a verdict, a table for each list of objects and for
/// each object, with units by the ends of the names (_bytes, _s, _per_s, _hz). Samples and other
/// lists of numbers are left to the charts, and columns without any value, or after the hundredth,
/// are left out.
Report report_of(Object document);

}  // namespace hiptool::report
