// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// Work that is recorded once and queued by one call as often as it is needed: for many short
/// kernels, each of which takes longer to launch than to run. What differs from one time to the
/// next is read from device memory, because a graph keeps the arguments of its recording.
///
/// Owning and move-only; a failing destroy goes to the trace. A moved-from Graph may be destroyed
/// and assigned to; other uses throw Error(invalid_argument).
class HIPTOOL_API Graph {
 public:
  /// Calls the function with a stream that records what is queued on it in place of doing it:
  /// launches of kernels, copies between memory that is not pageable, fills and host functions. It
  /// is there for the call only. The name is for errors.
  ///
  /// Throws Error(invalid_argument) for an empty function; what the function throws;
  /// Error(unsupported), before the function is called, where the runtime records nothing;
  /// Error(device) naming the call for one that cannot be recorded, such as a wait for the stream
  /// or an allocation by the runtime; which of them fail differs among runtimes. Does not block.
  Graph(const Device& device, std::string name,
        const std::function<void(const StreamRef& stream)>& queue_work);

  /// Queues the work on a stream of the same device, else throws Error(invalid_argument). Until it
  /// is done the Graph must live, and the memory and modules that it was recorded with.
  /// Does not block.
  void launch(const StreamRef& stream) const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Device& device() const noexcept { return executable_.get_deleter().device; }
  /// hipGraphExec_t or CUgraphExec.
  [[nodiscard]] void* native_handle() const noexcept { return executable_.get(); }

 private:
  struct Destroy {
    Device device;
    HIPTOOL_API void operator()(void* executable) const noexcept;
  };

  std::string name_;
  std::unique_ptr<void, Destroy> executable_;
};

}  // namespace hiptool
