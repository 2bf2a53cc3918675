// SPDX-License-Identifier: MIT
/// Convolutions by cuDNN's graph interface, which has engines that the algorithms of the older one
/// lack (cuDNN 9 documentation, "Graph API").
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hip/dnn.hpp"
#include "hip/nvidia/cudnn_backend.hpp"

namespace hiptool::hip::nvidia {

/// A descriptor of the graph interface. After a call that failed the others do nothing, and
/// finish() returns the failed one's status.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnBackendCalls& calls, int type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  template <class Element>
  void set(int name, int type, const Element& element) {
    set_all(name, type, 1, &element);
  }
  void set_numbers(int name, const std::vector<std::int64_t>& numbers);
  void refer(int name, const CudnnDescriptor& other);
  int finish();

  void set_all(int name, int type, std::size_t count, const void* elements);

  /// How many elements the attribute has, of which at most `most` were read; none if that failed.
  std::optional<std::size_t> get(int name, int type, std::size_t most, void* elements) const;

  void* native() const noexcept { return native_; }

 private:
  const CudnnBackendCalls* calls_;
  void* native_ = nullptr;
  int status_;
};

/// A convolution that can be executed by one engine.
struct CudnnGraphPlan {
  CudnnDescriptor config;
  CudnnDescriptor plan;
  std::size_t workspace_bytes;
};

/// The library's proposals for a checked call with results, in its order: the fastest by its
/// estimate first. Those that sum less exactly than the call asks for, or in an order that is not
/// fixed, are left out, as are those that need more than call.workspace_bytes or that the library
/// cannot make. Returns one if the call does not measure. May compile kernels.
std::vector<CudnnGraphPlan> list_graph_plans(const CudnnBackendCalls& calls, void* handle,
                                             const ConvCall& call);

/// Whether the call's tensors are aligned as plans expect.
bool is_aligned(const ConvCall& call);

/// Queues a plan on the handle's stream. Returns cuDNN's status.
int execute_graph_plan(const CudnnBackendCalls& calls, void* handle, const CudnnGraphPlan& plan,
                       const ConvCall& call);

}  // namespace hiptool::hip::nvidia
