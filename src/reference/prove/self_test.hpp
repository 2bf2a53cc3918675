// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/reference_decoder.hpp"

namespace hiptool::reference {

/// What is planted in the weights on a device, to see that a proof finds it.
enum class PlantedKind {
  weight_bit,  ///< a bit of a block, or of a float, of the matrix of q
  norm_bit,    ///< a bit of a weight of the attention's norm
  short_row,   ///< a row of the attention's output matrix ends 32 columns early, or half its length
  nan,         ///< NaN in the matrix of v; in the norm where its type has none
  decoding,    ///< as short_row, but not in the run that is observed
};

/// "weight_bit", "norm_bit", "short_row", "nan", "decoding".
std::string_view to_string(PlantedKind kind) noexcept;

/// A fault and what the proof then said.
struct PlantedFault {
  PlantedKind kind = PlantedKind::weight_bit;
  std::size_t layer = 0;
  std::string tensor;
  std::string type;
  std::string device;
  std::uint64_t row = 0;                 ///< of the matrix; of a norm the element
  std::optional<WrongValue> found = {};  ///< absent: the proof called everything right

  /// The proof named this layer, tensor, row and device; of a fault in decoding the stage
  /// "decoded_logits".
  bool is_named() const;
};

/// Plants each kind of fault in turn in device memory, proves the layer and its neighbours, and
/// takes the fault out again: the file stays as it is, so the device computes with other weights
/// than the reference. The layers are spread over the options' layers, or the model's.
///
/// A bit changes a value by at least an eighth of the largest of its block, in a column whose
/// inputs are neither the largest nor the smallest. `make_runtime` makes a runtime on the Backends,
/// once for each fault. Blocks; takes as long as five proofs of three layers, and the prompt twice
/// on the device. Throws what prove() throws, and Error(invalid_argument) for a model whose weights
/// are all zero.
std::vector<PlantedFault> self_test(const LoadedModel& model, std::span<const Backend> backends,
                                    const std::function<ModelRuntime()>& make_runtime,
                                    const ReferenceDecoder& reference,
                                    std::span<const std::uint32_t> ids,
                                    const ProveOptions& options = {});

}  // namespace hiptool::reference
