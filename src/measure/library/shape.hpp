// SPDX-License-Identifier: MIT
/// Shapes of matrix products, convolutions and poolings as words; problem.hpp states their forms.
#pragma once
#include <string_view>

#include "measure/library/problem.hpp"

namespace hiptool::measure {

void set_product_shape(MatmulProblem& problem, std::string_view text);
void set_conv_shape(ConvProblem& problem, std::string_view text);
void set_pool_shape(PoolProblem& problem, std::string_view text);

}  // namespace hiptool::measure
