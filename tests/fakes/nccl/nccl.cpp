// SPDX-License-Identifier: MIT
/// A fake of NCCL and RCCL for one process: sums on the host, once all streams have come to it.
/// FAKE_NCCL is one of these words, FAKE_NCCL=WORD:ORDINAL that of communicators with that device:
///   error   ncclGroupEnd answers an internal error
///   async   sums never end, and the state of the communicators is an error
///   hang    ncclGroupEnd never returns
///   abort   ncclCommInitAll ends the process
///   last    the last element of the last device's result is one more than the sum
///   halves  sums of floats are rounded to 16 bits
///   slow    sums take 0.3 s
/// FAKE_NCCL_RECORD is a file that gets a line with the values of NCCL_NVLS_ENABLE and NCCL_DEBUG
/// for each start.
#include "hip/nccl.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "fakes/common/settings.hpp"

using namespace hiptool::hip;

namespace {

struct Comm {
  std::shared_ptr<std::vector<int>> devices;
  std::size_t rank = 0;
};

struct Call {
  const void* from;
  void* to;
  std::size_t count;
  int type;
  Comm* comm;
  hipStream_t stream;
};

std::vector<Call> calls;

bool is_fault(const char* word, const Comm& comm) {
  const std::string wanted = hiptool::fake::text_from("FAKE_NCCL", "");
  const auto colon = wanted.find(':');
  if (wanted.substr(0, colon) != word) return false;
  if (colon == std::string::npos) return true;
  const int ordinal = std::atoi(wanted.c_str() + colon + 1);
  for (const int device : *comm.devices) {
    if (device == ordinal) return true;
  }
  return false;
}

using Synchronize = int (*)(void* stream);

int find_synchronize(dl_phdr_info* info, std::size_t, void* found) {
  if (info->dlpi_name == nullptr || *info->dlpi_name == '\0') return 0;
  void* const library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  for (const char* name : {"hipStreamSynchronize", "cuStreamSynchronize"}) {
    if (void* const symbol = dlsym(library, name); symbol != nullptr)
      *static_cast<Synchronize*>(found) = reinterpret_cast<Synchronize>(symbol);
  }
  dlclose(library);
  return *static_cast<Synchronize*>(found) != nullptr ? 1 : 0;
}

float rounded(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= 0xFFFF0000U;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

template <class Number>
void sum_all(const std::vector<Call>& all) {
  for (std::size_t i = 0; i < all.front().count; ++i) {
    Number sum = 0;
    for (const Call& call : all) sum += static_cast<const Number*>(call.from)[i];
    if constexpr (std::is_same_v<Number, float>) {
      if (is_fault("halves", *all.front().comm)) sum = rounded(sum);
    }
    for (const Call& call : all) static_cast<Number*>(call.to)[i] = sum;
  }
  const Call& last = all.back();
  if (is_fault("last", *last.comm)) static_cast<Number*>(last.to)[last.count - 1] += 1;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = hiptool::fake::number_from("FAKE_NCCL_VERSION", 22105);
  return ncclSuccess;
}
const char* ncclGetErrorString(int result) {
  return result == ncclInternalError ? "internal error" : "no error";
}
const char* ncclGetLastError(ncclComm_t) { return "a fake's error"; }
int ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  const auto all = std::make_shared<std::vector<int>>(devices, devices + count);
  for (int i = 0; i < count; ++i) comms[i] = new Comm{all, static_cast<std::size_t>(i)};
  if (is_fault("abort", *static_cast<Comm*>(comms[0]))) std::abort();
  if (const char* const path = std::getenv("FAKE_NCCL_RECORD"); path != nullptr) {
    std::ofstream(path, std::ios::app)
        << "NCCL_NVLS_ENABLE=" << hiptool::fake::text_from("NCCL_NVLS_ENABLE", "unset")
        << " NCCL_DEBUG=" << hiptool::fake::text_from("NCCL_DEBUG", "unset") << '\n';
  }
  return ncclSuccess;
}
int ncclCommDestroy(ncclComm_t comm) {
  delete static_cast<Comm*>(comm);
  return ncclSuccess;
}
int ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
int ncclCommGetAsyncError(ncclComm_t comm, int* result) {
  *result = is_fault("async", *static_cast<Comm*>(comm)) ? ncclInternalError : ncclSuccess;
  return ncclSuccess;
}
int ncclGroupStart() {
  calls.clear();
  return ncclSuccess;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, ncclComm_t comm,
                  hipStream_t stream) {
  calls.push_back({from, to, count, type, static_cast<Comm*>(comm), stream});
  return ncclSuccess;
}
int ncclGroupEnd() {
  const Comm& comm = *calls.front().comm;
  if (is_fault("error", comm)) return ncclInternalError;
  while (is_fault("hang", comm)) ::pause();
  Synchronize synchronize = nullptr;
  dl_iterate_phdr(find_synchronize, &synchronize);
  for (const Call& call : calls) {
    if (synchronize != nullptr) synchronize(call.stream);
  }
  if (is_fault("slow", comm)) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (calls.front().type == ncclFloat32) {
    sum_all<float>(calls);
  } else {
    sum_all<std::uint32_t>(calls);
  }
  return ncclSuccess;
}
}
