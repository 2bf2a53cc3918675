// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/event.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_memory.hpp"

namespace hiptool::runtime {

/// What a runtime has on one device, without weights.
struct DecoderPart {
  /// With memory for these layers. Throws Error(out_of_memory).
  DecoderPart(const Backend& with, const DecoderSpec& spec, const std::vector<std::size_t>& layers,
              const ModelRuntime::Options& options);

  Backend backend;
  DecoderMemory memory;
  std::optional<ops::RopeTables> tables;        ///< set before the first token
  std::optional<ops::RopeTables> local_tables;  ///< of layers with a local rope
  Event mark;
  std::optional<Tensor> recorded_position;  ///< where kernels read it, while they are recorded
};

/// Waits until the streams of all parts have passed their work. Throws Error(timed_out), within
/// twice the limit.
void wait_for(std::span<const DecoderPart> parts, double timeout_s);

/// Throws Error(unsupported) while kernels are recorded, for those that get their position as an
/// argument.
void require_no_recording(const DecoderPart& part);

/// Copies values that one part's stream computes into memory of another part, in the order of both
/// streams. Does not block between devices of a platform; otherwise the values go through the host.
void hand_over(const Tensor& values, DecoderPart& from, Tensor& out, DecoderPart& to);

}  // namespace hiptool::runtime
