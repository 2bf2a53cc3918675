// SPDX-License-Identifier: MIT
#pragma once
#include "report/chart.hpp"
#include "report/matrix.hpp"

namespace hiptool::report {

/// The matrix as coloured cells with their rates in GB/s, a row for each source.
Drawing draw_heat_map(const Matrix& matrix);

}  // namespace hiptool::report
