// SPDX-License-Identifier: MIT
#include "hip/nccl.hpp"

#include <utility>

#include "hip/nvidia/cublas.hpp"
#include "hip/side_library.hpp"

namespace hiptool::hip::nvidia {

NcclLibrary open_nccl() {
  CudaFolders folders = list_cuda_folders();
  LibrarySearch search;
  search.name = "NCCL";
  search.soname = "libnccl.so";
  search.majors = {2};
  search.folders = std::move(folders.before);
  search.later_folders = std::move(folders.after);
  search.advice = "install the package libnccl2 or the wheel nvidia-nccl";
  return open_nccl_library(std::move(search));
}

}  // namespace hiptool::hip::nvidia
