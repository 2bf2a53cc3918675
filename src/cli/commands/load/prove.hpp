// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/progress.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/load.hpp"
#include "reference/prove/golden.hpp"
#include "results/load/outcome.hpp"

namespace hiptool::cli {

/// Numbers of layers and ranges of them, such as "0,3-5", in ascending order. Throws a usage error
/// that names the option for other texts.
std::vector<std::size_t> parse_layers(const std::string& text, const std::string& option);

/// Throws what a device need not be opened for: Error(input_failed) for a model that is not a known
/// decoder or has weights that are not numbers, Error(out_of_bounds) for an id that is not in its
/// vocabulary and a layer that it does not have, to compare or to observe.
void check_prove(const ModelFile& model, const std::vector<std::uint32_t>& prompt,
                 const std::vector<std::size_t>& layers, const std::vector<std::size_t>& observed);

/// What to compare; an empty prompt is made by the fixed formula.
struct ProveRequest {
  std::vector<std::uint32_t> prompt;
  std::vector<std::size_t> layers;            ///< empty: all
  const reference::Golden* golden = nullptr;  ///< has the prompt
  std::string golden_path;
  std::optional<std::uint64_t> model_digest;  ///< where the load has computed it
  std::string write_logits;                   ///< empty: nothing is written
  std::vector<std::size_t> observed;          ///< layers whose outputs are written too
  bool self_test = false;                     ///< where the device is right
};

/// Compares the computation of the devices that hold the model, each whole layers, with float64, or
/// with a golden of the model. What the device computed is written before that is compared. After
/// Error(cancelled) the outcome has the layers that were compared; absent if there are none. Throws
/// as run_decode(), write_device_values(), reference::prove(), reference::self_test() and
/// reference::require_model() do.
void run_prove(const LoadedModel& model, const ProveRequest& request, const CancelToken& cancel,
               Progress& progress, std::optional<results::ProveOutcome>& outcome);

/// Computes a golden on the host and writes it. Throws what the reference throws, and
/// Error(output_failed).
results::ProveOutcome write_golden(const ModelFile& model, std::vector<std::uint32_t> prompt,
                                   const std::string& path, const CancelToken& cancel,
                                   Progress& progress);

}  // namespace hiptool::cli
