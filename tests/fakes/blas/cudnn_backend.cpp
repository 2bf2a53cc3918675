// SPDX-License-Identifier: MIT
/// The graph interface of the fake cuDNN: graphs of one convolution. It refuses attributes of
/// another type or count, those that are set after a descriptor is finalised or missing when it is,
/// descriptors that are used before, and pointers that are not aligned.
///
/// FAKE_CUDNN_GRAPH is one of these words:
/// no-plans       the heuristics propose nothing
/// plans-fail     no execution plan can be made
/// execute-fails  every execution answers an error
/// slow           executions take longer than those of the older interface
/// few-modes      only the modes of cuDNN 8.0: instant and fallback
#include "hip/nvidia/cudnn_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "fakes/blas/cudnn_state.hpp"
#include "fakes/common/settings.hpp"

using namespace hiptool::hip::nvidia;  // the vendor's names, which this file is all about

namespace {

using hiptool::fake::cudnn_bad_param;
using hiptool::fake::cudnn_execution_failed;
using hiptool::fake::cudnn_not_supported;
using hiptool::fake::has_halves;
using hiptool::hip::BlasCompute;
using hiptool::hip::BlasType;
using hiptool::hip::ConvCall;

constexpr int not_finalized = 2004;
constexpr int wrong_attribute_type = 2010;

/// An engine that the heuristics propose.
struct FakeEngine {
  int index;
  bool is_for_halves;  // it is proposed for these only
  std::vector<int> notes;
  std::int64_t workspace_bytes;
  int delay_ms;
  bool can_be_planned = true;
  bool can_execute = true;
};

/// In the order of the estimate. Those that sum less exactly are the fastest.
const std::vector<FakeEngine>& fake_engines() {
  static const auto& engines = *new std::vector<FakeEngine>{
      {1, false, {}, 0, 0, false},
      {2, false, {}, std::int64_t{1} << 40, 0},
      {3, false, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, 0, 0},
      {4, false, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 0, 0},
      {5, false, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0, 0},
      {6, false, {42}, 0, 0},
      {7, true, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6}, 0, 0},
      {8, false, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 2048, 30},
      {9, false, {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, 4096, 30},
      {10, false, {}, 0, 0},
      {11, false, {}, 0, 0, true, false},
  };
  return engines;
}
constexpr int fallback_engine = 10;

struct Attribute {
  int type = 0;
  std::int64_t count = 0;
  std::vector<char> bytes;
};

struct Descriptor {
  int type = 0;
  bool is_final = false;
  std::map<int, Attribute> attributes;
  std::map<int, std::shared_ptr<Descriptor>> references;
  const FakeEngine* engine = nullptr;  // of an engine, a configuration and a plan
  std::shared_ptr<Descriptor> graph;   // of these and of heuristics
};
using Shared = std::shared_ptr<Descriptor>;

/// The caller's handle; what refers to the descriptor keeps it as the real library does.
Shared& shared_of(void* desc) { return *static_cast<Shared*>(desc); }

/// An attribute that may be set, and must be before the descriptor is finalised.
struct Rule {
  int descriptor;
  int name;
  int type;
  std::int64_t count;
  int referred = -1;  // the type of the descriptor that it refers to
};

constexpr int tensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr int conv = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr int operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr int graph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr int heuristics = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr int config = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr int plan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr int pack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
constexpr int refers = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr int scalar = -1;  // a float or a double

constexpr Rule rules[] = {
    {tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4},
    {tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4},
    {tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1},
    {tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1},
    {conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1},
    {conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1},
    {conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2},
    {conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2},
    {conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2},
    {conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, refers, 1, tensor},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, refers, 1, tensor},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, refers, 1, tensor},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, refers, 1, conv},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, scalar, 1},
    {operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, scalar, 1},
    {graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1},
    {graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, refers, 1, operation},
    {heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, refers, 1, graph},
    {heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1},
    {plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1},
    {plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, refers, 1, config},
    {pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3},
    {pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3},
    {pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1},
};

bool is_type_of(const Rule& rule, int type) {
  if (rule.type == scalar) return type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE;
  return rule.type == type;
}

std::size_t size_of_element(int type) {
  const bool is_number = type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DATA_TYPE ||
                         type == CUDNN_TYPE_CONVOLUTION_MODE || type == CUDNN_TYPE_HEUR_MODE;
  return is_number ? sizeof(int) : 8;
}

bool is_word(const char* word) { return hiptool::fake::text_from("FAKE_CUDNN_GRAPH", "") == word; }

template <class Number>
std::vector<Number> numbers(const Shared& desc, int name) {
  const Attribute& attribute = desc->attributes.at(name);
  std::vector<Number> all(attribute.bytes.size() / sizeof(Number));
  std::memcpy(all.data(), attribute.bytes.data(), attribute.bytes.size());
  return all;
}

template <class Number>
Number number(const Shared& desc, int name) {
  return numbers<Number>(desc, name).at(0);
}

Shared operation_of(const Shared& desc) {
  return desc->graph->references.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

bool is_packed(const Shared& desc) {
  const auto dims = numbers<std::int64_t>(desc, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = numbers<std::int64_t>(desc, CUDNN_ATTR_TENSOR_STRIDES);
  return strides ==
         std::vector<std::int64_t>{dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

/// The operation of a graph as our loops compute it; pointers are not set.
ConvCall call_of(const Shared& op) {
  const Shared& x = op->references.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  const Shared& w = op->references.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  const Shared& desc = op->references.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  const auto in = numbers<std::int64_t>(x, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto filter = numbers<std::int64_t>(w, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto pads = numbers<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto strides = numbers<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto dilations = numbers<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  ConvCall call;
  call.type = hiptool::fake::blas_type_of_cudnn(number<int>(x, CUDNN_ATTR_TENSOR_DATA_TYPE));
  call.n = in[0];
  call.c = in[1];
  call.h = in[2];
  call.w = in[3];
  call.k = filter[0];
  call.r = filter[2];
  call.s = filter[3];
  call.groups = in[1] / filter[1];
  call.pad_h = pads[0];
  call.pad_w = pads[1];
  call.stride_h = strides[0];
  call.stride_w = strides[1];
  call.dilation_h = dilations[0];
  call.dilation_w = dilations[1];
  return call;
}

/// Whether a factor has that value, in the type of the sums.
bool is_factor(const Shared& op, int name, int sums, double value) {
  if (op->attributes.at(name).type == CUDNN_TYPE_DOUBLE) {
    return sums == CUDNN_DATA_DOUBLE && number<double>(op, name) == value;
  }
  return sums == CUDNN_DATA_FLOAT && number<float>(op, name) == static_cast<float>(value);
}

/// Whether the parts of an operation belong together.
bool is_operation(const Shared& op) {
  const ConvCall call = call_of(op);
  const Shared& desc = op->references.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  const Shared& y = op->references.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  const auto out = numbers<std::int64_t>(y, CUDNN_ATTR_TENSOR_DIMENSIONS);
  const int sums = call.type == BlasType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return out == std::vector<std::int64_t>{call.n, call.k, call.out_height(), call.out_width()} &&
         numbers<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) ==
             numbers<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) &&
         number<std::int64_t>(desc, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2 &&
         number<int>(desc, CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION &&
         number<int>(desc, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == sums &&
         is_factor(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, sums, 1) &&
         is_factor(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, sums, 0);
}

bool is_known_mode(int mode) {
  if (mode == CUDNN_HEUR_MODE_INSTANT || mode == CUDNN_HEUR_MODE_FALLBACK) return true;
  return mode == CUDNN_HEUR_MODE_A && !is_word("few-modes");
}

/// The engines that heuristics propose.
std::vector<const FakeEngine*> proposed(const Shared& desc) {
  std::vector<const FakeEngine*> found;
  if (is_word("no-plans")) return found;
  const bool is_fallback =
      number<int>(desc, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
  const bool is_of_halves = has_halves(call_of(operation_of(desc)).type);
  for (const FakeEngine& engine : fake_engines()) {
    if (is_fallback ? engine.index == fallback_engine : is_of_halves || !engine.is_for_halves) {
      found.push_back(&engine);
    }
  }
  return found;
}

int finalize_checked(const Shared& desc) {
  switch (desc->type) {
    case tensor: return is_packed(desc) ? CUDNN_STATUS_SUCCESS : cudnn_not_supported;
    case operation: return is_operation(desc) ? CUDNN_STATUS_SUCCESS : cudnn_bad_param;
    case heuristics:
      desc->graph = desc->references.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      return is_known_mode(number<int>(desc, CUDNN_ATTR_ENGINEHEUR_MODE)) ? CUDNN_STATUS_SUCCESS
                                                                          : cudnn_not_supported;
    case plan: {
      const Shared& from = desc->references.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      desc->engine = from->engine;
      desc->graph = from->graph;
      const bool is_possible = desc->engine->can_be_planned && !is_word("plans-fail");
      return is_possible ? CUDNN_STATUS_SUCCESS : cudnn_not_supported;
    }
    default: return CUDNN_STATUS_SUCCESS;
  }
}

/// Fills the caller's empty descriptors, one fewer than were counted, as the real library may.
int read_results(const Shared& desc, std::int64_t requested, std::int64_t* count, void** out) {
  const auto engines = proposed(desc);
  const auto known = static_cast<std::int64_t>(engines.size());
  if (requested == 0) {
    *count = known == 0 ? 0 : known + 1;
    return CUDNN_STATUS_SUCCESS;
  }
  *count = std::min(known, requested);
  for (std::int64_t i = 0; i < *count; ++i) {
    const Shared& filled = shared_of(out[i]);
    if (filled->type != config || filled->is_final) return cudnn_bad_param;
    filled->is_final = true;
    filled->engine = engines[static_cast<std::size_t>(i)];
    filled->graph = desc->graph;
  }
  return CUDNN_STATUS_SUCCESS;
}

int read_engine(const Shared& desc, void** out) {
  const Shared& filled = shared_of(*out);
  if (filled->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR || filled->is_final) return cudnn_bad_param;
  filled->is_final = true;
  filled->engine = desc->engine;
  return CUDNN_STATUS_SUCCESS;
}

/// Computes as inexactly as the engine's notes say.
void compute(const FakeEngine& engine, const ConvCall& asked) {
  ConvCall call = asked;
  const auto has = [&](int note) {
    return std::find(engine.notes.begin(), engine.notes.end(), note) != engine.notes.end();
  };
  const bool is_coarse = has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
                         has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ||
                         (has(CUDNN_NUMERICAL_NOTE_WINOGRAD) && has_halves(call.type));
  const bool is_tf32 = has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && call.type == BlasType::f32;
  call.compute = is_coarse                    ? BlasCompute::f16
                 : is_tf32                    ? BlasCompute::f32_fast_tf32
                 : call.type == BlasType::f64 ? BlasCompute::f64
                                              : BlasCompute::f32;
  const int delay_ms = engine.delay_ms + (is_word("slow") ? 60 : 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  fake_cudnn_engine = engine.index;
  hiptool::fake::convolve(call, hiptool::fake::cudnn_state().faults);
}

}  // namespace

extern "C" {

int cudnnBackendCreateDescriptor(int type, void** desc) {
  const bool is_known = type == CUDNN_BACKEND_ENGINE_DESCRIPTOR || type == config ||
                        std::any_of(std::begin(rules), std::end(rules),
                                    [&](const Rule& rule) { return rule.descriptor == type; });
  if (!is_known) return cudnn_not_supported;
  auto made = std::make_shared<Descriptor>();
  made->type = type;
  *desc = new Shared(std::move(made));
  ++fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}

int cudnnBackendDestroyDescriptor(void* desc) {
  delete static_cast<Shared*>(desc);
  --fake_cudnn_objects;
  return CUDNN_STATUS_SUCCESS;
}

int cudnnBackendSetAttribute(void* desc, int name, int type, std::int64_t count,
                             const void* elements) {
  const Shared& to = shared_of(desc);
  const auto rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& one) {
    return one.descriptor == to->type && one.name == name;
  });
  if (rule == std::end(rules) || to->is_final || elements == nullptr) return cudnn_bad_param;
  if (!is_type_of(*rule, type)) return wrong_attribute_type;
  if (rule->count != count) return cudnn_bad_param;
  if (rule->referred >= 0) {
    void* native = *static_cast<void* const*>(elements);
    if (native == nullptr || shared_of(native)->type != rule->referred) return cudnn_bad_param;
    if (!shared_of(native)->is_final) return not_finalized;
    to->references[name] = shared_of(native);
  }
  const auto* bytes = static_cast<const char*>(elements);
  const std::size_t size = static_cast<std::size_t>(count) * size_of_element(type);
  to->attributes[name] = {type, count, {bytes, bytes + size}};
  return CUDNN_STATUS_SUCCESS;
}

int cudnnBackendFinalize(void* desc) {
  const Shared& one = shared_of(desc);
  const bool is_complete = std::all_of(std::begin(rules), std::end(rules), [&](const Rule& rule) {
    return rule.descriptor != one->type || one->attributes.count(rule.name) != 0;
  });
  if (!is_complete || one->is_final) return cudnn_bad_param;
  const int status = finalize_checked(one);
  one->is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

int cudnnBackendGetAttribute(void* desc, int name, int type, std::int64_t requested,
                             std::int64_t* count, void* elements) {
  const Shared& from = shared_of(desc);
  if (!from->is_final) return not_finalized;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      if (from->type != heuristics || type != refers) return wrong_attribute_type;
      return read_results(from, requested, count, static_cast<void**>(elements));
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      if (from->type != config || type != refers || requested != 1) return wrong_attribute_type;
      *count = 1;
      return read_engine(from, static_cast<void**>(elements));
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      if (type != CUDNN_TYPE_NUMERICAL_NOTE || from->engine == nullptr) return wrong_attribute_type;
      *count = static_cast<std::int64_t>(from->engine->notes.size());
      std::copy_n(from->engine->notes.begin(), std::min(*count, requested),
                  static_cast<int*>(elements));
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      if (from->type != plan || type != CUDNN_TYPE_INT64) return wrong_attribute_type;
      *count = 1;
      *static_cast<std::int64_t*>(elements) = from->engine->workspace_bytes;
      return CUDNN_STATUS_SUCCESS;
    default: return cudnn_bad_param;
  }
}

int cudnnBackendExecute(void* handle, void* plan_desc, void* pack_desc) {
  const Shared& by = shared_of(plan_desc);
  const Shared& with = shared_of(pack_desc);
  if (handle == nullptr || by->type != plan || with->type != pack) return cudnn_bad_param;
  if (!by->is_final || !with->is_final) return not_finalized;
  if (hiptool::fake::cudnn_state().faults.enter() || is_word("execute-fails") ||
      !by->engine->can_execute) {
    return cudnn_execution_failed;
  }
  const Shared op = operation_of(by);
  ConvCall call = call_of(op);
  const auto ids = numbers<std::int64_t>(with, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = numbers<void*>(with, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto find = [&](int name) -> void* {
    const Shared& of = op->references.at(name);
    const auto at =
        std::find(ids.begin(), ids.end(), number<std::int64_t>(of, CUDNN_ATTR_TENSOR_UNIQUE_ID));
    if (at == ids.end()) return nullptr;
    void* pointer = pointers[static_cast<std::size_t>(at - ids.begin())];
    const auto bytes = number<std::int64_t>(of, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    return reinterpret_cast<std::intptr_t>(pointer) % bytes == 0 ? pointer : nullptr;
  };
  call.x = find(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  call.filter = find(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  call.y = find(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  call.stream = hiptool::fake::cudnn_state().stream;
  const bool has_workspace = by->engine->workspace_bytes == 0 ||
                             number<void*>(with, CUDNN_ATTR_VARIANT_PACK_WORKSPACE) != nullptr;
  if (call.x == nullptr || call.filter == nullptr || call.y == nullptr || !has_workspace) {
    return cudnn_bad_param;
  }
  compute(*by->engine, call);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
