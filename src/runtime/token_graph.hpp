// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "hiptool/backend.hpp"
#include "hiptool/graph.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_part.hpp"

namespace hiptool::runtime {

/// The layers of a step of one token on one device, recorded once and then queued by one call: a
/// launch takes longer than most kernels of a small model run.
///
/// Between tokens only the position differs, which kernels read from device memory then. Weights,
/// cache and scratch memory stay where they are for as long as the runtime lives. The embedding,
/// whose ids are where the caller has them, and the logits, which are in new memory, are launched
/// as ever.
class TokenGraph {
 public:
  /// Allocates the position's word. Throws what Backend::empty throws.
  explicit TokenGraph(const Backend& backend) : position_(backend.empty(DType::u32, {1})) {}
  /// Waits until the stream has passed the launches, where there were any.
  ~TokenGraph();
  TokenGraph(const TokenGraph&) = delete;
  TokenGraph& operator=(const TokenGraph&) = delete;

  /// The function queues the layers; kernels must have been loaded by a step before. False, and
  /// nothing is queued, where they cannot be recorded: then nor can they later. Throws what the
  /// function throws for other reasons, and Error(device) naming the graph.
  bool launch(DecoderPart& part, std::uint64_t position, const std::function<void()>& queue_layers);

 private:
  bool record(DecoderPart& part, const std::function<void()>& queue_layers);

  bool is_possible_ = true;
  Tensor position_;  // u32 [1]
  std::optional<Graph> graph_;
  std::optional<StreamRef> stream_;  // of the launches
};

}  // namespace hiptool::runtime
