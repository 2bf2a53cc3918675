// SPDX-License-Identifier: MIT
// The kernels of the module cases, for AMD and for the processor; nvidia_image.hpp has the same.
#include <hip/hip_runtime.h>

extern "C" __global__ void conformance_vector_add(const float* a, const float* b, float* sum,
                                                  unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

extern "C" __global__ void conformance_append_digit(unsigned* values, unsigned digit, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 10 + digit;
}

HIPTOOL_EXPORT(conformance_vector_add);
HIPTOOL_EXPORT(conformance_append_digit);
