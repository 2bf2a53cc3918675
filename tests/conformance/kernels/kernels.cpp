// SPDX-License-Identifier: MIT
// The kernels for the processor, for the suite itself and for the stand-ins.
#include "kernels.hip"
