// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"

namespace hiptool {

/// The place of one tensor.
struct Placement {
  std::uint32_t tensor = 0;         ///< index into ModelFile::tensors()
  std::uint64_t device_offset = 0;  ///< from the start of the device's arena
};

/// One arena: tensors at aligned offsets in file order. It may hold a part of the model only.
struct ArenaLayout {
  std::vector<Placement> placements;  ///< ascending device_offset
  std::uint64_t tensor_bytes = 0;     ///< without gaps
  std::uint64_t arena_bytes = 0;      ///< with gaps
};

/// The part of one device; empty where there are more devices than parts.
struct DevicePlan {
  Device device;
  ArenaLayout layout;
};

/// How a model is divided among several devices.
enum class SplitKind {
  bytes,        ///< runs of tensors in file order, of as equal a size as memory allows
  layer,        ///< the same by whole layers
  proportions,  ///< runs of tensors in file order, of given proportions
  replicate,    ///< all tensors on each device
};

struct LoadSplit {
  SplitKind kind = SplitKind::bytes;
  std::vector<double> proportions;  ///< one for each device, for SplitKind::proportions only
};

/// The device layout of a model.
struct LoadPlan {
  std::vector<DevicePlan> devices;
  SplitKind split = SplitKind::bytes;  ///< the split in use
  std::vector<std::string> warnings;   ///< such as why it is not the requested split
};

/// Memory of a device, whether or not this machine has it.
struct DeviceMemory {
  std::string id;  ///< "nvidia:0"
  std::uint64_t total_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  ///< absent: counts as all free
  bool is_host_memory = false;              ///< needs no margin; not a GPU for gpu_layers
};

/// Tensors start at multiples of this many bytes.
inline constexpr std::uint64_t tensor_alignment_bytes = 256;

/// Lays out every tensor of the model in one arena. Pure arithmetic.
[[nodiscard]] HIPTOOL_API ArenaLayout lay_out(const ModelFile& model);

/// Lays out these tensors, by index, in the order given. Pure arithmetic. Throws
/// Error(out_of_bounds) for an index that the model does not have.
[[nodiscard]] HIPTOOL_API ArenaLayout lay_out(const ModelFile& model,
                                              std::span<const std::uint32_t> tensors);

/// Lays the model out on the devices given, in that order. With `memory` (of each device, see
/// read_memory) splits by bytes and by layers give no device more than its free memory less a
/// margin (the larger of 5 % and 64 MiB; none in host memory), if the devices hold the model at
/// all. Layers are tensors named blk.N., layers.N. or h.N.; tensors that are computed before the
/// layers go with the first one, those after them (output, output_norm; lm_head, norm) with the
/// last. A model without layers is split by bytes, with a warning. Pure arithmetic.
/// Throws Error(invalid_argument) for no device, a device given twice, a `memory` of another size,
/// proportions that are not positive and finite or not one for each device, and copies on devices
/// of different platforms.
[[nodiscard]] HIPTOOL_API LoadPlan plan_load(const ModelFile& model,
                                             std::span<const Device> devices,
                                             const LoadSplit& split = {},
                                             std::span<const DeviceMemory> memory = {});

/// Memory of each device, all at once; devices of the cpu platform share the host's free memory.
/// Starts the devices and blocks.
[[nodiscard]] HIPTOOL_API std::vector<DeviceMemory> read_memory(std::span<const Device> devices);

/// The part of a model that one device holds.
struct FitPart {
  DeviceMemory device;
  std::uint64_t tensors = 0;
  std::uint64_t tensor_bytes = 0;    ///< without gaps
  std::uint64_t weights_bytes = 0;   ///< with each tensor rounded up to tensor_alignment_bytes
  std::uint64_t kv_cache_bytes = 0;  ///< of a bound the least where the most does not fit
  std::uint64_t state_bytes = 0;     ///< of recurrent layers
  std::uint64_t margin_bytes = 0;    ///< as in plan_load, of weights, cache and states together
  std::uint64_t compute_bytes = 0;   ///< ModelFit::compute_bytes; 0 for a device without tensors
};

/// `fits`: on the one device chosen. `split`: on several. `gpu_layers`: only some layers fit, the
/// others stay with the CPU. `may_not_fit`: the KV cache is known as a bound only
/// (ModelSummary::cache_is_bound), of which the devices hold the least but not the most.
enum class FitVerdict { fits, split, gpu_layers, does_not_fit, may_not_fit };

/// "fits", "split", "gpu_layers", "does not fit" or "may not fit".
[[nodiscard]] HIPTOOL_API std::string_view to_string(FitVerdict verdict) noexcept;

/// Types of the elements of a KV cache, as llama.cpp's --cache-type-k and --cache-type-v. Those
/// other than f32, f16 and bf16 are stored in GGUF's blocks of 32 elements.
enum class KvType { f16, q8_0, q4_0, f32, bf16, q4_1, q5_0, q5_1, iq4_nl };

/// "f16", "q8_0" and so on.
[[nodiscard]] HIPTOOL_API std::string_view to_string(KvType type) noexcept;

/// The type of that name, in letters of any case; absent for others.
[[nodiscard]] HIPTOOL_API std::optional<KvType> kv_type_from_name(std::string_view name) noexcept;

/// What is kept in a KV cache, and how.
struct KvCacheOptions {
  KvType keys = KvType::f16;
  KvType values = KvType::f16;
  std::uint64_t sequences = 1;  ///< each of the whole context

  KvCacheOptions() = default;
  KvCacheOptions(KvType both) : keys(both), values(both) {}
};

/// Whether and how a model with its KV cache fits the memory of devices.
struct ModelFit {
  std::uint64_t context_tokens = 0;
  KvCacheOptions kv_cache;
  std::uint64_t weights_bytes = 0;
  std::uint64_t kv_cache_bytes = 0;  ///< the most where it is known as a bound only
  bool kv_cache_is_bound = false;
  std::uint64_t kv_cache_least_bytes = 0;  ///< kv_cache_bytes unless kv_cache_is_bound
  std::uint64_t state_bytes = 0;           ///< of recurrent layers
  std::uint64_t margin_bytes = 0;          ///< of one device; for a split the sum over its parts
  /// compute_buffer_bytes of each device that computes; absent: unknown, and not counted.
  std::optional<std::uint64_t> compute_bytes;
  /// The same of llama-server since June 2026 (GraphReserve::server); not counted in the totals.
  std::optional<std::uint64_t> compute_least_bytes;
  std::uint64_t total_bytes = 0;        ///< weights, cache, states, compute buffers and margin
  std::uint64_t least_total_bytes = 0;  ///< the same with the least KV cache
  FitVerdict verdict = FitVerdict::does_not_fit;
  bool is_held = false;  ///< the chosen devices hold everything; a split may need others
  std::uint64_t shortfall_bytes = 0;  ///< missing on the chosen devices; of a bound the least
  /// By device; where nothing fits, what the one chosen device would need, and of several devices
  /// no tensors.
  std::vector<FitPart> parts;
  /// Shares of weights and cache, one for each part; empty unless the verdict is `split`.
  std::vector<double> split;
  /// The longest context for which the one chosen device has memory, up to 2^30; 0: even the
  /// weights do not fit. Absent for several devices, where the cache does not grow with the context
  /// and where it is known as a bound only.
  std::optional<std::uint64_t> memory_context_tokens;
  /// The same, but no more than the model was trained for (ModelSummary::context_length).
  std::optional<std::uint64_t> max_context_tokens;
  /// The largest --n-gpu-layers of llama.cpp that fits the chosen devices, when they do not hold
  /// everything; absent in host memory.
  std::optional<std::uint64_t> gpu_layers;
};

/// Bytes of the KV cache, as llama.cpp's llama_kv_cache allocates it (else transformers, see
/// ModelSummary::cache_source): for each sequence and layer, cells x heads x (key_length +
/// value_length) x bits / 8, where cells are the context rounded up to a multiple of 256
/// (llama_context, ggml-org/llama.cpp pull request 17046). A layer with a window has min(context,
/// window + 512) cells, rounded up alike (llama_kv_cache_iswa with its default --ubatch-size). The
/// most where ModelSummary::cache_is_bound. Pure arithmetic. Throws Error(not_found) naming the
/// missing keys when the metadata lacks the model's shape, Error(input_failed) when the metadata
/// cannot be read, Error(corrupt_data) when the sum is above 2^62, and Error(invalid_argument) for
/// no sequence, for a summary whose kv_heads or caches are not one for each layer, and for a type
/// whose blocks of 32 elements do not divide the keys or values of a head, which llama.cpp refuses.
[[nodiscard]] HIPTOOL_API std::uint64_t kv_cache_bytes(const ModelSummary& summary,
                                                       std::uint64_t context_tokens,
                                                       const KvCacheOptions& options = {});

/// The least that it may be: the same unless ModelSummary::cache_is_bound.
[[nodiscard]] HIPTOOL_API std::uint64_t kv_cache_least_bytes(const ModelSummary& summary,
                                                             std::uint64_t context_tokens,
                                                             const KvCacheOptions& options = {});

/// Bytes of the states of recurrent layers, which do not grow with the context, as llama.cpp's
/// llama_memory_recurrent allocates them (in f32); 0 where their size is unknown
/// (ModelSummary::missing_state_keys). Pure arithmetic. Throws as kv_cache_bytes().
[[nodiscard]] HIPTOOL_API std::uint64_t recurrent_state_bytes(const ModelSummary& summary,
                                                              std::uint64_t sequences = 1);

/// What llama.cpp reserves compute buffers for, by version and program.
enum class GraphReserve {
  until_may_2026,  ///< the mask in f32 and f16, and the logits of all tokens of a batch
  all_logits,      ///< since pull request 23764 the mask in f16 alone: llama-bench, the library
  server,          ///< llama-server since pull request 23861: the logits of one token per sequence
};

struct ComputeBufferOptions {
  GraphReserve reserve = GraphReserve::until_may_2026;  ///< the most of the three
  std::uint64_t batch_tokens = 512;                     ///< --ubatch-size
  bool has_flash_attention = true;                      ///< llama.cpp's default since August 2025
  std::uint64_t sequences = 1;
};

/// Bytes of the compute buffer that llama.cpp allocates on a device which holds all layers: the
/// largest of
/// * the logits with the last activations, 4 x batch x embedding + 4 x outputs x vocabulary;
/// * the attention of a layer, the mask (batch x cells x 6, in f16 alone x 2, without flash
///   attention x 4) and 4 x batch x 2 x (embedding + heads x key_length), without flash attention
///   also 4 x batch x cells x heads;
/// * the feed-forward network of a layer, the mask and 4 x batch x 3 x (feed_forward + embedding),
///   for models without experts.
/// Encoders (BERT and its relatives) have no logits, and as many cells as the batch has tokens.
/// Within 6 % of the public logs that tests/unit/load/place/compute_buffer_test.cpp cites, but for
/// GPT-NeoX without flash attention, which is 6.2 % short. A device
/// with some of the layers also needs room for copies of weights, several devices four copies of
/// the inputs, and images more. Absent where the metadata lacks a number, for multi-head latent
/// attention, and with GraphReserve::server for mixtures of experts and Gemma 3n and 4, of which no
/// such log is known. Pure arithmetic.
[[nodiscard]] HIPTOOL_API std::optional<std::uint64_t> compute_buffer_bytes(
    const ModelSummary& summary, std::uint64_t context_tokens, const ComputeBufferOptions& options);

/// With GraphReserve::until_may_2026 and flash attention.
[[nodiscard]] HIPTOOL_API std::optional<std::uint64_t> compute_buffer_bytes(
    const ModelSummary& summary, std::uint64_t context_tokens, std::uint64_t batch_tokens = 512);

/// Places the model with its KV cache, and compute buffers on each device: on the chosen devices,
/// else on those and the others, else as many layers as the chosen ones hold. Layers stay whole and
/// in order, each with its part of the cache; they are named as for plan_load. The tensors before
/// the layers go to the first device, those after them to the last. A split fills each device to
/// the same share.
///
/// gpu_layers counts as llama.cpp does (llama_model::load_tensors, 2026): the output is the first
/// layer to go to the GPU, then the layers from the last one on; the embeddings stay with the CPU,
/// and where they serve as the output too (no tensor output.weight or lm_head.weight) they go
/// twice.
///
/// Pure arithmetic. Throws what kv_cache_bytes throws, and Error(invalid_argument) when no device
/// is chosen.
[[nodiscard]] HIPTOOL_API ModelFit fit_model(std::span<const TensorInfo> tensors,
                                             const ModelSummary& summary,
                                             std::uint64_t context_tokens,
                                             std::span<const DeviceMemory> chosen,
                                             std::span<const DeviceMemory> others = {},
                                             const KvCacheOptions& options = {});

}  // namespace hiptool
