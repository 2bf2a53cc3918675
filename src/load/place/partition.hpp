// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Tensors that stay together on one device.
struct Unit {
  std::vector<std::uint32_t> tensors;
  std::uint64_t size_bytes = 0;  ///< each tensor rounded up to tensor_alignment_bytes
};

/// Each tensor for itself, in file order.
std::vector<Unit> tensor_units(const ModelFile& model);

/// Layer after layer, by number; what is computed before the layers is with the first of them, what
/// is computed behind them with the last. Empty where no name tells of a layer.
std::vector<Unit> layer_units(const ModelFile& model);

/// Cuts the units, in order, into one run for each device; the answer holds where each run ends. No
/// device gets more than its `most_bytes`, and the largest run is as small as that allows. Where
/// they hold less than all units, each gets what it holds and the last one the rest too.
std::vector<std::size_t> cut_evenly(std::span<const Unit> units,
                                    std::span<const std::uint64_t> most_bytes);

/// The same with runs as near to these shares of all bytes as units allow. Shares need not sum up
/// to one, but must be positive.
std::vector<std::size_t> cut_by_shares(std::span<const Unit> units, std::span<const double> shares);

}  // namespace hiptool::load
