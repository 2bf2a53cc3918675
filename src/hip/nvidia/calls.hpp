// SPDX-License-Identifier: MIT
/// The HIP table of the nvidia platform, filled by concern.
#pragma once
#include "hip/api.hpp"
#include "hip/nvidia/contexts.hpp"
#include "hip/nvidia/errors.hpp"

namespace hiptool::hip::nvidia {

void fill_devices(Api& api);
void fill_memory(Api& api);
void fill_copies(Api& api);
void fill_streams(Api& api);
void fill_modules(Api& api);
void fill_graphs(Api& api);

/// Runs a driver call if the entry before it (enter_device and its kind) succeeded.
template <class Call>
hipError_t call_after(hipError_t entered, Call&& call) noexcept {
  return entered == hipSuccess ? translate(call()) : entered;
}

}  // namespace hiptool::hip::nvidia
