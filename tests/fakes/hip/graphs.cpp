// SPDX-License-Identifier: MIT
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return forward_after(enter_stream(stream), &Api::hipStreamBeginCapture, stream, mode);
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return forward_after(enter_stream(stream), &Api::hipStreamEndCapture, stream, graph);
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags) {
  return forward(&Api::hipGraphInstantiateWithFlags, executable, graph, flags);
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return forward_after(enter_stream(stream), &Api::hipGraphLaunch, executable, stream);
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return forward(&Api::hipGraphExecDestroy, executable);
}
hipError_t hipGraphDestroy(hipGraph_t graph) { return forward(&Api::hipGraphDestroy, graph); }

}  // extern "C"
