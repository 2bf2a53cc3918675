// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/reference_decoder.hpp"

namespace hiptool::reference {

/// The worst value of a stage that is wrong.
struct WrongValue {
  std::optional<std::size_t> layer;  ///< absent outside of layers
  std::string stage;           ///< DecoderStage::name, decoded_logits, or one of check_golden()
  std::string tensor;          ///< whose values the stage uses; empty: none
  std::string type;            ///< of the tensor
  std::string device;          ///< that computed it
  std::uint64_t position = 0;  ///< of the token
  std::optional<std::uint32_t> expert = {};  ///< whose matrix the stage uses
  std::uint64_t row = 0;  ///< element of the token's values, of which there are that many:
  std::uint64_t rows = 0;
  std::uint64_t first_row = 0;  ///< of the tensor, where several matrices share it...
  std::uint64_t tensor_rows =
      0;  ///< ...of which this is the number of rows; 0: as many as the stage
  double expected = 0;
  double got = 0;
  double bound = 0;                ///< of their difference
  std::uint64_t wrong_values = 0;  ///< in the stage, of that many:
  std::uint64_t values = 0;
  std::optional<bool> repeats = {};  ///< a second run gave the same values; absent: not run again
};

/// A layer whose input was the device's own.
struct LayerResult {
  std::size_t layer = 0;
  double max_error = 0;                  ///< of the value that used up most of its bound
  double bound = 0;                      ///< of that value
  std::optional<WrongValue> wrong = {};  ///< of its first wrong stage
};

/// End to end: logits of the device against a reference that saw nothing of it.
struct LogitsResult {
  std::uint64_t tokens = 0;  ///< the last ones, at most most_logits_tokens
  double max_error = 0;
  double bound = 0;      ///< logits_bound x deviation
  double deviation = 0;  ///< standard deviation of the last token's logits
  /// The prompt at once, and token by token, gave the same bits.
  bool repeats = true;
  /// Beyond the bound, but each stage that these logits follow from is within its own: layers
  /// enlarged the rounding errors of f32, as they do on every right device.
  bool is_amplified = false;

  bool is_right() const { return repeats && (max_error <= bound || is_amplified); }
};

inline constexpr std::uint64_t most_logits_tokens = 8;
/// Of f32 against float64, in standard deviations of the logits: SmolLM2-135M has 4e-6 after 30
/// layers, small faults such as an epsilon of 1e-6 for 1e-5 have 1e-3. How much of the rounding
/// errors of its layers reaches the logits depends on the model, so no constant is the bound of all
/// models: what exceeds this one is not wrong, but looked at more closely.
inline constexpr double logits_bound = 1e-4;

struct ProveResult {
  std::vector<LayerResult> layers;        ///< those that were compared
  std::optional<WrongValue> first_wrong;  ///< in the order of computation
  std::optional<LogitsResult> logits;     ///< absent where only some layers were compared
  /// Choices of experts, one for each token in each layer, that rounding may decide: scores differ
  /// by less than their bounds. Either choice is right, and the reference follows the device.
  std::uint64_t router_ties = 0;

  bool is_right() const { return !first_wrong && (!logits || logits->is_right()); }
};

struct ProveOptions {
  /// Ascending, the embedding with layer 0; empty: all, and the logits.
  std::vector<std::size_t> layers = {};
  /// VerifyResult::tensor_digests of the load, to be compared before a device is said to be wrong;
  /// empty: none.
  std::span<const std::uint64_t> digests = {};
  const CancelToken* cancel = nullptr;
  /// Bytes of weights that were read, on the calling thread.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  /// Gets the layers that were compared before an error ended the proof. It names no first wrong
  /// value, because the files were not read again.
  ProveResult* so_far = nullptr;
  /// In standard deviations: logits that differ by more are looked at more closely.
  double logits_bound = reference::logits_bound;
  /// Called with each stage before it is used, in every run: tests change values here.
  ModelRuntime::Probe alter = {};
};

/// Runs tokens on the device and compares all that it computes: once waiting for no more than the
/// ends of layers, with the last tokens one by one, for the logits; once observed, each stage of
/// each layer against float64 on the device's own inputs of that stage, so that a fault shows where
/// it is and nowhere else; and where a stage was wrong twice more, to see whether its values
/// repeat. The last two tokens of the first run are not observed, and so decoded by kernels that do
/// several stages at once: where all stages are right, and the logits of the last token have other
/// bits than when observed, the first wrong value is of the stage "decoded_logits".
///
/// Logits are wrong where a stage that they follow from is. That of the last token is always
/// compared; those of the tokens before it are where their logits exceed logits_bound: then these
/// tokens are observed one by one, must have the bits of both other runs, and output_norm, products
/// and logits of each are compared like those of the last one.
///
/// A device is wrong only where nothing else can be: before that is said, the bytes that the
/// reference used are compared with the files as they are then, and with the load's digests. Throws
/// Error(input_failed) where they differ and where values leave the range of f32, so that no device
/// could be right, and Error(corrupt_data) for a weight that is NaN or infinite.
///
/// The reference must be of the model in the runtime, made for as many tokens of sequence as
/// the runtime's context. Blocks; ends within a layer's time on the device after a cancellation.
/// Resets the runtime and ends its observation. Throws Error(invalid_argument) without tokens and
/// for a layer that is not there, what ModelRuntime::decode_step and the reference throw, and
/// Error(cancelled).
ProveResult prove(ModelRuntime& runtime, const ReferenceDecoder& reference,
                  std::span<const std::uint32_t> ids, const ProveOptions& options = {});

}  // namespace hiptool::reference
