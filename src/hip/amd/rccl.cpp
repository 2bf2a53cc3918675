// SPDX-License-Identifier: MIT
#include <utility>

#include "hip/amd/bound_runtime.hpp"
#include "hip/nccl.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::amd {

NcclLibrary open_rccl() {
  const auto runtime = find_runtime();
  if (!runtime) return {"RCCL", {}, {}, "no HIP runtime was found, so no RCCL either", nullptr};
  LibrarySearch search;
  search.name = "RCCL";
  search.soname = "librccl.so";
  search.majors = {1};
  search.folders = list_library_folders(*runtime);
  search.is_unversioned_taken = true;
  search.advice = "install the package rccl of the runtime's release, " + runtime->path();
  search.refusal = [&](const base::DynamicLibrary& opened) {
    return refuse_second_runtime(opened, *runtime);
  };
  return open_nccl_library(std::move(search));
}

}  // namespace hiptool::hip::amd
