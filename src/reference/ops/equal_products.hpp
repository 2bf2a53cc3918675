// SPDX-License-Identifier: MIT
/// Sums of products of which many are equal: rounding errors of equal products have one sign, and
/// add up, where other products cancel as random numbers do.
#pragma once
#include <vector>

namespace hiptool::reference {

/// The sum of squares in which equal products count as one of the size of their sum.
long double grouped_squares(std::vector<long double> products);

/// Whether some number comes more than eight times: a factor that repeats makes equal products.
bool repeats(std::vector<long double> factors);

}  // namespace hiptool::reference
