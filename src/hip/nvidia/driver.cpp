// SPDX-License-Identifier: MIT
#include "hip/nvidia/driver.hpp"

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
  CudaDriver::for_each([&](auto member, const char* name, Need need) {
    using Function = std::remove_reference_t<decltype(driver.*member)>;
    driver.*member = library.function<Function>(name);
    if (driver.*member != nullptr) return;
    driver.*member = &Unsupported<Function>::call;
    if (need == Need::optional) return;
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
