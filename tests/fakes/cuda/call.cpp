// SPDX-License-Identifier: MIT
#include "fakes/cuda/call.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "fakes/common/settings.hpp"
#include "hip/cpu/accounting.hpp"

struct hiptool::hip::nvidia::CUctx_st {
  int ordinal;
};

namespace hiptool::fake {
namespace {

std::atomic<int> known_count{0};
std::atomic<bool> is_initialized{false};
std::array<CUctx_st, most_devices> contexts{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}};
thread_local CUcontext current = nullptr;
thread_local bool is_in_host_function = false;

struct Streams {
  std::mutex mutex;
  std::map<CUstream, CUcontext> live;
};

Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

}  // namespace

test::FakeCudaState& state() {
  static test::FakeCudaState instance;
  return instance;
}

int device_count() { return known_count.load(); }

void count_devices() { known_count.store(number_from("FAKE_CUDA_DEVICES", 2)); }

void note_initialized() { is_initialized.store(true); }

HostFunctionScope::HostFunctionScope() { is_in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { is_in_host_function = false; }

CUresult enter() {
  constexpr int not_permitted = 800;
  if (is_in_host_function) return static_cast<CUresult>(not_permitted);
  return is_initialized.load() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter_device(CUdevice device) {
  if (const CUresult result = enter(); result != CUDA_SUCCESS) return result;
  return device >= 0 && device < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult enter_context() {
  if (const CUresult result = enter(); result != CUDA_SUCCESS) return result;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return to_cuda(inner().hipSetDevice(current->ordinal));
}

CUcontext current_context() { return current; }

void make_current(CUcontext context) { current = context; }

CUcontext primary_context(CUdevice device) { return &contexts[static_cast<std::size_t>(device)]; }

int ordinal_of(CUcontext context) { return context->ordinal; }

CUresult enter_stream(CUstream stream) {
  if (stream == nullptr) return enter_context();
  return context_of(stream) != nullptr ? enter()
                                       : static_cast<CUresult>(hip::hipErrorInvalidHandle);
}

void add_stream(CUstream stream) {
  const std::lock_guard lock(streams().mutex);
  streams().live.emplace(stream, current);
}

void remove_stream(CUstream stream) {
  const std::lock_guard lock(streams().mutex);
  streams().live.erase(stream);
}

CUcontext context_of(CUstream stream) {
  const std::lock_guard lock(streams().mutex);
  const auto found = streams().live.find(stream);
  return found != streams().live.end() ? found->second : nullptr;
}

}  // namespace hiptool::fake

extern "C" {

hiptool::test::FakeCudaState* fake_cuda_state() { return &hiptool::fake::state(); }

std::size_t fake_cuda_allocations() {
  const hiptool::hip::cpu::Accounting live = hiptool::hip::cpu::live_objects();
  return live.device_allocations + live.host_allocations;
}

}  // extern "C"
