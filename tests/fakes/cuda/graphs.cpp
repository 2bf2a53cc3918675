// SPDX-License-Identifier: MIT
#include "fakes/cuda/graphs.hpp"

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "hip/cpu/kernel_table.hpp"

namespace hiptool::fake {
namespace {

using Nodes = std::vector<Node>;

constexpr auto illegal_state = static_cast<CUresult>(hip::hipErrorIllegalState);
constexpr auto unsupported = static_cast<CUresult>(hip::hipErrorStreamCaptureUnsupported);
constexpr auto invalidated = static_cast<CUresult>(hip::hipErrorStreamCaptureInvalidated);
constexpr auto wrong_thread = static_cast<CUresult>(hip::hipErrorStreamCaptureWrongThread);

struct Recording {
  std::thread::id thread;
  Nodes nodes;
  bool is_spoilt = false;
};

struct GraphState {
  std::mutex mutex;
  std::map<CUstream, Recording> recordings;
  std::map<CUgraph, Nodes> graphs;
  std::map<CUgraphExec, std::shared_ptr<const Nodes>> executables;
  std::uintptr_t last_handle = 0x1000;
};

GraphState& graph_state() {
  static auto* const instance = new GraphState;
  return *instance;
}

CUresult spoil(Recording& recording) {
  return std::exchange(recording.is_spoilt, true) ? invalidated : unsupported;
}

/// Makes the stream's context current while a graph's calls are made.
class StreamContext {
 public:
  explicit StreamContext(CUstream stream) : before_(current_context()) {
    if (stream != nullptr) make_current(context_of(stream));
  }
  ~StreamContext() { make_current(before_); }
  StreamContext(const StreamContext&) = delete;
  StreamContext& operator=(const StreamContext&) = delete;

 private:
  CUcontext before_;
};

}  // namespace

bool is_recording(CUstream stream) {
  const std::lock_guard lock(graph_state().mutex);
  return graph_state().recordings.count(stream) > 0;
}

CUresult record(CUstream stream, Node node) {
  const std::lock_guard lock(graph_state().mutex);
  Recording& recording = graph_state().recordings.at(stream);
  if (recording.is_spoilt) return invalidated;
  recording.nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

CUresult refuse_on(CUstream stream) {
  const std::lock_guard lock(graph_state().mutex);
  const auto found = graph_state().recordings.find(stream);
  return found != graph_state().recordings.end() ? spoil(found->second) : CUDA_SUCCESS;
}

CUresult refuse_in_thread() {
  const std::lock_guard lock(graph_state().mutex);
  CUresult result = CUDA_SUCCESS;
  for (auto& [stream, recording] : graph_state().recordings) {
    if (recording.thread == std::this_thread::get_id()) result = spoil(recording);
  }
  return result;
}

OwnArguments::OwnArguments(const std::string& kernel, void** arguments) {
  const hip::cpu::CpuKernel* const found = hip::cpu::find_kernel(kernel);
  for (std::size_t place = 0; place < found->arguments.size(); ++place) {
    const auto* const value = static_cast<const std::byte*>(arguments[place]);
    values_.emplace_back(value, value + found->arguments[place].size_bytes);
  }
  for (auto& value : values_) addresses_.push_back(value.data());
}

}  // namespace hiptool::fake

using namespace hiptool::fake;

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  if (const CUresult entered = enter_stream(stream); entered != CUDA_SUCCESS) return entered;
  if (stream == nullptr) return unsupported;
  const std::lock_guard lock(graph_state().mutex);
  Recording fresh;
  fresh.thread = std::this_thread::get_id();
  const bool is_new = graph_state().recordings.try_emplace(stream, std::move(fresh)).second;
  return is_new ? CUDA_SUCCESS : illegal_state;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (const CUresult entered = enter_stream(stream); entered != CUDA_SUCCESS) return entered;
  *graph = nullptr;
  const std::lock_guard lock(graph_state().mutex);
  const auto found = graph_state().recordings.find(stream);
  if (found == graph_state().recordings.end()) return illegal_state;
  if (found->second.thread != std::this_thread::get_id()) return wrong_thread;
  Recording ended = std::move(found->second);
  graph_state().recordings.erase(found);
  if (ended.is_spoilt) return invalidated;
  *graph = reinterpret_cast<CUgraph>(graph_state().last_handle += 16);
  graph_state().graphs.emplace(*graph, std::move(ended.nodes));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
  if (const CUresult entered = enter_context(); entered != CUDA_SUCCESS) return entered;
  const std::lock_guard lock(graph_state().mutex);
  const auto found = graph_state().graphs.find(graph);
  if (found == graph_state().graphs.end() || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *executable = reinterpret_cast<CUgraphExec>(graph_state().last_handle += 16);
  graph_state().executables.emplace(*executable, std::make_shared<const Nodes>(found->second));
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (const CUresult entered = enter_stream(stream); entered != CUDA_SUCCESS) return entered;
  std::shared_ptr<const Nodes> nodes;
  {
    const std::lock_guard lock(graph_state().mutex);
    const auto found = graph_state().executables.find(executable);
    if (found == graph_state().executables.end()) return CUDA_ERROR_INVALID_VALUE;
    nodes = found->second;
  }
  const StreamContext context(stream);
  for (const Node& node : *nodes) {
    if (const CUresult result = node(stream); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  const std::lock_guard lock(graph_state().mutex);
  const bool was_there = graph_state().executables.erase(executable) > 0;
  return was_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroy(CUgraph graph) {
  const std::lock_guard lock(graph_state().mutex);
  return graph_state().graphs.erase(graph) > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
