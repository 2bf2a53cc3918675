// SPDX-License-Identifier: MIT
#include "load/verify/differences.hpp"

#include <algorithm>

namespace hiptool::load {

Difference locate_difference(std::uint32_t tensor, std::uint64_t tensor_offset,
                             std::span<const std::byte> expected,
                             std::span<const std::byte> found) {
  const auto first =
      std::mismatch(expected.begin(), expected.end(), found.begin()).first - expected.begin();
  std::size_t last = expected.size() - 1;
  while (expected[last] == found[last]) --last;
  return {tensor, tensor_offset / block_bytes, tensor_offset + static_cast<std::uint64_t>(first),
          tensor_offset + last};
}

std::vector<Mismatch> join_differences(const ModelFile& model, const ArenaLayout& layout,
                                       const Device& device, std::vector<Difference>& differences) {
  std::vector<std::uint64_t> device_offsets(model.tensors().size());
  for (const Placement& placement : layout.placements) {
    device_offsets[placement.tensor] = placement.device_offset;
  }
  std::ranges::sort(differences, [&](const Difference& left, const Difference& right) {
    return device_offsets[left.tensor] + left.first < device_offsets[right.tensor] + right.first;
  });
  std::vector<Mismatch> mismatches;
  const Difference* previous = nullptr;
  for (const Difference& next : differences) {
    const TensorInfo& tensor = model.tensors()[next.tensor];
    const bool continues =
        previous != nullptr && previous->tensor == next.tensor && previous->block + 1 == next.block;
    if (continues) {
      mismatches.back().size_bytes =
          tensor.file_offset + next.last + 1 - mismatches.back().file_offset;
    } else if (mismatches.size() == max_mismatches) {
      break;
    } else {
      mismatches.push_back({tensor.name, tensor.file, tensor.file_offset + next.first,
                            device_offsets[next.tensor] + next.first, next.last + 1 - next.first,
                            device.id()});
    }
    previous = &next;
  }
  return mismatches;
}

}  // namespace hiptool::load
