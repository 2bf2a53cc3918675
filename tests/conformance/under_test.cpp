// SPDX-License-Identifier: MIT
#include "under_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "cases.hpp"
#include "waiting.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

using test::comes_true;

// For a GPU, whose work the threads of the process say nothing about.
constexpr milliseconds busy_check_time{30};

template <class Query, class Handle>
bool becomes_ready(Query query, Handle handle) {
  hipError_t error = hipErrorNotReady;
  comes_true([&] { return (error = query(handle)) != hipErrorNotReady; });
  return error == hipSuccess;
}

template <class Query, class Handle>
bool stays_not_ready(Query query, Handle handle) {
  if (query(handle) != hipErrorNotReady) return false;
  if (!test::become_idle()) return false;
  if (under_test().platform != Platform::cpu) std::this_thread::sleep_for(busy_check_time);
  return query(handle) == hipErrorNotReady;
}

}  // namespace

UnderTest& under_test() {
  static UnderTest instance;
  return instance;
}

bool lacks_second_device() {
  if (under_test().device_count > 1) return false;
  test::skip_case("there is only one device");
  return true;
}

Bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Bytes bytes(count);
  std::size_t done = 0;
  while (done < count) {
    const auto word = generator();
    const std::size_t piece = std::min(sizeof(word), count - done);
    std::memcpy(bytes.data() + done, &word, piece);
    done += piece;
  }
  return bytes;
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  void* base = nullptr;
  REQUIRE(api().hipMalloc(&base, bytes) == hipSuccess);
  base_ = static_cast<std::uint8_t*>(base);
}

DeviceMemory::~DeviceMemory() { CHECK(api().hipFree(base_) == hipSuccess); }

void DeviceMemory::fill(int value) const {
  REQUIRE(api().hipMemsetAsync(base_, value, bytes_, nullptr) == hipSuccess);
  REQUIRE(api().hipDeviceSynchronize() == hipSuccess);
}

void DeviceMemory::write(const Bytes& bytes, std::size_t offset) const {
  REQUIRE(api().hipMemcpyAsync(at(offset), bytes.data(), bytes.size(), hipMemcpyHostToDevice,
                               nullptr) == hipSuccess);
  REQUIRE(api().hipDeviceSynchronize() == hipSuccess);
}

Bytes DeviceMemory::read(std::size_t offset, std::size_t count) const {
  Bytes bytes(count);
  REQUIRE(api().hipMemcpyAsync(bytes.data(), at(offset), count, hipMemcpyDeviceToHost, nullptr) ==
          hipSuccess);
  REQUIRE(api().hipStreamSynchronize(nullptr) == hipSuccess);
  return bytes;
}

PinnedMemory::PinnedMemory(std::size_t bytes) {
  void* base = nullptr;
  REQUIRE(api().hipHostMalloc(&base, bytes, hipHostMallocDefault) == hipSuccess);
  base_ = static_cast<std::uint8_t*>(base);
  std::memset(base_, 0, bytes);
}

PinnedMemory::~PinnedMemory() { CHECK(api().hipHostFree(base_) == hipSuccess); }

void PinnedMemory::write(const Bytes& bytes) const {
  std::memcpy(base_, bytes.data(), bytes.size());
}

Stream::Stream(unsigned flags) {
  REQUIRE(api().hipStreamCreateWithFlags(&handle_, flags) == hipSuccess);
}

Stream::~Stream() { CHECK(api().hipStreamDestroy(handle_) == hipSuccess); }

Event::Event(unsigned flags) {
  REQUIRE(api().hipEventCreateWithFlags(&handle_, flags) == hipSuccess);
}

Event::~Event() { CHECK(api().hipEventDestroy(handle_) == hipSuccess); }

Gate::~Gate() {
  open();
  // The host function uses this object.
  if (blocks_) CHECK(comes_true([this] { return left_.load(); }));
}

void Gate::block(hipStream_t stream) {
  REQUIRE(api().hipLaunchHostFunc(stream, &Gate::pass, this) == hipSuccess);
  blocks_ = true;
  REQUIRE(comes_true([this] { return entered_.load(); }));
}

void Gate::pass(void* self) {
  Gate& gate = *static_cast<Gate*>(self);
  gate.entered_ = true;
  comes_true([&gate] { return gate.open_.load(); });
  gate.left_ = true;
}

bool finishes(hipStream_t stream) { return becomes_ready(api().hipStreamQuery, stream); }

bool finishes(hipEvent_t event) { return becomes_ready(api().hipEventQuery, event); }

bool stays_busy(hipStream_t stream) { return stays_not_ready(api().hipStreamQuery, stream); }

bool stays_busy(hipEvent_t event) { return stays_not_ready(api().hipEventQuery, event); }

}  // namespace hiptool::conformance
