// SPDX-License-Identifier: MIT
/// How a router's scores choose experts and weigh their results: ExpertsSpec.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "reference/prove/bounded.hpp"

namespace hiptool::reference {

/// What chooses, tokens x count: the scores, or where the experts have shares these plus the bias.
/// A share's bound has what the bounds of all scores make of it.
Bounded choices_of(const ExpertsSpec& experts, const Bounded& scores,
                   std::span<const double> choice_bias);

/// The experts of each token, highest first; of equal ones the lower number.
std::vector<std::uint32_t> chosen_experts(const ExpertsSpec& experts,
                                          std::span<const double> choices);

/// The weights of these experts, of scores that the device has exactly.
Bounded routed_weights(const ExpertsSpec& experts, std::span<const double> scores,
                       std::span<const std::uint32_t> ids);

/// Of one token's experts: how far the best that was left out is above the least that was chosen,
/// in units of what both may be wrong by; of experts, or of groups. Up to 1 the choice is right.
struct Choice {
  double excess = -1;     ///< below -1: no other choice is right
  std::size_t place = 0;  ///< of the lowest among the chosen
  std::uint32_t left_out = 0;
};

/// For the groups that suit the chosen experts best.
Choice choice_of(const ExpertsSpec& experts, std::span<const double> choices,
                 std::span<const double> bounds, std::span<const std::uint32_t> chosen);

}  // namespace hiptool::reference
