// SPDX-License-Identifier: MIT
/// Start, version and errors. FAKE_CUDA_INIT is the answer of cuInit, FAKE_CUDA_INIT_SIGNAL the
/// signal that it ends with. FAKE_CUDA_HOLD=init is a driver that hangs.
#include <array>
#include <csignal>

#include "fakes/common/settings.hpp"
#include "fakes/cuda/call.hpp"
#include "fakes/cuda/hold.hpp"

using namespace hiptool::fake;

namespace {

struct ErrorName {
  int number;
  const char* name;
  const char* text;
};

constexpr std::array error_names{
    ErrorName{0, "CUDA_SUCCESS", "no error"},
    ErrorName{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorName{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorName{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    ErrorName{34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    ErrorName{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "devices are busy or unavailable"},
    ErrorName{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorName{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    ErrorName{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    ErrorName{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorName{209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for the device"},
    ErrorName{218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    ErrorName{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    ErrorName{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorName{600, "CUDA_ERROR_NOT_READY", "device not ready"},
    ErrorName{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "memory is already registered"},
    ErrorName{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory is not registered"},
    ErrorName{802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    ErrorName{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver versions do not match"},
    ErrorName{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compatibility not supported"},
    ErrorName{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/// Null and 1 for a number the driver does not have; both work before cuInit.
CUresult find_text(CUresult error, const char* ErrorName::*which, const char** text) {
  *text = nullptr;
  for (const ErrorName& entry : error_names) {
    if (entry.number == error) *text = entry.*which;
  }
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
  if (const int number = number_from("FAKE_CUDA_INIT_SIGNAL", 0); number != 0) std::raise(number);
  hold("init");
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const int result = number_from("FAKE_CUDA_INIT", 0);
  if (result != 0) return static_cast<CUresult>(result);
  count_devices();
  note_initialized();
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  return find_text(error, &ErrorName::name, text);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  return find_text(error, &ErrorName::text, text);
}

}  // extern "C"
