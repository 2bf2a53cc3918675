// SPDX-License-Identifier: MIT
#include "ops/recording.hpp"

#include "ops/backend_state.hpp"

namespace hiptool::ops {
namespace {

struct Recording {
  const BackendState* state = nullptr;
  const StreamRef* stream = nullptr;
};

thread_local Recording current;

}  // namespace

RecordingScope::RecordingScope(const Backend& backend, const StreamRef& recording) noexcept {
  current = {&state_of(backend), &recording};
}

RecordingScope::~RecordingScope() { current = {}; }

const StreamRef* RecordingScope::stream_of(const BackendState& state) noexcept {
  return current.state == &state ? current.stream : nullptr;
}

}  // namespace hiptool::ops
