// SPDX-License-Identifier: MIT
/// Launches a kernel with nothing to see, and then one that does what a sanitizer must see: "race"
/// or "overrun". "sound" is the first one twice.
#include <hiptool_cpu_kernel.h>

#include <cstdio>
#include <string>

#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/cpu/kernel_table.hpp"

namespace {

/// Reads its neighbour's value; `waits` says whether it waits until that is there.
template <bool waits>
__device__ void take_from_neighbour(int* values) {
  __shared__ int tile[64];
  tile[threadIdx.x] = values[threadIdx.x];
  if (waits) __syncthreads();
  values[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}

}  // namespace

extern "C" __global__ void faulty_sound(int* values) { take_from_neighbour<true>(values); }
extern "C" __global__ void faulty_race(int* values) { take_from_neighbour<false>(values); }

extern "C" __global__ void faulty_overrun(int* values) {
  __shared__ int tile[64];
  int* volatile place = tile;                    // or the compiler would see it first
  place[threadIdx.x + 1] = values[threadIdx.x];  // one too far for the last thread
  __syncthreads();
  values[threadIdx.x] = tile[threadIdx.x];
}

HIPTOOL_EXPORT(faulty_sound);
HIPTOOL_EXPORT(faulty_race);
HIPTOOL_EXPORT(faulty_overrun);

int main(int argument_count, char** arguments) {
  using namespace hiptool::hip;
  if (argument_count != 2) return 2;
  const Binding binding = bind_cpu({});
  if (binding.api == nullptr) return 2;
  const Api& api = *binding.api;
  hipModule_t module = nullptr;
  if (api.hipModuleLoadData(&module, cpu::cpu_image.data()) != hipSuccess) return 2;
  // The second one runs on the fibers of the first.
  for (const std::string name : {"sound", static_cast<const char*>(arguments[1])}) {
    hipFunction_t function = nullptr;
    if (api.hipModuleGetFunction(&function, module, ("faulty_" + name).c_str()) != hipSuccess) {
      std::fputs("no such kernel\n", stderr);
      return 2;
    }
    int values[64] = {};
    int* pointer = values;
    void* addresses[] = {&pointer};
    const hipError_t error = api.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr,
                                                       static_cast<void**>(addresses), nullptr);
    if (error != hipSuccess || api.hipDeviceSynchronize() != hipSuccess) return 2;
  }
  return api.hipModuleUnload(module) == hipSuccess ? 0 : 2;
}
