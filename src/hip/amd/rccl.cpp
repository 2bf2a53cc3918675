// SPDX-License-Identifier: MIT
#include <memory>
#include <utility>

#include "hip/amd/bound_runtime.hpp"
#include "hip/keep_forever.hpp"
#include "hip/nccl.hpp"
#include "hip/side_calls.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {

NcclLibrary open_rccl() {
  NcclLibrary library;
  library.name = "RCCL";
  const auto runtime = find_runtime();
  if (!runtime) {
    library.reason = "no HIP runtime was found, so no RCCL either";
    return library;
  }
  auto calls = std::make_unique<NcclCalls>();
  LibrarySearch search;
  search.name = library.name;
  search.soname = "librccl.so";
  search.majors = {1};
  search.folders = list_library_folders(*runtime);
  search.is_unversioned_taken = true;
  search.advice = "install the package rccl of the runtime's release, " + runtime->path();
  search.refusal = [&](const base::DynamicLibrary& opened) {
    std::string refusal = refuse_second_runtime(opened, *runtime);
    if (refusal.empty()) refusal = load_calls(opened, *calls);
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

}  // namespace hiptool::hip::amd
