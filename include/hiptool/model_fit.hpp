// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"

namespace hiptool {

/// The memory of a device that a model may go to.
struct FitDevice {
  std::string id;  ///< "nvidia:0"
  std::uint64_t memory_total_bytes = 0;
  std::optional<std::uint64_t> memory_free_bytes;  ///< absent: all of it is taken for free
  bool is_host_memory = false;                     ///< needs no margin, and has no part in -ngl
};

/// What one device would hold.
struct FitPart {
  FitDevice device;
  std::uint64_t tensors = 0;
  std::uint64_t tensor_bytes = 0;   ///< without gaps
  std::uint64_t weights_bytes = 0;  ///< with each tensor rounded up to tensor_alignment_bytes
  std::uint64_t kv_cache_bytes = 0;
  std::uint64_t margin_bytes = 0;  ///< that of check_fit, here of weights and cache together
};

/// `fits`: on the one device chosen. `split`: on several. `gpu_layers`: only some layers fit, the
/// others stay with the CPU.
enum class FitVerdict { fits, split, gpu_layers, does_not_fit };

/// "fits", "split", "gpu_layers" or "does not fit".
HIPTOOL_API std::string_view to_string(FitVerdict verdict) noexcept;

/// Whether and how a model with its KV cache goes into the memory of devices.
struct ModelFit {
  std::uint64_t context = 0;  ///< tokens
  std::uint64_t weights_bytes = 0;
  std::uint64_t kv_cache_bytes = 0;
  std::uint64_t margin_bytes = 0;  ///< of one device; for a split the sum over its parts
  std::uint64_t total_bytes = 0;   ///< weights, cache and margin
  FitVerdict verdict = FitVerdict::does_not_fit;
  bool is_held = false;  ///< the chosen devices hold everything; a split may need others
  std::uint64_t shortfall_bytes = 0;  ///< what the chosen devices lack; 0 when they hold everything
  /// What lies where under this verdict; nothing lies anywhere where it does not fit.
  std::vector<FitPart> parts;
  /// Shares of weights and cache, one for each part; empty unless the verdict is `split`.
  std::vector<double> split;
  /// The longest context that the one chosen device has room for, up to 2^30; 0: not even the
  /// weights fit. Absent for several devices and where the cache does not grow with the context.
  std::optional<std::uint64_t> most_context;
  /// How many layers llama.cpp's --n-gpu-layers may be given for the chosen devices, when they do
  /// not hold everything; absent in host memory.
  std::optional<std::uint64_t> gpu_layers;
};

/// Bytes of the KV cache at 16 bits an element, as llama.cpp's llama_kv_cache allocates it for one
/// sequence: over all layers, context x kv_heads x (key_length + value_length) x 2. An upper bound
/// where layers look back through a sliding window only. The states of recurrent layers do not
/// grow with the context and are not counted. Pure arithmetic.
/// Throws Error(not_found) naming the missing keys when the model does not tell its shape,
/// Error(corrupt_data) when the sum is above 2^62, and Error(invalid_argument) for a summary whose
/// kv_heads are not one for each layer.
HIPTOOL_API std::uint64_t kv_cache_bytes(const ModelSummary& summary, std::uint64_t context);

/// Places the model: on the devices chosen, else on those and the others, else as many layers as
/// the chosen ones hold. Layers stay whole and in order, each with its part of the cache: tensors
/// named blk.N., layers.N. or h.N. after any prefix but a vision or audio tower's. What stands
/// before the layers (all other tensors) goes to the first device, what stands behind them
/// (output, output_norm; lm_head, norm) to the last. A split fills each device to the same share.
///
/// gpu_layers counts as llama.cpp does (llama_model::load_tensors, 2026): the output is the first
/// layer to go to the GPU, then the layers from the last one on; the embeddings stay with the CPU,
/// and where they serve as the output too (no tensor output.weight or lm_head.weight) they go
/// twice.
///
/// Pure arithmetic. Throws what kv_cache_bytes throws, and Error(invalid_argument) when no device
/// is chosen.
HIPTOOL_API ModelFit fit_model(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                               std::uint64_t context, std::span<const FitDevice> chosen,
                               std::span<const FitDevice> others = {});

}  // namespace hiptool
