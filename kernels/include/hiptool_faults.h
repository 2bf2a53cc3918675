// SPDX-License-Identifier: MIT
// How kernels record the first wrong index or divisor for the host.
#pragma once
#include "hiptool_device.h"
#include "hiptool_moves.h"

namespace hiptool_ops {

// The least position of the earliest operation stays, whatever the order of threads is. Operations
// of a stream follow each other, so a later one never comes before an earlier one.
inline __device__ void record_fault(FaultRecord* faults, uint64_t owner, uint64_t position,
                                    uint64_t value) {
  if (atomicMin(&faults->owner, owner) < owner) return;
#pragma unroll
  for (unsigned k = 0; k < 3; ++k) {
    const uint64_t piece = value >> (24 * k) & 0xFFFFFFU;
    atomicMin(&faults->pieces[k], position << 24 | piece);
  }
}

}  // namespace hiptool_ops
