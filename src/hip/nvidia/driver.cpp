// SPDX-License-Identifier: MIT
#include "hip/nvidia/driver.hpp"

#include "hip/nvidia/driver_calls.hpp"

namespace hiptool::hip::nvidia {
namespace {

template <class Function>
struct Unsupported;

template <class... Arguments>
struct Unsupported<CUresult (*)(Arguments...)> {
  static CUresult call(Arguments...) { return CUDA_ERROR_NOT_SUPPORTED; }
};

}  // namespace

std::string load_driver(const base::DynamicLibrary& library, CudaDriver& driver) {
  std::string missing;
  for_each_driver_call([&](auto member, const char* name, bool is_required) {
    using Function = std::remove_reference_t<decltype(driver.*member)>;
    driver.*member = library.function<Function>(name);
    if (driver.*member != nullptr) return;
    driver.*member = &Unsupported<Function>::call;
    if (!is_required) return;
    if (!missing.empty()) missing += ", ";
    missing += name;
  });
  return missing;
}

CudaDriver& cuda() noexcept {
  static CudaDriver driver{};
  return driver;
}

}  // namespace hiptool::hip::nvidia
