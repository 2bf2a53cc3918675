// SPDX-License-Identifier: MIT
#include "load/verify/digest.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <numeric>

#include "base/xxh3.hpp"

namespace hiptool::load {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian numbers");

class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(const void* bytes, std::size_t size_bytes) {
    XXH3_64bits_update(state_.get(), bytes, size_bytes);
  }
  void add(std::uint64_t number) { add(&number, sizeof number); }
  void add(std::string_view text) {
    add(text.data(), text.size());
    add("", 1);
  }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace

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
  std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return tensors[left].name < tensors[right].name;  // std::string compares bytes as unsigned
  });
  return order;
}

std::uint64_t model_digest(const ModelFile& model, std::span<const std::uint32_t> order,
                           std::span<const std::uint64_t> tensor_digests) {
  const auto tensors = model.tensors();
  Hasher hasher;
  for (const std::uint32_t index : order) {
    const TensorInfo& tensor = tensors[index];
    hasher.add(std::string_view(tensor.name));
    hasher.add(tensor.type.name());
    hasher.add(std::uint64_t{tensor.shape.size()});
    for (const std::uint64_t dim : tensor.shape) hasher.add(dim);
    hasher.add(tensor_digests[index]);
  }
  return hasher.digest();
}

}  // namespace hiptool::load
