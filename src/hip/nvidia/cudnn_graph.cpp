// SPDX-License-Identifier: MIT
#include "hip/nvidia/cudnn_graph.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "hip/gemm_call.hpp"
#include "hip/nvidia/cudnn.hpp"
#include "hip/nvidia/cudnn_types.hpp"

namespace hiptool::hip::nvidia {
namespace {

constexpr std::int64_t alignment_bytes = 16;
enum : std::int64_t { x_id = 1, filter_id = 2, y_id = 3 };

CudnnDescriptor describe_tensor(const CudnnBackendCalls& calls, const ConvCall& call,
                                std::int64_t id, const std::array<std::int64_t, 4>& dims) {
  CudnnDescriptor tensor(calls, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(call.type));
  tensor.set_numbers(CUDNN_ATTR_TENSOR_DIMENSIONS, {dims.begin(), dims.end()});
  tensor.set_numbers(CUDNN_ATTR_TENSOR_STRIDES,
                     {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1});
  tensor.set_numbers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id});
  tensor.set_numbers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {alignment_bytes});
  tensor.finish();
  return tensor;
}

/// The graph of one convolution.
CudnnDescriptor describe_graph(const CudnnBackendCalls& calls, void* handle, const ConvCall& call) {
  const CudnnDescriptor x = describe_tensor(calls, call, x_id, {call.n, call.c, call.h, call.w});
  const CudnnDescriptor filter =
      describe_tensor(calls, call, filter_id, {call.k, call.c / call.groups, call.r, call.s});
  const CudnnDescriptor y =
      describe_tensor(calls, call, y_id, {call.n, call.k, call.out_height(), call.out_width()});
  CudnnDescriptor conv(calls, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_compute_type(call.type));
  const int mode = CUDNN_CROSS_CORRELATION;
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, mode);
  conv.set_numbers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  conv.set_numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {call.pad_h, call.pad_w});
  conv.set_numbers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {call.pad_h, call.pad_w});
  conv.set_numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {call.stride_h, call.stride_w});
  conv.set_numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {call.dilation_h, call.dilation_w});
  conv.finish();
  CudnnDescriptor operation(calls, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  operation.refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter);
  operation.refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  operation.refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
  // In the type of the sums: cuDNN 9.19 accepts others, and an engine over cuBLASLt then computes
  // zeros.
  const int scalar = call.type == BlasType::f64 ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  operation.set_all(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, scalar, 1,
                    GemmScalar(1, call.compute).pointer());
  operation.set_all(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, scalar, 1,
                    GemmScalar(0, call.compute).pointer());
  operation.finish();
  CudnnDescriptor graph(calls, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  return graph;
}

/// Engines with their settings, the fastest by the library's estimate first.
std::vector<CudnnDescriptor> list_configs(const CudnnBackendCalls& calls,
                                          const CudnnDescriptor& graph, int mode) {
  constexpr std::size_t most_configs = 256;
  CudnnDescriptor heuristics(calls, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (heuristics.finish() != CUDNN_STATUS_SUCCESS) return {};
  const auto read = [&](std::size_t most, void** filled) {
    const auto count =
        heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, filled);
    return count.value_or(0);
  };
  // The library fills descriptors that its caller made.
  std::vector<CudnnDescriptor> configs;
  std::vector<void*> natives;
  const std::size_t count = std::min(read(0, nullptr), most_configs);
  for (std::size_t i = 0; i < count; ++i) {
    natives.push_back(configs.emplace_back(calls, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).native());
    if (natives.back() == nullptr) return {};
  }
  // It may return fewer than it counts.
  const std::size_t returned = count == 0 ? 0 : std::min(read(count, natives.data()), count);
  configs.erase(configs.begin() + static_cast<std::ptrdiff_t>(returned), configs.end());
  return configs;
}

bool allows(const ConvCall& call, int note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // TF32, if the tensors are of f32
      return call.type != BlasType::f32 || call.compute == BlasCompute::f32_fast_tf32;
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:  // transforms halves in halves
      return !is_half(call.type);
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: return true;
    default: return false;  // unknown ones too
  }
}

/// Whether an engine computes as the call asks for.
bool is_exact_enough(const CudnnBackendCalls& calls, const CudnnDescriptor& config,
                     const ConvCall& call) {
  const CudnnDescriptor engine(calls, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  void* native = engine.native();
  if (native == nullptr ||
      config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &native) != 1) {
    return false;
  }
  std::array<int, 32> notes{};
  const auto count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                notes.size(), notes.data());
  return count && *count <= notes.size() &&
         std::all_of(notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(*count),
                     [&](int note) { return allows(call, note); });
}

/// Adds the plan of an engine that can compute the call.
void add_plan(const CudnnBackendCalls& calls, void* handle, const ConvCall& call,
              CudnnDescriptor config, std::vector<CudnnGraphPlan>& plans) {
  if (!is_exact_enough(calls, config, call)) return;
  CudnnDescriptor plan(calls, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (plan.finish() != CUDNN_STATUS_SUCCESS) return;
  std::int64_t bytes = -1;
  plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  if (bytes < 0 || static_cast<std::size_t>(bytes) > call.workspace_bytes) return;
  plans.push_back({std::move(config), std::move(plan), static_cast<std::size_t>(bytes)});
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnBackendCalls& calls, int type)
    : calls_(&calls), status_(calls.cudnnBackendCreateDescriptor(type, &native_)) {
  if (status_ != CUDNN_STATUS_SUCCESS) native_ = nullptr;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (native_ != nullptr) calls_->cudnnBackendDestroyDescriptor(native_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : calls_(other.calls_),
      native_(std::exchange(other.native_, nullptr)),
      status_(other.status_) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(native_, other.native_);
  std::swap(status_, other.status_);
  return *this;
}

void CudnnDescriptor::set_all(int name, int type, std::size_t count, const void* elements) {
  if (status_ != CUDNN_STATUS_SUCCESS) return;
  status_ = calls_->cudnnBackendSetAttribute(native_, name, type, static_cast<std::int64_t>(count),
                                             elements);
}

void CudnnDescriptor::set_numbers(int name, const std::vector<std::int64_t>& numbers) {
  set_all(name, CUDNN_TYPE_INT64, numbers.size(), numbers.data());
}

void CudnnDescriptor::refer(int name, const CudnnDescriptor& other) {
  if (status_ == CUDNN_STATUS_SUCCESS) status_ = other.status_;
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.native_);
}

int CudnnDescriptor::finish() {
  if (status_ == CUDNN_STATUS_SUCCESS) status_ = calls_->cudnnBackendFinalize(native_);
  return status_;
}

std::optional<std::size_t> CudnnDescriptor::get(int name, int type, std::size_t most,
                                                void* elements) const {
  std::int64_t count = 0;
  const int status = calls_->cudnnBackendGetAttribute(
      native_, name, type, static_cast<std::int64_t>(most), &count, elements);
  if (status != CUDNN_STATUS_SUCCESS || count < 0) return std::nullopt;
  return static_cast<std::size_t>(count);
}

std::vector<CudnnGraphPlan> list_graph_plans(const CudnnBackendCalls& calls, void* handle,
                                             const ConvCall& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds longest{15};  // some engines are compiled, for a second each
  const auto end = Clock::now() + longest;
  CudnnDescriptor graph = describe_graph(calls, handle, call);
  if (graph.finish() != CUDNN_STATUS_SUCCESS) return {};
  std::vector<CudnnGraphPlan> plans;
  const auto add_by = [&](int mode) {
    std::vector<CudnnDescriptor> configs = list_configs(calls, graph, mode);
    for (CudnnDescriptor& config : configs) {
      if (!plans.empty() && (!call.measures || Clock::now() > end)) break;
      add_plan(calls, handle, call, std::move(config), plans);
    }
    return !configs.empty();
  };
  // Mode A is of cuDNN 8.3; the first one is what 8.0 has for it.
  if (!add_by(CUDNN_HEUR_MODE_A)) add_by(CUDNN_HEUR_MODE_INSTANT);
  add_by(CUDNN_HEUR_MODE_FALLBACK);
  return plans;
}

bool is_aligned(const ConvCall& call) {
  const std::array<const void*, 3> tensors{call.x, call.filter, call.y};
  return std::ranges::all_of(tensors, [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment_bytes == 0;
  });
}

int execute_graph_plan(const CudnnBackendCalls& calls, void* handle, const CudnnGraphPlan& plan,
                       const ConvCall& call) {
  CudnnDescriptor pack(calls, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const std::array<const void*, 3> tensors{call.x, call.filter, call.y};
  pack.set_numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {x_id, filter_id, y_id});
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors.size(),
               tensors.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, call.workspace);
  const int status = pack.finish();
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return calls.cudnnBackendExecute(handle, plan.plan.native(), pack.native());
}

}  // namespace hiptool::hip::nvidia
