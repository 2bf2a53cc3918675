// SPDX-License-Identifier: MIT
/// Our declarations of NCCL and RCCL against the vendor's header.
#include "hip/nccl.hpp"
#include "interop/blas_headers.hpp"

#include <nccl.h>

using hiptool::test::check_blas_call;
using hiptool::test::check_blas_number;

static_assert(sizeof(hiptool::hip::ncclUniqueId) == sizeof(::ncclUniqueId));

namespace {

namespace ours = hiptool::hip;

constexpr void check_nccl_numbers() {
  check_blas_number<ours::ncclSuccess, ::ncclSuccess>();
  check_blas_number<ours::ncclInternalError, ::ncclInternalError>();
  check_blas_number<ours::ncclInProgress, ::ncclInProgress>();
  check_blas_number<ours::ncclSum, ::ncclSum>();
  check_blas_number<ours::ncclUint32, ::ncclUint32>();
  check_blas_number<ours::ncclFloat32, ::ncclFloat32>();
}

constexpr void check_nccl_calls() {
  using Calls = ours::NcclCalls;
  check_blas_call<decltype(Calls::ncclGetVersion), decltype(&::ncclGetVersion)>();
  check_blas_call<decltype(Calls::ncclGetErrorString), decltype(&::ncclGetErrorString)>();
  check_blas_call<decltype(Calls::ncclGetLastError), decltype(&::ncclGetLastError)>();
  check_blas_call<decltype(Calls::ncclCommInitAll), decltype(&::ncclCommInitAll)>();
  check_blas_call<decltype(Calls::ncclCommDestroy), decltype(&::ncclCommDestroy)>();
  check_blas_call<decltype(Calls::ncclCommAbort), decltype(&::ncclCommAbort)>();
  check_blas_call<decltype(Calls::ncclCommGetAsyncError), decltype(&::ncclCommGetAsyncError)>();
  check_blas_call<decltype(Calls::ncclGroupStart), decltype(&::ncclGroupStart)>();
  check_blas_call<decltype(Calls::ncclGroupEnd), decltype(&::ncclGroupEnd)>();
  check_blas_call<decltype(Calls::ncclAllReduce), decltype(&::ncclAllReduce)>();
}

}  // namespace

int main() {
  check_nccl_numbers();
  check_nccl_calls();
  return 0;
}
