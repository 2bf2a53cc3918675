// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "hiptool/decoder_spec.hpp"

namespace hiptool::reference {

/// The angle by which each pair turns from one position to the next. `divisors`: of RopeSpec, one
/// for each pair, or empty. Formulas: Hugging Face transformers, modeling_rope_utils.py.
std::vector<double> rope_frequencies(const RopeSpec& rope, std::span<const double> divisors);

/// Turns the pairs of one head.
void rotate_head(const RopeSpec& rope, std::span<const double> frequencies, double position,
                 double* head);

}  // namespace hiptool::reference
