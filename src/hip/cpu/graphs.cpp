// SPDX-License-Identifier: MIT
#include <memory>
#include <utility>

#include "hip/cpu/accounting.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/handles.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

using Graphs = Handles<hipGraph_t, const GraphWork>;
using Executables = Handles<hipGraphExec_t, const GraphWork>;

Graphs& graphs() {
  static auto* const instance = new Graphs;
  return *instance;
}

Executables& executables() {
  static auto* const instance = new Executables;
  return *instance;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) {
    return hipErrorInvalidValue;
  }
  if (stream == nullptr) return hipErrorStreamCaptureUnsupported;
  const auto queue = find_queue(stream);
  return queue != nullptr ? queue->capture().begin() : hipErrorInvalidHandle;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  if (graph == nullptr) return hipErrorInvalidValue;
  *graph = nullptr;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  GraphWork work;
  const hipError_t error = queue->capture().end(work);
  if (error == hipSuccess)
    *graph = graphs().add(std::make_shared<const GraphWork>(std::move(work)));
  return error;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags) {
  auto work = graphs().find(graph);
  if (executable == nullptr || work == nullptr || flags != 0) return hipErrorInvalidValue;
  *executable = executables().add(std::move(work));
  return hipSuccess;
}

/// One piece of work of the stream, which keeps what it runs: both handles may go at once.
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  auto work = executables().find(executable);
  if (work == nullptr) return hipErrorInvalidValue;
  const auto queue = find_queue(stream);
  if (queue == nullptr) return hipErrorInvalidHandle;
  return submit(queue, [work = std::move(work)] {
    for (const auto& run : *work) run();
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return executables().remove(executable) != nullptr ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return graphs().remove(graph) != nullptr ? hipSuccess : hipErrorInvalidValue;
}

}  // namespace

std::size_t live_graph_count() { return graphs().size() + executables().size(); }

void add_graph_calls(Api& api) {
  api.hipStreamBeginCapture = &Entry<&hipStreamBeginCapture>::call;
  api.hipStreamEndCapture = &Entry<&hipStreamEndCapture>::call;
  api.hipGraphInstantiateWithFlags = &Entry<&hipGraphInstantiateWithFlags>::call;
  api.hipGraphLaunch = &Entry<&hipGraphLaunch>::call;
  api.hipGraphExecDestroy = &Entry<&hipGraphExecDestroy>::call;
  api.hipGraphDestroy = &Entry<&hipGraphDestroy>::call;
}

}  // namespace hiptool::hip::cpu
