// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Ids are whole numbers; those that are not indices of the axis give 0, or nothing is written.
Values index_select(const Values& x, const Values& ids, std::size_t axis);
Values gather(const Values& x, const Values& ids, std::size_t axis);
Values scatter(const Values& x, const Values& ids, const Values& source, std::size_t axis);

/// Sums in order: integers modulo 2^bits, f64 in double, all others in float and rounded once.
Values scatter_add(DType dtype, const Values& x, const Values& ids, const Values& source,
                   std::size_t axis);
/// 1-D ids as for scatter_add and gather: repeated along the other axes.
Values spread_ids(const Values& ids, std::vector<std::uint64_t> dims, std::size_t axis);

}  // namespace hiptool::reference
