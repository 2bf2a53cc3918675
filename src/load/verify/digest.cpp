// SPDX-License-Identifier: MIT
#include "load/verify/digest.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "base/xxh3.hpp"

namespace hiptool::load {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian numbers");

std::uint64_t block_digest(std::span<const std::byte> bytes) noexcept {
  return base::xxh3_64(bytes.data(), bytes.size());
}

void add_block_digests(std::span<const std::byte> bytes, std::vector<std::uint64_t>& digests) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(block_bytes, bytes.size()))) {
    digests.push_back(block_digest(bytes.first(std::min<std::size_t>(block_bytes, bytes.size()))));
  }
}

std::uint64_t tensor_digest(std::span<const std::uint64_t> block_digests) {
  return base::xxh3_64(block_digests.data(), block_digests.size_bytes());
}

std::vector<std::uint64_t> tensor_digests(const ModelFile& model,
                                          std::span<const std::uint64_t> block_digests) {
  const BlockMap blocks(model);
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i + 1 < blocks.first.size(); ++i) {
    digests.push_back(tensor_digest(
        block_digests.subspan(blocks.first[i], blocks.first[i + 1] - blocks.first[i])));
  }
  return digests;
}

std::vector<std::uint32_t> digest_order(const ModelFile& model) {
  const auto tensors = model.tensors();
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](std::uint32_t left, std::uint32_t right) {
    return tensors[left].name < tensors[right].name;  // std::string compares bytes as unsigned
  });
  return order;
}

std::uint64_t model_digest(const ModelFile& model, std::span<const std::uint32_t> order,
                           std::span<const std::uint64_t> tensor_digests) {
  const auto tensors = model.tensors();
  std::string bytes;
  const auto add = [&](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const std::uint32_t index : order) {
    const TensorInfo& tensor = tensors[index];
    bytes.append(tensor.name).push_back('\0');
    bytes.append(tensor.type.name()).push_back('\0');
    add(tensor.shape.size());
    for (const std::uint64_t dim : tensor.shape) add(dim);
    add(tensor_digests[index]);
  }
  return base::xxh3_64(bytes.data(), bytes.size());
}

}  // namespace hiptool::load
