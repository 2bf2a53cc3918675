// SPDX-License-Identifier: MIT
#include "fakes/cuda/reads.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "hiptool_experts.h"

namespace hiptool::fake {
namespace {

constexpr std::string_view kernel_of_a_token = "hiptool_quantised_matmul_1_";
/// Whose numbers end a block, and which that kernel loads by units of 16 bytes.
constexpr std::string_view types_by_units[] = {"q4_0", "q4_1",   "q5_0",  "q5_1",
                                               "q8_0", "iq4_nl", "mxfp4", "nvfp4"};

struct KnownMemory {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> sizes;  // by the first byte
};

KnownMemory& known_memory() {
  static KnownMemory known;
  return known;
}

/// Whether the bytes begin in an allocation and end behind it.
bool ends_behind(std::uintptr_t first, std::uint64_t bytes) {
  const std::lock_guard lock(known_memory().mutex);
  auto found = known_memory().sizes.upper_bound(first);
  if (found == known_memory().sizes.begin()) return false;
  --found;
  const std::uintptr_t end = found->first + found->second;
  return first < end && end - first < bytes;
}

/// Units are at multiples of their size, wherever the weights begin.
bool has_part_of_unit(std::uintptr_t weights, std::uint64_t bytes, std::uint64_t unit_bytes) {
  const std::uint64_t end = (weights + bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
  return bytes > 0 && ends_behind(weights, end - weights);
}

bool has_part_of_unit(const hiptool_ops::FileMatrix& matrix, void* argument,
                      std::uint64_t unit_bytes) {
  const auto weights = reinterpret_cast<std::uintptr_t>(*static_cast<void* const*>(argument));
  return has_part_of_unit(weights, matrix.rows * matrix.row_bytes, unit_bytes);
}

/// By kernels for all types.
bool has_part_of_eight(const hiptool_ops::FileMatrix& matrix, void* argument) {
  return hiptool_ops::has_groups_of_eight(matrix.type) && has_part_of_unit(matrix, argument, 8);
}

bool experts_have_parts(void** arguments) {
  const auto& all = *static_cast<const hiptool_ops::ExpertProduct*>(arguments[0]);
  const auto* const experts = *static_cast<const hiptool_ops::ExpertMatrix* const*>(arguments[1]);
  for (std::uint64_t i = 0; i < all.experts; ++i) {
    const hiptool_ops::ExpertMatrix& one = experts[i];
    if (hiptool_ops::has_groups_of_eight(one.type) &&
        has_part_of_unit(one.address, all.rows * one.row_bytes, 8)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void add_memory(const void* first, std::size_t bytes) {
  const std::lock_guard lock(known_memory().mutex);
  known_memory().sizes[reinterpret_cast<std::uintptr_t>(first)] = bytes;
}

void remove_memory(const void* first) {
  const std::lock_guard lock(known_memory().mutex);
  known_memory().sizes.erase(reinterpret_cast<std::uintptr_t>(first));
}

bool reads_behind_memory(const std::string& kernel, void** arguments) {
  if (arguments == nullptr) return false;
  if (kernel == "hiptool_expert_matmul") return experts_have_parts(arguments);
  if (kernel == "hiptool_embedding_rows") {
    const auto& all = *static_cast<const hiptool_ops::EmbeddingRows*>(arguments[0]);
    return has_part_of_eight(all.matrix, arguments[1]);
  }
  if (kernel == "hiptool_quantised_matmul_8" || kernel == "hiptool_quantised_matmul_64") {
    const auto& all = *static_cast<const hiptool_ops::FileProduct*>(arguments[0]);
    return has_part_of_eight(all.matrix, arguments[1]);
  }
  if (!kernel.starts_with(kernel_of_a_token)) return false;
  const std::string type = kernel.substr(kernel_of_a_token.size());
  if (std::ranges::find(types_by_units, type) == std::end(types_by_units)) return false;
  const auto& all = *static_cast<const hiptool_ops::TokenProducts*>(arguments[0]);
  for (std::uint32_t i = 0; i < all.count; ++i) {
    if (has_part_of_unit(all.each[i].matrix, arguments[1 + i], 16)) return true;
  }
  return false;
}

}  // namespace hiptool::fake
