// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "hiptool/arena.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::runtime {

/// The memory of a ModelRuntime, one allocation: the same sizes as ModelRuntime::memory_bytes.
class DecoderMemory {
 public:
  /// Throws Error(out_of_memory).
  DecoderMemory(const Backend& backend, const DecoderSpec& spec,
                const ModelRuntime::Options& options);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  std::uint64_t chunk_tokens() const noexcept { return chunk_tokens_; }

  std::vector<ops::KVCache> caches;  ///< by layer
  /// f32, at least the largest chunk of all layers: see rows().
  Tensor x, normed, sum, q, k, v, attention, gate, up;

  /// The first elements of scratch memory as [tokens, columns].
  static Tensor rows(const Tensor& scratch, std::uint64_t tokens, std::uint64_t columns);

 private:
  DecoderMemory(Arena arena, const DecoderSpec& spec, const ModelRuntime::Options& options,
                std::uint64_t size_bytes);

  std::uint64_t size_bytes_;
  std::uint64_t chunk_tokens_;
};

/// Throws Error(invalid_argument).
std::uint64_t decoder_memory_bytes(const DecoderSpec& spec, const ModelRuntime::Options& options);

}  // namespace hiptool::runtime
