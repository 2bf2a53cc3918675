// SPDX-License-Identifier: MIT
/// Start, versions and errors. FAKE_HIP_INIT is the answer of hipInit, FAKE_HIP_INIT_SIGNAL the
/// signal that it ends with, FAKE_HIP_VERSION the version where another than the stand-in's own is
/// wanted.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "fakes/common/settings.hpp"
#include "fakes/hip/call.hpp"

using namespace hiptool::fake;

namespace {

/// The last two numbers of the list moved in HIP 10.
const char* name_after_the_list(int number) {
  constexpr int tbd_before_10 = 1054;
  constexpr int tbd_since_10 = 1055;
  const bool is_since_10 = variant.major >= 10;
  if (number == (is_since_10 ? tbd_since_10 : tbd_before_10)) return "hipErrorTbd";
  return is_since_10 && number == tbd_before_10 ? "hipErrorInvalidClusterSize" : nullptr;
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned flags) {
  if (const int number = number_from("FAKE_HIP_INIT_SIGNAL", 0); number != 0) {
    if (number == SIGABRT) std::abort();
    std::raise(number);
  }
  if (const int error = number_from("FAKE_HIP_INIT", 0); error != 0) {
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
