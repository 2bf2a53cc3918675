// SPDX-License-Identifier: MIT
/// Start, versions and errors. FAKE_HIP_INIT is the answer of hipInit, FAKE_HIP7_INIT that of HIP 7
/// alone, FAKE_HIP_INIT_SIGNAL the signal that it ends with, FAKE_HIP_VERSION the version where
/// another than the fake's own is wanted.
#undef NDEBUG
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "fakes/common/settings.hpp"
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

namespace {

/// The last two numbers of the list moved in the HIP of ROCm 10.
const char* name_after_the_list(int number) {
  constexpr int tbd_before_10 = 1054;
  constexpr int tbd_since_10 = 1055;
  constexpr int first_version_of_10 = 71500000;
  const bool is_since_10 = variant.version >= first_version_of_10;
  if (number == (is_since_10 ? tbd_since_10 : tbd_before_10)) return "hipErrorTbd";
  return is_since_10 && number == tbd_before_10 ? "hipErrorInvalidClusterSize" : nullptr;
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned flags) {
  // The HSA runtime takes the chip to be another one, and its code for that one fails assertions.
  assert(text_from("HSA_OVERRIDE_GFX_VERSION", "").empty() && "Unknown chip revision");
  if (const int number = number_from("FAKE_HIP_INIT_SIGNAL", 0); number != 0) {
    if (number == SIGABRT) std::abort();
    std::raise(number);
  }
  const int of_hip7 = variant.major == 7 ? number_from("FAKE_HIP7_INIT", 0) : 0;
  if (const int error = number_from("FAKE_HIP_INIT", of_hip7); error != 0) {
    return static_cast<hipError_t>(error);
  }
  count_devices();
  return forward(&Api::hipInit, flags);
}

hipError_t hipRuntimeGetVersion(int* version) {
  if (version == nullptr) return hipErrorInvalidValue;
  *version = number_from("FAKE_HIP_VERSION", variant.version);
  return hipSuccess;
}

hipError_t hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

const char* hipGetErrorName(hipError_t error) {
  const char* const name = name_after_the_list(error);
  return name != nullptr ? name : inner().hipGetErrorName(error);
}

/// 5.2 has no sentences yet.
const char* hipGetErrorString(hipError_t error) {
  const bool has_sentence = variant.major > 5 && name_after_the_list(error) == nullptr;
  return has_sentence ? inner().hipGetErrorString(error) : hipGetErrorName(error);
}

}  // extern "C"
