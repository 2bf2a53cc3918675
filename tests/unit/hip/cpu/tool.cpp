// SPDX-License-Identifier: MIT
#include "tool.hpp"

#include <doctest/doctest.h>

#include "hip/binding.hpp"
#include "waiting.hpp"

namespace hiptool::hip::cpu::test {
using hiptool::test::comes_true;

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
  if (blocks_) CHECK(comes_true([this] { return left_.load(); }));
}

void Gate::block(const Api& api, hipStream_t stream) {
  REQUIRE(api.hipLaunchHostFunc(stream, &Gate::pass, this) == hipSuccess);
  blocks_ = true;
}

void Gate::pass(void* self) {
  Gate& gate = *static_cast<Gate*>(self);
  comes_true([&gate] { return gate.open_.load(); });
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
