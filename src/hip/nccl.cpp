// SPDX-License-Identifier: MIT
#include "hip/nccl.hpp"

#include <memory>
#include <utility>

#include "hip/keep_forever.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip {

NcclLibrary open_nccl_library(LibrarySearch search) {
  NcclLibrary library;
  library.name = search.name;
  auto calls = std::make_unique<NcclCalls>();
  const auto refuse_first = std::move(search.refusal);
  search.refusal = [&](const base::DynamicLibrary& opened) {
    std::string refusal = refuse_first ? refuse_first(opened) : std::string();
    if (refusal.empty()) refusal = load_calls(opened, *calls);
    if (!refusal.empty()) return refusal;
    int version = 0;
    if (calls->ncclGetVersion(&version) == ncclSuccess) {
      library.version = nccl_version_text(version);
    }
    return refuse_version(library.version, {2});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) library.calls = &keep_forever(std::move(calls));
  return library;
}

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
