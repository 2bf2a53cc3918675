// SPDX-License-Identifier: MIT
/// A fake of NCCL and RCCL: sums on the host. In one process (ncclCommInitAll) once all streams
/// have come to it; of ranks in several processes of one machine (ncclCommInitRank) through shared
/// memory, in functions that the streams call.
/// FAKE_NCCL is one of these words, FAKE_NCCL=WORD:ORDINAL that of communicators with that device,
/// FAKE_NCCL=WORD:-ORDINAL that of communicators without it:
///   error   ncclGroupEnd answers an internal error
///   async   sums never end, and the state of the communicators is an error
///   hang    ncclGroupEnd never returns
///   abort   ncclCommInitAll, ncclCommInitRank end the process
///   die     ncclAllReduce ends the process
///   last    the last element of the last device's result is one more than the sum
///   halves  sums of floats are rounded to 16 bits
///   slow    sums take 0.3 s
/// FAKE_NCCL_RECORD is a file that gets a line with the values of NCCL_NVLS_ENABLE and NCCL_DEBUG
/// for each start; with FAKE_NCCL_FAILING_START=N the start with line N fails.
#include "hip/nccl.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
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

constexpr std::size_t slot_bytes = 1u << 20;  // of a rank's data

/// What the processes of a communicator share; a slot for each rank follows.
struct SharedPage {
  std::atomic<std::uint64_t> attached;
  std::atomic<std::uint64_t> written;
  std::atomic<std::uint64_t> read;
};

/// A rank of a communicator of several processes.
struct Rank {
  SharedPage* page = nullptr;
  std::size_t number = 0;
  std::size_t count = 0;
  std::uint64_t calls = 0;
  std::string name;  // of the shared memory
  std::atomic<bool> is_aborted = false;

  std::byte* slot(std::size_t rank) const {
    return reinterpret_cast<std::byte*>(page + 1) + rank * slot_bytes;
  }
  bool wait(const std::atomic<std::uint64_t>& counter, std::uint64_t least) const {
    while (counter < least && !is_aborted) std::this_thread::yield();
    return !is_aborted;
  }
};

struct Comm {
  std::shared_ptr<std::vector<int>> devices;
  std::shared_ptr<Rank> rank;  // null: of one process
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
std::vector<Comm*> joining;

bool is_fault(const char* word, const Comm& comm) {
  const std::string wanted = hiptool::fake::text_from("FAKE_NCCL", "");
  const auto colon = wanted.find(':');
  if (wanted.substr(0, colon) != word) return false;
  if (colon == std::string::npos) return true;
  const bool is_without = wanted[colon + 1] == '-';
  const int ordinal = std::atoi(wanted.c_str() + colon + (is_without ? 2 : 1));
  for (const int device : *comm.devices) {
    if (device == ordinal) return !is_without;
  }
  return is_without;
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

using LaunchFunction = int (*)(void* stream, void (*function)(void*), void* data);

int find_launch(dl_phdr_info* info, std::size_t, void* found) {
  if (info->dlpi_name == nullptr || *info->dlpi_name == '\0') return 0;
  void* const library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  for (const char* name : {"hipLaunchHostFunc", "cuLaunchHostFunc"}) {
    if (void* const symbol = dlsym(library, name); symbol != nullptr)
      *static_cast<LaunchFunction*>(found) = reinterpret_cast<LaunchFunction>(symbol);
  }
  dlclose(library);
  return *static_cast<LaunchFunction*>(found) != nullptr ? 1 : 0;
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

/// A sum of a rank, queued on its stream.
struct RankCall {
  Call call;
  std::shared_ptr<Rank> rank;
  std::uint64_t number = 0;
  bool rounds = false;
  bool changes_last = false;
};

template <class Number>
void sum_ranks(const RankCall& one) {
  auto* const to = static_cast<Number*>(one.call.to);
  for (std::size_t i = 0; i < one.call.count; ++i) {
    Number sum = 0;
    for (std::size_t r = 0; r < one.rank->count; ++r)
      sum += reinterpret_cast<const Number*>(one.rank->slot(r))[i];
    if constexpr (std::is_same_v<Number, float>) {
      if (one.rounds) sum = rounded(sum);
    }
    to[i] = sum;
  }
  if (one.changes_last) to[one.call.count - 1] += 1;
}

void run_rank_call(void* data) {
  const std::unique_ptr<RankCall> one(static_cast<RankCall*>(data));
  Rank& rank = *one->rank;
  if (!rank.wait(rank.page->read, rank.count * one->number)) return;
  std::memcpy(rank.slot(rank.number), one->call.from, one->call.count * sizeof(float));
  ++rank.page->written;
  if (!rank.wait(rank.page->written, rank.count * (one->number + 1))) return;
  if (one->call.type == ncclFloat32) {
    sum_ranks<float>(*one);
  } else {
    sum_ranks<std::uint32_t>(*one);
  }
  ++rank.page->read;
}

int queue_rank_calls() {
  LaunchFunction launch = nullptr;
  dl_iterate_phdr(find_launch, &launch);
  for (const Call& call : calls) {
    if (is_fault("async", *call.comm)) continue;
    const std::shared_ptr<Rank> rank = call.comm->rank;
    auto one = std::make_unique<RankCall>(RankCall{
        call, rank, rank->calls++, is_fault("halves", *call.comm), is_fault("last", *call.comm)});
    if (call.count * sizeof(float) > slot_bytes) return ncclInternalError;
    if (launch == nullptr || launch(call.stream, run_rank_call, one.release()) != 0)
      return ncclInternalError;
  }
  return ncclSuccess;
}

/// Returns once all ranks are there, as the library does.
int join_ranks() {
  for (const Comm* comm : joining) ++comm->rank->page->attached;
  for (const Comm* comm : joining) {
    comm->rank->wait(comm->rank->page->attached, comm->rank->count);
    shm_unlink(comm->rank->name.c_str());
  }
  joining.clear();
  return ncclSuccess;
}

/// Whether this start is to succeed.
bool record_start() {
  const char* const path = std::getenv("FAKE_NCCL_RECORD");
  if (path == nullptr) return true;
  std::ofstream(path, std::ios::app)
      << "NCCL_NVLS_ENABLE=" << hiptool::fake::text_from("NCCL_NVLS_ENABLE", "unset")
      << " NCCL_DEBUG=" << hiptool::fake::text_from("NCCL_DEBUG", "unset") << '\n';
  std::ifstream record(path);
  int lines = 0;
  for (std::string line; std::getline(record, line);) ++lines;
  return lines != hiptool::fake::number_from("FAKE_NCCL_FAILING_START", 0);
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
  for (int i = 0; i < count; ++i) comms[i] = new Comm{all, nullptr};
  if (is_fault("abort", *static_cast<Comm*>(comms[0]))) std::abort();
  return record_start() ? ncclSuccess : ncclInternalError;
}
int ncclGetUniqueId(ncclUniqueId* id) {
  const std::string name = "/fake_nccl_" + std::to_string(::getpid());
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}
int ncclCommInitRank(ncclComm_t* comm, int count, ncclUniqueId id, int number) {
  const auto rank = std::make_shared<Rank>();
  rank->number = static_cast<std::size_t>(number);
  rank->count = static_cast<std::size_t>(count);
  rank->name = id.internal;
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  const std::size_t bytes = sizeof(SharedPage) + rank->count * slot_bytes;
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return ncclInternalError;
  rank->page =
      static_cast<SharedPage*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ::close(file);
  auto* const made = new Comm{std::make_shared<std::vector<int>>(std::vector<int>{number}), rank};
  if (is_fault("abort", *made)) std::abort();
  record_start();
  joining.push_back(made);
  *comm = made;
  return ncclSuccess;
}
int ncclCommDestroy(ncclComm_t comm) {
  delete static_cast<Comm*>(comm);
  return ncclSuccess;
}
int ncclCommAbort(ncclComm_t comm) {
  if (const auto rank = static_cast<Comm*>(comm)->rank; rank) rank->is_aborted = true;
  return ncclCommDestroy(comm);
}
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
  if (is_fault("die", *static_cast<Comm*>(comm))) std::abort();
  calls.push_back({from, to, count, type, static_cast<Comm*>(comm), stream});
  return ncclSuccess;
}
int ncclGroupEnd() {
  if (!joining.empty()) return join_ranks();
  const Comm& comm = *calls.front().comm;
  if (is_fault("error", comm)) return ncclInternalError;
  while (is_fault("hang", comm)) ::pause();
  if (comm.rank) return queue_rank_calls();
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
