// SPDX-License-Identifier: MIT
#include "hip/rtc.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace hiptool::hip::nvidia {
namespace {

constexpr const char* sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

std::vector<std::string> list_compilers() {
  std::vector<std::string> names(std::begin(sonames), std::end(sonames));
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') continue;
    for (const char* soname : sonames) names.push_back(std::string(folder) + "/lib64/" + soname);
  }
  for (const char* soname : sonames)
    names.push_back(std::string("/usr/local/cuda/lib64/") + soname);
  return names;
}

}  // namespace

RtcLibrary open_rtc() {
  static RtcApi api;
  return hip::open_rtc(
      {"NVRTC", "nvrtc", "PTX"}, list_compilers(),
      "no NVRTC was found (libnvrtc.so.13, .12 or .11.2, part of the CUDA toolkit)", api);
}

}  // namespace hiptool::hip::nvidia

namespace hiptool::hip {
namespace {

struct PtxVersion {
  int major = 0;
  int minor = 0;
  bool is_above(const PtxVersion& other) const {
    return major != other.major ? major > other.major : minor > other.minor;
  }
};

/// The newest PTX that a release of CUDA reads (PTX ISA, table of release notes).
PtxVersion newest_ptx(int cuda_version) {
  const int major = cuda_version / 1000;
  const int minor = cuda_version % 1000 / 10;
  if (major == 10) return {6, minor + 3};
  if (major == 12 && minor > 5) return {8, minor - 1};
  return {major - (major == 9 ? 3 : 4), minor};
}

}  // namespace

void lower_ptx_version(std::vector<std::byte>& ptx, int driver_version) {
  constexpr std::string_view word = "\n.version ";
  constexpr int oldest_cuda = 9000;
  if (driver_version < oldest_cuda) return;
  std::string text(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return;
  const std::size_t start = at + word.size();
  const std::size_t end = std::min(text.find('\n', start), text.size());
  const char* const last = text.data() + end;
  PtxVersion stated;
  const auto [dot, major_error] = std::from_chars(text.data() + start, last, stated.major);
  if (major_error != std::errc{} || dot == last || *dot != '.') return;
  if (std::from_chars(dot + 1, last, stated.minor).ec != std::errc{}) return;
  const PtxVersion known = newest_ptx(driver_version);
  if (!stated.is_above(known)) return;
  text.replace(start, end - start, std::to_string(known.major) + "." + std::to_string(known.minor));
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  ptx.assign(bytes, bytes + text.size());
}

}  // namespace hiptool::hip
