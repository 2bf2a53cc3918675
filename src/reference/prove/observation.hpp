// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_runtime.hpp"

namespace hiptool::reference {

/// Values of stages by name.
using StageValues = std::map<std::string, std::vector<double>, std::less<>>;

/// Waits for the stream, and throws Error(cancelled) within a millisecond. What is queued then goes
/// on.
void wait_unless_cancelled(const StreamRef& stream, const CancelToken* cancel);

/// The values of a stage, when the device has them.
std::vector<double> read_values(const StreamRef& stream, const Tensor& values,
                                const CancelToken* cancel);

/// Observes a runtime during its lifetime.
class Observation {
 public:
  Observation(ModelRuntime& runtime, ModelRuntime::Probe probe) : runtime_(runtime) {
    runtime_.reset();
    runtime_.observe(std::move(probe));
  }
  ~Observation() {
    runtime_.observe({});
    runtime_.reset();
  }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  ModelRuntime& runtime_;
};

}  // namespace hiptool::reference
