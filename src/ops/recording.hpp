// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/backend.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::ops {

struct BackendState;

/// While it lives, what the calling thread queues on a Backend goes to a stream that records, and
/// new memory is Error(unsupported): it would be used again while the recorded work still writes
/// it. Other threads are not concerned.
class RecordingScope {
 public:
  RecordingScope(const Backend& backend, const StreamRef& recording) noexcept;
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// The stream that records for this thread; null: none does.
  static const StreamRef* stream_of(const BackendState& state) noexcept;
};

}  // namespace hiptool::ops
