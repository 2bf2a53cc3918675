// SPDX-License-Identifier: MIT
/// Divides a model into groups of tensors, and cuts these into runs, one for each device.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "load/place/kv_cache.hpp"

namespace hiptool::load {

/// Tensors that stay together on one device, with their part of the KV cache.
struct TensorGroup {
  std::uint64_t tensors = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t weights_bytes = 0;  ///< each tensor rounded up to tensor_alignment_bytes
  std::uint64_t kv_cache_bytes = 0;
  std::uint64_t state_bytes = 0;  ///< of recurrent layers

  std::uint64_t size_bytes() const { return weights_bytes + kv_cache_bytes + state_bytes; }
  TensorGroup& operator+=(const TensorGroup& other);
};

TensorGroup group_of(const TensorInfo& tensor);

/// A model in groups, in the order in which devices get them.
struct GroupedTensors {
  std::vector<TensorGroup> groups;
  std::vector<std::uint32_t> order;  ///< the tensors of the first group, then of the next
};

/// Each tensor by itself, in file order.
GroupedTensors group_by_tensor(std::span<const TensorInfo> tensors);

/// Each layer, by number; tensors that are computed before the layers are in the first of them,
/// those after them in the last. No groups if no tensor's name has a layer.
GroupedTensors group_by_layer(std::span<const TensorInfo> tensors);

/// The tensors before the layers, each layer with its KV cache and state, and the tensors after the
/// layers. Layers without an entry count as before.
GroupedTensors group_with_cache(std::span<const TensorInfo> tensors,
                                std::span<const LayerBytes> layer_bytes);

// The functions below return the sum of each run.

/// No device gets more than its `most_bytes`, and the largest run is as small as that allows. Where
/// the devices hold less than all groups, each gets what it holds and the last one the rest too.
std::vector<TensorGroup> cut_evenly(std::span<const TensorGroup> groups,
                                    std::span<const std::uint64_t> most_bytes);

/// Runs as near to these proportions of all bytes as groups allow; they must be positive.
std::vector<TensorGroup> cut_by_proportions(std::span<const TensorGroup> groups,
                                            std::span<const double> proportions);

/// Fills each device to the same share of its memory; for devices that hold all groups.
std::vector<TensorGroup> cut_to_equal_shares(std::span<const TensorGroup> groups,
                                             std::span<const DeviceMemory> memory);

/// Each device gets as many groups as fit; one more sum is of the groups that fit on none.
std::vector<TensorGroup> fill(std::span<const TensorGroup> groups,
                              std::span<const DeviceMemory> memory);

}  // namespace hiptool::load
