// SPDX-License-Identifier: MIT
// The kernels for the processor, for the suite itself and for the fakes.
#include "kernels.hip"
