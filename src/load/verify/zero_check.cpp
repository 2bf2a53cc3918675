// SPDX-License-Identifier: MIT
#include "load/verify/zero_check.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "hiptool/copy.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t first_read_back_bytes = 512;
constexpr std::uint64_t most_read_back_bytes = 4u << 20;

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

// Pieces grow, because a tensor that begins with many zeros mostly has more of them.
bool holds_only_zeros(const Buffer& tensor, const CancelToken* cancel,
                      std::vector<std::byte>& memory) {
  std::uint64_t piece_bytes = first_read_back_bytes;
  for (std::uint64_t done = 0; done < tensor.size_bytes();) {
    if (cancel != nullptr) cancel->throw_if_cancelled("check values");
    const std::uint64_t bytes = std::min<std::uint64_t>(piece_bytes, tensor.size_bytes() - done);
    memory.resize(static_cast<std::size_t>(std::max<std::uint64_t>(bytes, memory.size())));
    const auto piece = std::span(memory).first(static_cast<std::size_t>(bytes));
    copy_d2h_and_wait(piece, tensor.view(done, bytes));
    if (!is_zero(piece)) return false;
    done += bytes;
    piece_bytes = std::min(piece_bytes * 16, most_read_back_bytes);
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> find_zero_tensors(const ModelFile& model, const ArenaLayout& layout,
                                             const Buffer& arena, const CancelToken* cancel) {
  std::vector<std::uint32_t> tensors;
  std::vector<std::byte> memory;
  for (const Placement& placement : layout.placements) {
    const std::uint64_t size_bytes = model.tensors()[placement.tensor].size_bytes;
    if (size_bytes == 0) continue;
    const Buffer tensor = arena.view(placement.device_offset, size_bytes);
    if (holds_only_zeros(tensor, cancel, memory)) tensors.push_back(placement.tensor);
  }
  std::sort(tensors.begin(), tensors.end());
  return tensors;
}

}  // namespace hiptool::load
