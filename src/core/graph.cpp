// SPDX-License-Identifier: MIT
#include "hiptool/graph.hpp"

#include <utility>

#include "core/call.hpp"

namespace hiptool {
namespace {

using core::call;
using hip::Api;

std::string subject_of(const std::string& name) { return "graph '" + name + "'"; }

/// What a stream has recorded, until an executable graph is made of it.
class RecordedGraph {
 public:
  explicit RecordedGraph(const Device& device) : device_(device) {}
  ~RecordedGraph() {
    if (graph_ != nullptr) core::release<&Api::hipGraphDestroy>(device_, graph_);
  }
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  hip::hipGraph_t get() const { return graph_; }
  hip::hipGraph_t* place() { return &graph_; }

 private:
  Device device_;
  hip::hipGraph_t graph_ = nullptr;
};

}  // namespace

Graph::Graph(const Device& device, std::string name,
             const std::function<void(const StreamRef& stream)>& queue_work)
    : name_(std::move(name)), executable_(nullptr, Destroy{device}) {
  if (!queue_work) {
    throw Error(ErrorCode::invalid_argument, "record graph",
                subject_of(name_) + ": the function is empty");
  }
  const DeviceGuard guard(device);
  // No other one would do: another thread's work on it would become part of the graph.
  const Stream stream(device);
  const hip::hipStream_t native = core::native_of(stream);
  const std::string subject = subject_of(name_);
  RecordedGraph recorded(device);
  // Other threads may allocate meanwhile; this one may not, which would be no part of the graph.
  call<&Api::hipStreamBeginCapture>(device, subject, native, hip::hipStreamCaptureModeThreadLocal);
  try {
    queue_work(stream);
  } catch (...) {
    const hip::hipError_t error =
        core::api_of(device).hipStreamEndCapture(native, recorded.place());
    const bool is_spoilt = error == hip::hipErrorStreamCaptureInvalidated;  // by what is thrown
    if (error != hip::hipSuccess && !is_spoilt) {
      core::note_failure(device, "hipStreamEndCapture", error);
    }
    throw;
  }
  call<&Api::hipStreamEndCapture>(device, subject, native, recorded.place());
  hip::hipGraphExec_t executable = nullptr;
  call<&Api::hipGraphInstantiateWithFlags>(device, subject, &executable, recorded.get(), 0ull);
  executable_.reset(executable);
}

void Graph::launch(const StreamRef& stream) const {
  if (executable_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "use graph", "the graph was moved from");
  }
  if (!(stream.device() == device())) {
    throw Error(
        ErrorCode::invalid_argument, "hipGraphLaunch",
        subject_of(name_) + " is on " + device().id() + ", the stream on " + stream.device().id(),
        "record the graph on the stream's device");
  }
  const DeviceGuard guard(device());
  const hip::hipError_t error = core::api_of(device()).hipGraphLaunch(
      static_cast<hip::hipGraphExec_t>(executable_.get()), core::native_of(stream));
  if (error != hip::hipSuccess) {
    throw core::call_error(device(), "hipGraphLaunch", error, subject_of(name_));
  }
}

void Graph::Destroy::operator()(void* executable) const noexcept {
  const core::QuietDeviceGuard guard(device);
  core::release<&Api::hipGraphExecDestroy>(device, static_cast<hip::hipGraphExec_t>(executable));
}

}  // namespace hiptool
