// SPDX-License-Identifier: MIT
/// How each call of the stand-in for libamdhip64 enters and leaves.
#pragma once
#include "fakes/common/inner.hpp"
#include "fakes/hip/variant.hpp"

namespace hiptool::fake {

using namespace hip;  // HIP's names, which these files are all about

inline bool is_before_7() { return variant.major < 7; }

/// How many devices the process sees: FAKE_HIP_DEVICES (2), read again by hipInit and
/// hipGetDeviceCount only.
int device_count();
void count_devices();

/// What calls answer where there is no device; hipErrorInvalidDevice for an ordinal that is none.
hipError_t enter();
hipError_t enter_device(int ordinal);

/// A stream that does not exist is an error before 7.0 and ends the process since then, as the
/// runtime's segmentation fault does.
hipError_t enter_stream(hipStream_t stream);
void add_stream(hipStream_t stream);
void remove_stream(hipStream_t stream);

template <class... Parameters, class... Arguments>
hipError_t forward_after(hipError_t entered, hipError_t (*Api::*call)(Parameters...),
                         Arguments... arguments) {
  return entered == hipSuccess ? (inner().*call)(arguments...) : entered;
}

template <class... Parameters, class... Arguments>
hipError_t forward(hipError_t (*Api::*call)(Parameters...), Arguments... arguments) {
  return forward_after(enter(), call, arguments...);
}

}  // namespace hiptool::fake
