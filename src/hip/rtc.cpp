// SPDX-License-Identifier: MIT
#include "hip/rtc.hpp"

namespace hiptool::hip {

const RtcLibrary& find_rtc(Platform platform) {
  static const RtcLibrary of_cpu{nullptr, {}, {}, {}, "the cpu platform has no run-time compiler"};
  switch (platform) {
    case Platform::amd: {
      static const RtcLibrary library = amd::open_rtc();
      return library;
    }
    case Platform::nvidia: {
      static const RtcLibrary library = nvidia::open_rtc();
      return library;
    }
    case Platform::cpu: break;
  }
  return of_cpu;
}

std::vector<std::string> rtc_options(Platform platform, const std::string& arch) {
  if (platform == Platform::amd)
    return {"--offload-arch=" + arch, "-std=c++17", "-O3", "-ffp-contract=off"};
  const bool is_real_arch = arch.starts_with("sm_");
  return {"--gpu-architecture=" + (is_real_arch ? "compute_" + arch.substr(3) : arch), "-std=c++17",
          "--fmad=false"};
}

}  // namespace hiptool::hip
