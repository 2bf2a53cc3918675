// SPDX-License-Identifier: MIT
#include "hip/nccl.hpp"

#include <memory>
#include <utility>

#include "hip/keep_forever.hpp"
#include "hip/nvidia/cublas.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {

NcclLibrary open_nccl() {
  NcclLibrary library;
  library.name = "NCCL";
  auto calls = std::make_unique<NcclCalls>();
  CudaFolders folders = list_cuda_folders();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "libnccl.so";
  search.majors = {2};
  search.folders = std::move(folders.before);
  search.later_folders = std::move(folders.after);
  search.advice = "install the package libnccl2 or the wheel nvidia-nccl";
  search.refusal = [&](const base::DynamicLibrary& opened) {
    const std::string refusal = load_calls(opened, *calls);
    if (!refusal.empty()) return refusal;
    int version = 0;
    if (calls->ncclGetVersion(&version) == ncclSuccess)
      library.version = nccl_version_text(version);
    return refuse_version(library.version, {2});
  };
  const FoundLibrary found = search_library(search);
  library.path = found.path;
  library.reason = found.reason;
  if (found.library) library.calls = &keep_forever(std::move(calls));
  return library;
}

}  // namespace hiptool::hip::nvidia
