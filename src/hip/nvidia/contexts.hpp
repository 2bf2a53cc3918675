// SPDX-License-Identifier: MIT
/// HIP has a current device for each thread, CUDA a current context. This keeps the device and
/// makes the device's primary context current where a call needs one. Retaining a primary context
/// takes about 100 ms and 0.5 GB on the card, so it happens at the first call that needs it, not
/// when a device is chosen, and contexts are never released: the process' end does that.
#pragma once
#include <cstdint>

#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

/// Replaces the list of devices by the driver's; only while a platform is bound.
CUresult list_devices();

/// Number of devices; 0 before list_devices or when it failed.
int device_count() noexcept;

/// Device of an ordinal; hipErrorInvalidDevice outside of the list, hipErrorNoDevice if it is
/// empty.
hipError_t find_device(int ordinal, CUdevice& device) noexcept;

/// The calling thread's device; every thread starts on 0.
int current_ordinal() noexcept;
hipError_t set_current_ordinal(int ordinal) noexcept;

/// The device's primary context, retained at the first call.
hipError_t find_context(int ordinal, CUcontext& context) noexcept;

/// Makes the context of the thread's device current.
hipError_t enter_device() noexcept;

/// For calls that work alike under every context (releases, queries of a pointer): the context
/// of the thread's device if it exists, else any that does, so that a helper thread which never
/// chose a device does not take up memory on device 0.
hipError_t enter_any_device() noexcept;

/// For calls that enqueue work: the context of the stream; for the null stream, which belongs to
/// the current context, which belongs to the thread's device.
hipError_t enter_stream(CUstream stream) noexcept;

/// For calls that only query a stream: a real handle needs no context (measured on driver 580).
hipError_t enter_null_stream(CUstream stream) noexcept;

/// The pseudo handles null, legacy (1) and per-thread (2).
inline bool is_pseudo_stream(CUstream stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

}  // namespace hiptool::hip::nvidia
