// SPDX-License-Identifier: MIT
/// cuDNN by its graph interface, and by its older one where that cannot compute.
#include "hip/dnn.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hip/conv_call.hpp"
#include "hip/gemm_call.hpp"
#include "hip/keep_forever.hpp"
#include "hip/nvidia/conv_timer.hpp"
#include "hip/nvidia/cublas.hpp"
#include "hip/nvidia/cudnn.hpp"
#include "hip/nvidia/cudnn_graph.hpp"
#include "hip/nvidia/cudnn_legacy.hpp"
#include "hip/nvidia/cudnn_pool.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {
namespace {

/// What computes one convolution.
struct CudnnPlan {
  std::optional<CudnnGraphPlan> graph;
  std::unique_ptr<CudnnLegacyPlan> legacy;  // without a plan of the graph interface, or after it
  std::size_t workspace_bytes = 0;
};

using CudnnHandle = ConvHandle<CudnnPlan>;

class CudnnApi final : public DnnApi {
 public:
  /// `graph_calls` are null in a library without the graph interface.
  CudnnApi(const CudnnCalls& calls, const CudnnBackendCalls* graph_calls)
      : calls_(calls), graph_calls_(graph_calls) {}

  int open(void*& handle) const override {
    handle = nullptr;
    auto opened = std::make_unique<CudnnHandle>();
    const int status = calls_.cudnnCreate(&opened->native);
    if (status == CUDNN_STATUS_SUCCESS) handle = opened.release();
    return status;
  }

  int plan(void* handle, const ConvCall& call, std::size_t& workspace_bytes) const override {
    workspace_bytes = 0;
    if (const int refusal = check_conv(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    CudnnPlan* found = nullptr;
    const int status = find_plan(*static_cast<CudnnHandle*>(handle), call, found);
    if (status == 0) workspace_bytes = found->workspace_bytes;
    return status;
  }

  int convolve(void* handle, const ConvCall& call) const override {
    if (const int refusal = check_conv(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    auto& opened = *static_cast<CudnnHandle*>(handle);
    CudnnPlan* found = nullptr;
    int status = find_plan(opened, call, found);
    if (status != 0) return status;
    if (found->workspace_bytes > 0 && call.workspace == nullptr) return blas_invalid_call;
    if (status = use_stream(opened, call.stream); status != 0) return status;
    if (found->graph && is_aligned(call)) {
      status = execute_graph_plan(*graph_calls_, opened.native, *found->graph, call);
      if (status == CUDNN_STATUS_SUCCESS) return status;
      found->graph.reset();
    }
    if (!found->legacy) {  // the caller has allocated what the first choice needs
      ConvCall bounded = call;
      bounded.workspace_bytes = found->workspace_bytes;
      bounded.measures = false;
      status = make_legacy(opened.native, bounded, found->legacy);
      if (status != 0) return status;
    }
    return found->legacy->execute(opened.native, call);
  }

  int pool(void* handle, const PoolCall& call) const override {
    if (const int refusal = check_pool(call); refusal != 0) return refusal;
    auto& opened = *static_cast<CudnnHandle*>(handle);
    const int status = use_stream(opened, call.stream);
    return status == CUDNN_STATUS_SUCCESS ? pool_by_cudnn(calls_, opened.native, call) : status;
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, "cuDNN");
    const char* name = calls_.cudnnGetErrorString(result);
    std::string text = std::string(name != nullptr ? name : "unknown status") + " (" +
                       std::to_string(result) + ")";
    // 1 is the number of cuDNN 8.
    if (result == CUDNN_STATUS_NOT_INITIALIZED || result == CUDNN_8_STATUS_NOT_INITIALIZED) {
      text += ": no usable NVIDIA driver or GPU, or a part of cuDNN is missing";
    }
    return text;
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<CudnnHandle> opened(static_cast<CudnnHandle*>(handle));
    if (!opened) return;
    opened->plans.clear();
    calls_.cudnnDestroy(opened->native);
  }

 private:
  int use_stream(CudnnHandle& opened, hipStream_t stream) const {
    if (opened.has_stream && opened.stream == stream) return CUDNN_STATUS_SUCCESS;
    const int status = calls_.cudnnSetStream(opened.native, stream);
    opened.has_stream = status == CUDNN_STATUS_SUCCESS;
    opened.stream = stream;
    return status;
  }

  int make_legacy(void* native, const ConvCall& call,
                  std::unique_ptr<CudnnLegacyPlan>& made) const {
    auto plan = std::make_unique<CudnnLegacyPlan>(calls_);
    const int status = plan->make(native, call);
    if (status == 0) made = std::move(plan);
    return status;
  }

  int find_plan(CudnnHandle& opened, const ConvCall& call, CudnnPlan*& plan) const {
    const ConvKey key = key_of(call);
    if (const auto found = opened.plans.find(key); found != opened.plans.end()) {
      plan = found->second.get();
      return 0;
    }
    auto made = std::make_unique<CudnnPlan>();
    const int status = choose(opened, call, *made);
    if (status == 0) plan = &opened.keep(key, std::move(made));
    return status;
  }

  int choose(CudnnHandle& opened, const ConvCall& call, CudnnPlan& plan) const {
    std::vector<CudnnGraphPlan> graphs;
    if (graph_calls_ != nullptr) graphs = list_graph_plans(*graph_calls_, opened.native, call);
    int status = 0;
    if (graphs.empty() || call.measures) status = make_legacy(opened.native, call, plan.legacy);
    if (graphs.empty()) {
      if (status == 0) plan.workspace_bytes = plan.legacy->workspace_bytes();
      return status;
    }
    std::optional<std::size_t> fastest = 0;
    if (call.measures) fastest = find_fastest(opened, call, graphs, plan.legacy.get());
    if (fastest) {
      plan.legacy.reset();
      plan.graph = std::move(graphs[*fastest]);
      plan.workspace_bytes = plan.graph->workspace_bytes;
    } else {
      plan.workspace_bytes = plan.legacy->workspace_bytes();
    }
    return 0;
  }

  /// The fastest of the plans, the first one if they cannot be measured; none if `legacy` is
  /// faster.
  std::optional<std::size_t> find_fastest(CudnnHandle& opened, const ConvCall& call,
                                          const std::vector<CudnnGraphPlan>& graphs,
                                          const CudnnLegacyPlan* legacy) const {
    std::size_t workspace_bytes = legacy != nullptr ? legacy->workspace_bytes() : 0;
    for (const CudnnGraphPlan& one : graphs) {
      workspace_bytes = std::max(workspace_bytes, one.workspace_bytes);
    }
    ConvTimer timer(call, workspace_bytes);
    const hipStream_t before = opened.has_stream ? opened.stream : nullptr;
    if (!timer.is_ready() || use_stream(opened, timer.call().stream) != 0) return 0;
    std::optional<std::size_t> found = 0;
    double fastest_s = std::numeric_limits<double>::infinity();
    constexpr std::chrono::seconds longest{20};  // some plans take a second for large shapes
    const auto end = std::chrono::steady_clock::now() + longest;
    const auto compare = [&](std::optional<std::size_t> which, const std::function<int()>& queue) {
      if (std::chrono::steady_clock::now() > end) return;
      const std::optional<double> time_s = timer.time(queue);
      if (!time_s || *time_s >= fastest_s) return;
      fastest_s = *time_s;
      found = which;
    };
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      compare(i, [&] {
        return execute_graph_plan(*graph_calls_, opened.native, graphs[i], timer.call());
      });
    }
    if (legacy != nullptr) {
      compare(std::nullopt, [&] { return legacy->execute(opened.native, timer.call()); });
    }
    use_stream(opened, before);  // the timer's ends with it
    return found;
  }

  const CudnnCalls& calls_;
  const CudnnBackendCalls* graph_calls_;
};

/// "9.19.0" of 91900, "8.9.7" of 8907.
std::string format_cudnn_version(std::size_t version) {
  const std::size_t base = version >= 90000 ? 10000 : 1000;
  return std::to_string(version / base) + "." + std::to_string(version % base / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

DnnLibrary open_cudnn() {
  DnnLibrary library;
  library.name = "cuDNN";
  auto calls = std::make_unique<CudnnCalls>();
  auto graph_calls = std::make_unique<CudnnBackendCalls>();
  CudaFolders folders = list_cuda_folders();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libcudnn.so";
  search.majors = {9, 8};
  search.folders = std::move(folders.before);
  search.later_folders = std::move(folders.after);
  search.advice = "install it from NVIDIA's packages or as the wheel nvidia-cudnn";
  bool has_graphs = false;
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(opened, *calls);
    if (!refusal.empty()) return refusal;
    has_graphs = load_calls(opened, *graph_calls).empty();
    library.version = format_cudnn_version(calls->cudnnGetVersion());
    return refuse_version(library.version, {8, 9});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) {
    library.api = &keep_forever(
        std::make_unique<CudnnApi>(keep_forever(std::move(calls)),
                                   has_graphs ? &keep_forever(std::move(graph_calls)) : nullptr));
  }
  return library;
}

}  // namespace hiptool::hip::nvidia
