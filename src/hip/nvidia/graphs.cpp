// SPDX-License-Identifier: MIT
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

hipError_t begin_capture(hipStream_t stream, hipStreamCaptureMode mode) {
  if (is_pseudo_stream(stream)) return hipErrorStreamCaptureUnsupported;
  return translate(cuda().cuStreamBeginCapture_v2(stream, mode));
}

hipError_t end_capture(hipStream_t stream, hipGraph_t* graph) {
  if (graph == nullptr) return hipErrorInvalidValue;
  if (is_pseudo_stream(stream)) return hipErrorIllegalState;
  return translate(cuda().cuStreamEndCapture(stream, graph));
}

hipError_t instantiate_graph(hipGraphExec_t* executable, hipGraph_t graph,
                             unsigned long long flags) {
  if (executable == nullptr || graph == nullptr) return hipErrorInvalidValue;
  return call_after(enter_device(),
                    [=] { return cuda().cuGraphInstantiateWithFlags(executable, graph, flags); });
}

hipError_t launch_graph(hipGraphExec_t executable, hipStream_t stream) {
  if (executable == nullptr) return hipErrorInvalidValue;
  return call_after(enter_stream(stream), [=] { return cuda().cuGraphLaunch(executable, stream); });
}

hipError_t destroy_executable(hipGraphExec_t executable) {
  if (executable == nullptr) return hipErrorInvalidValue;
  return call_after(enter_any_device(),
                    [executable] { return cuda().cuGraphExecDestroy(executable); });
}

hipError_t destroy_graph(hipGraph_t graph) {
  if (graph == nullptr) return hipErrorInvalidValue;
  return call_after(enter_any_device(), [graph] { return cuda().cuGraphDestroy(graph); });
}

}  // namespace

void fill_graphs(Api& api) {
  api.hipStreamBeginCapture = begin_capture;
  api.hipStreamEndCapture = end_capture;
  api.hipGraphInstantiateWithFlags = instantiate_graph;
  api.hipGraphLaunch = launch_graph;
  api.hipGraphExecDestroy = destroy_executable;
  api.hipGraphDestroy = destroy_graph;
}

}  // namespace hiptool::hip::nvidia
