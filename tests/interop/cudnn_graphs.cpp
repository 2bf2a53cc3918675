// SPDX-License-Identifier: MIT
/// Our descriptions of convolutions, and the choice of engines, against the installed cuDNN without
/// a GPU: from 9.8 on it can plan for a device that it only has a description of. The calls are the
/// library's own, with the description in place of the handle.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/dynamic_library.hpp"
#include "hip/dnn.hpp"
#include "hip/nvidia/cudnn.hpp"
#include "hip/nvidia/cudnn_graph.hpp"
#include "hip/side_calls.hpp"

namespace {

using namespace hiptool::hip;
using namespace hiptool::hip::nvidia;

// Of cudnn_graph.h; only this test uses them.
constexpr int device_descriptor = 38;
constexpr int device_json = 2702;
constexpr int heuristics_device = 204;
constexpr int plan_device = 407;
constexpr int type_char = 24;

/// An H200, as cuDNN 9.19 writes it.
constexpr const char* h200 =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"isTccDriver":0,"supportCoopLaunch":1,"deviceVer":900,)"
    R"("driverVer":13000,"totalGlobalMem":150000000000,"cudaDeviceId":0,)"
    R"("deviceName":"NVIDIA H200"})";

CudnnBackendCalls real{};
void* device = nullptr;
std::map<void*, int> types;
int refused = 0;

int create(int type, void** desc) {
  const int status = real.cudnnBackendCreateDescriptor(type, desc);
  types[*desc] = type;
  return status;
}

int set(void* desc, int name, int type, std::int64_t count, const void* elements) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return 0;
  int status = 0;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
    status =
        real.cudnnBackendSetAttribute(desc, plan_device, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
  } else {
    status = real.cudnnBackendSetAttribute(desc, name, type, count, elements);
  }
  if (status != 0) {
    std::printf("wrong: attribute %d is refused with %d\n", name, status);
    ++refused;
  }
  return status;
}

int finalize(void* desc) {
  const int type = types[desc];
  if (type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    real.cudnnBackendSetAttribute(desc, heuristics_device, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                  &device);
  }
  const int status = real.cudnnBackendFinalize(desc);
  // Plans may fail: some engines need a driver.
  if (status != 0 && type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    std::printf("wrong: a descriptor of type %d is refused with %d\n", type, status);
    ++refused;
  }
  return status;
}

bool describe_device() {
  const std::string text = h200;
  return real.cudnnBackendCreateDescriptor(device_descriptor, &device) == 0 &&
         real.cudnnBackendSetAttribute(device, device_json, type_char,
                                       static_cast<std::int64_t>(text.size()), text.data()) == 0 &&
         real.cudnnBackendFinalize(device) == 0;
}

std::vector<ConvCall> shapes() {
  ConvCall three;
  three.n = 8;
  three.c = three.k = 64;
  three.h = three.w = 28;
  three.r = three.s = 3;
  three.pad_h = three.pad_w = 1;
  three.workspace_bytes = std::size_t{256} << 20;
  ConvCall one = three;
  one.r = one.s = 1;
  one.pad_h = one.pad_w = 0;
  ConvCall grouped = three;
  grouped.groups = 4;
  grouped.stride_h = grouped.dilation_w = 2;
  return {three, one, grouped};
}

}  // namespace

int main() {
  const DnnLibrary& library = find_dnn(DnnKind::cudnn);
  std::string error;
  const auto opened = hiptool::base::DynamicLibrary::open(library.path, error);
  if (library.api == nullptr || !opened) {
    std::printf("skipped: %s%s\n", library.reason.c_str(), error.c_str());
    return 77;
  }
  const std::string missing = load_calls(*opened, real);
  if (!missing.empty() || !describe_device()) {
    std::printf("skipped: cuDNN %s does not plan without a GPU\n", library.version.c_str());
    return 77;
  }
  CudnnBackendCalls calls = real;
  calls.cudnnBackendCreateDescriptor = create;
  calls.cudnnBackendSetAttribute = set;
  calls.cudnnBackendFinalize = finalize;
  for (ConvCall call : shapes()) {
    for (const auto& [type, compute] : {std::pair{BlasType::f32, BlasCompute::f32},
                                        {BlasType::f32, BlasCompute::f32_fast_tf32},
                                        {BlasType::f16, BlasCompute::f32},
                                        {BlasType::bf16, BlasCompute::f32},
                                        {BlasType::f64, BlasCompute::f64}}) {
      call.type = type;
      call.compute = compute;
      call.measures = true;
      const std::size_t all = list_graph_plans(calls, nullptr, call).size();
      call.measures = false;
      const std::size_t first = list_graph_plans(calls, nullptr, call).size();
      std::printf("%s in %s, %d x %d: %zu plans\n", std::string(to_string(type)).c_str(),
                  std::string(to_string(compute)).c_str(), static_cast<int>(call.r),
                  static_cast<int>(call.s), all);
      if (all == 0 || first != 1) ++refused;
    }
  }
  return refused == 0 ? 0 : 1;
}
