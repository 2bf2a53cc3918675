// SPDX-License-Identifier: MIT
#include "tool.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "hip/binding.hpp"

namespace hiptool::hip::cpu::test {
namespace {

constexpr std::chrono::seconds patience{10};

template <class Condition>
bool holds_in_time(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

const Api& bound(int devices) {
  BindRequest request;
  request.cpu_devices = devices;
  const Binding binding = bind_cpu(request);
  REQUIRE(binding.api != nullptr);
  REQUIRE(binding.api->hipSetDevice(0) == hipSuccess);
  return *binding.api;
}

NothingLeaks::NothingLeaks() : before_(live_objects()) {}

NothingLeaks::~NothingLeaks() { CHECK(live_objects() == before_); }

Gate::~Gate() {
  open();
  if (blocks_) CHECK(holds_in_time([this] { return left_.load(); }));
}

void Gate::block(const Api& api, hipStream_t stream) {
  REQUIRE(api.hipLaunchHostFunc(stream, &Gate::pass, this) == hipSuccess);
  blocks_ = true;
}

void Gate::pass(void* self) {
  Gate& gate = *static_cast<Gate*>(self);
  holds_in_time([&gate] { return gate.open_.load(); });
  gate.left_ = true;
}

hipStream_t make_stream(const Api& api, unsigned flags) {
  hipStream_t stream = nullptr;
  REQUIRE(api.hipStreamCreateWithFlags(&stream, flags) == hipSuccess);
  return stream;
}

void* make_memory(const Api& api, std::size_t bytes) {
  void* memory = nullptr;
  REQUIRE(api.hipMalloc(&memory, bytes) == hipSuccess);
  return memory;
}

}  // namespace hiptool::hip::cpu::test
