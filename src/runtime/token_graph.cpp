// SPDX-License-Identifier: MIT
#include "runtime/token_graph.hpp"

#include <string>
#include <string_view>

#include "core/call.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "ops/recording.hpp"

namespace hiptool::runtime {
namespace {

/// Puts the position's place into the part, for as long as its kernels are recorded.
class PositionScope {
 public:
  PositionScope(DecoderPart& part, const Tensor& position) : part_(part) {
    part_.recorded_position = position;
  }
  ~PositionScope() { part_.recorded_position.reset(); }
  PositionScope(const PositionScope&) = delete;
  PositionScope& operator=(const PositionScope&) = delete;

 private:
  DecoderPart& part_;
};

/// Whether the same layers may go well where they are launched one by one.
bool is_of_recording(const Error& error) {
  const std::string_view call = error.operation();
  const int native = error.native() ? error.native()->code : 0;
  return error.code() == ErrorCode::unsupported ||
         native == hip::hipErrorStreamCaptureUnsupported ||
         native == hip::hipErrorStreamCaptureInvalidated || call == "hipStreamBeginCapture" ||
         call == "hipStreamEndCapture" || call == "hipGraphInstantiateWithFlags";
}

}  // namespace

TokenGraph::~TokenGraph() {
  if (stream_) core::settle(*stream_);
}

bool TokenGraph::record(DecoderPart& part, const std::function<void()>& queue_layers) {
  const Device& device = part.backend.device();
  try {
    graph_.emplace(device, "layers of a token", [&](const StreamRef& recording) {
      const ops::RecordingScope recording_scope(part.backend, recording);
      const PositionScope position_scope(part, position_);
      queue_layers();
    });
    return true;
  } catch (const Error& error) {
    if (!is_of_recording(error)) throw;
    core::state_of(device).note("graph",
                                "kernels are launched one by one: " + std::string(error.what()));
    is_possible_ = false;
    return false;
  }
}

bool TokenGraph::launch(DecoderPart& part, std::uint64_t position,
                        const std::function<void()>& queue_layers) {
  if (!is_possible_) return false;
  if (!graph_ && !record(part, queue_layers)) return false;
  ops::fill_into(part.backend, position_, position);
  stream_ = part.backend.stream();
  graph_->launch(*stream_);
  return true;
}

}  // namespace hiptool::runtime
