// SPDX-License-Identifier: MIT
// The variables that kernels read most. Where one object of a library has them at a fixed distance
// from the thread's pointer, the linker leaves out all calls that would look for their places: a
// tenth of the time of the kernels in a fake.
#include <hiptool_cpu_kernel.h>

namespace hiptool_cpu {

#define HIPTOOL_NEAR __attribute__((tls_model("initial-exec")))
extern __thread Index threadIdx HIPTOOL_NEAR;
extern __thread Index blockIdx HIPTOOL_NEAR;
extern __thread Index blockDim HIPTOOL_NEAR;
extern __thread Index gridDim HIPTOOL_NEAR;
extern __thread int warpSize HIPTOOL_NEAR;

unsigned use_near_variables() {
  return threadIdx.x + blockIdx.x + blockDim.x + gridDim.x + static_cast<unsigned>(warpSize);
}

}  // namespace hiptool_cpu
