// SPDX-License-Identifier: MIT
/// The interface of CUDA 3, which a driver still has under the names without "_v2". It wants a
/// context of CUDA 3, which nobody has: asking for one of these names by mistake answers 201
/// (measured with cuMemAlloc).
namespace {

constexpr int invalid_context = 201;

}  // namespace

extern "C" {

int cuDeviceTotalMem() { return invalid_context; }
int cuEventDestroy() { return invalid_context; }
int cuMemAlloc() { return invalid_context; }
int cuMemFree() { return invalid_context; }
int cuMemGetInfo() { return invalid_context; }
int cuMemHostGetDevicePointer() { return invalid_context; }
int cuMemHostRegister() { return invalid_context; }
int cuMemcpy2DAsync() { return invalid_context; }
int cuStreamDestroy() { return invalid_context; }

}  // extern "C"
