// SPDX-License-Identifier: MIT
/// Streams that record and graphs, by CUDA's rules for CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
/// whatever mode is asked for. A launch of a graph makes the recorded calls again, so that each
/// fault of this fake that a call has a launch has, too. Stricter than the driver: events are not
/// recorded.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fakes/cuda/call.hpp"

namespace hiptool::fake {

/// A call to be made on the stream of a launch.
using Node = std::function<CUresult(CUstream stream)>;

bool is_recording(CUstream stream);
/// Keeps the call of a stream that records.
CUresult record(CUstream stream, Node node);

/// 900 for a call that a recording stream refuses, or that a thread which records may not make;
/// either spoils the recording.
CUresult refuse_on(CUstream stream);
CUresult refuse_in_thread();

/// The values of a kernel's arguments, as its image says how many there are.
class OwnArguments {
 public:
  OwnArguments(const std::string& kernel, void** arguments);
  void** addresses() { return addresses_.data(); }

 private:
  std::vector<std::vector<std::byte>> values_;
  std::vector<void*> addresses_;
};

}  // namespace hiptool::fake
