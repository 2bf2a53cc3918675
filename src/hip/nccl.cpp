// SPDX-License-Identifier: MIT
#include "hip/nccl.hpp"

namespace hiptool::hip {

const NcclLibrary& find_nccl(Platform platform) {
  static const NcclLibrary none{"NCCL", {}, {}, "there is none for the processor", nullptr};
  switch (platform) {
    case Platform::amd: {
      static const NcclLibrary library = amd::open_rccl();
      return library;
    }
    case Platform::nvidia: {
      static const NcclLibrary library = nvidia::open_nccl();
      return library;
    }
    case Platform::cpu: break;
  }
  return none;
}

std::string nccl_version_text(int number) {
  if (number < 1000) return {};
  // Up to 2.8 a digit for the minor version.
  const int minor_unit = 100;
  const int major_unit = number < 10000 ? 1000 : 10000;
  return std::to_string(number / major_unit) + "." +
         std::to_string(number % major_unit / minor_unit) + "." +
         std::to_string(number % minor_unit);
}

}  // namespace hiptool::hip
