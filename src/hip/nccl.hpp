// SPDX-License-Identifier: MIT
/// NCCL and RCCL, which have the same interface: the calls and numbers of NCCL 2 that are used
/// (nccl.h). A library is loaded at its first use and stays for the process.
#pragma once
#include <cstddef>
#include <string>

#include "hip/abi.hpp"
#include "hip/call_table.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

struct LibrarySearch;

using ncclComm_t = void*;

/// Names a communicator of several processes; made by one of them.
struct ncclUniqueId {
  char internal[128];
};

enum : int {
  ncclSuccess = 0,
  ncclInternalError = 3,
  ncclInProgress = 7,

  ncclSum = 0,

  ncclUint32 = 3,
  ncclFloat32 = 7,
};

#define HIPTOOL_NCCL_CALLS(CALL)                                                                   \
  CALL(required, int, ncclGetVersion, (int* version))                                              \
  CALL(required, const char*, ncclGetErrorString, (int result))                                    \
  CALL(optional, const char*, ncclGetLastError, (ncclComm_t comm))                                 \
  CALL(required, int, ncclCommInitAll, (ncclComm_t * comms, int count, const int* devices))        \
  CALL(required, int, ncclGetUniqueId, (ncclUniqueId * id))                                        \
  CALL(required, int, ncclCommInitRank, (ncclComm_t * comm, int count, ncclUniqueId id, int rank)) \
  CALL(required, int, ncclCommDestroy, (ncclComm_t comm))                                          \
  CALL(required, int, ncclCommAbort, (ncclComm_t comm))                                            \
  CALL(required, int, ncclCommGetAsyncError, (ncclComm_t comm, int* result))                       \
  CALL(required, int, ncclGroupStart, ())                                                          \
  CALL(required, int, ncclGroupEnd, ())                                                            \
  CALL(required, int, ncclAllReduce,                                                               \
       (const void* from, void* to, std::size_t count, int type, int operation, ncclComm_t comm,   \
        hipStream_t stream))
HIPTOOL_CALL_TABLE(NcclCalls, HIPTOOL_NCCL_CALLS);

/// The library, or the reason why it is missing.
struct NcclLibrary {
  std::string name;  ///< "NCCL", "RCCL"
  std::string path;  ///< of the file; also of a refused library
  std::string version;
  std::string reason;                ///< why it is missing
  const NcclCalls* calls = nullptr;  ///< null without a library
};

/// The library of a platform; the processor has none. Loads it at the first call. Never throws for
/// a missing one. Safe to use from several threads.
const NcclLibrary& find_nccl(Platform platform);

/// "2.21.5" of 22105, "2.8.4" of 2804 (NCCL_VERSION of nccl.h); empty for a number below 1000.
std::string nccl_version_text(int number);

/// Searches for the library with the name of the search, binds its calls and asks its version.
/// What the search itself refuses is refused first. Never throws.
NcclLibrary open_nccl_library(LibrarySearch search);

namespace amd {
NcclLibrary open_rccl();
}
namespace nvidia {
NcclLibrary open_nccl();
}

}  // namespace hiptool::hip
