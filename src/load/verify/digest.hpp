// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/model_file.hpp"
#include "load/layout/blocks.hpp"

namespace hiptool::load {

/// XXH3-64, seed 0, of a piece of at most 16 KiB (of any length, in fact).
std::uint64_t block_digest(std::span<const std::byte> bytes) noexcept;

/// Adds the digest of each block of the bytes, of which the last one may be shorter.
void add_block_digests(std::span<const std::byte> bytes, std::vector<std::uint64_t>& digests);

/// XXH3-64 over the block digests as little-endian u64, in order.
std::uint64_t tensor_digest(std::span<const std::uint64_t> block_digests);

/// That of each tensor, from the digests of all blocks (as FileDigests::get gives them).
std::vector<std::uint64_t> tensor_digests(const ModelFile& model,
                                          std::span<const std::uint64_t> block_digests);

/// XXH3-64 over, for each tensor in byte-wise order of name: name, zero byte, type name, zero byte,
/// rank and dims as u64 little-endian, tensor digest as u64 little-endian. `tensor_digests` is by
/// index of model.tensors(), `order` is digest_order(model). The definition never changes within
/// schema version 1 of `load`.
std::uint64_t model_digest(const ModelFile& model, std::span<const std::uint32_t> order,
                           std::span<const std::uint64_t> tensor_digests);

/// Indices of the tensors by name: the order in which model_digest() takes them.
std::vector<std::uint32_t> digest_order(const ModelFile& model);

}  // namespace hiptool::load
