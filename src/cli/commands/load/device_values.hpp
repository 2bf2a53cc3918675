// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_runtime.hpp"

namespace hiptool::cli {

/// The file of a layer's outputs, next to the file of the logits: "a.npy" and layer 3 give
/// "a.layer3.npy".
std::string observed_path(const std::string& logits_path, std::size_t layer);

/// Decodes the tokens one by one and writes what the device computed, as .npy files of f32: the
/// logits of each token, tokens x vocabulary, and the outputs of the layers, tokens x embedding,
/// each to its observed_path(). All files appear at the end, or none. Resets the runtime and ends
/// its observation. Blocks. Throws Error(output_failed), what the runtime throws, and
/// Error(cancelled).
void write_device_values(ModelRuntime& runtime, std::span<const std::uint32_t> ids,
                         const std::string& logits_path, const std::vector<std::size_t>& layers,
                         const CancelToken& cancel);

}  // namespace hiptool::cli
