// SPDX-License-Identifier: MIT
#include "buffer_bytes.hpp"
#include "hiptool/pinned_buffer.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <utility>

#include "core/platform_state.hpp"
#include "fake_modules.hpp"
#include "fakes/wrapper_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

unsigned last_flags = 0;

struct RegisteredMemoryFixture {
  std::shared_ptr<test::RecordingTrace> trace = std::make_shared<test::RecordingTrace>();
  std::shared_ptr<test::WrapperBinder> binder =
      std::make_shared<test::WrapperBinder>(std::make_shared<test::FakeModuleBinder>());
  Platforms platforms = core::make_platforms(with(trace), binder);
  Device device = platforms.devices(Platform::cpu).front();
  test::WrapperTable& table = *binder->table(Platform::cpu);
  std::vector<std::byte> memory = test::random_bytes(10'000, 1);

  static Platforms::Options with(std::shared_ptr<TraceSink> trace) {
    Platforms::Options options;
    options.trace = std::move(trace);
    return options;
  }
};

}  // namespace

TEST_CASE_FIXTURE(RegisteredMemoryFixture,
                  "registered memory serves copies and is unregistered once") {
  {
    RegisteredMemory registered(device, memory);
    CHECK(registered.bytes().data() == memory.data());
    CHECK(table.live().registrations == 1);
    Buffer buffer(device, memory.size());
    const Stream stream(device);
    copy_h2d(buffer, registered.bytes(), stream);
    stream.synchronize();
    CHECK(test::bytes_of(buffer) == memory);

    RegisteredMemory moved(std::move(registered));
    CHECK(registered.bytes().empty());  // NOLINT: a moved-from one is empty
    std::vector<std::byte> more(5'000);
    RegisteredMemory assigned(device, more);
    CHECK(table.live().registrations == 2);
    assigned = std::move(moved);
    CHECK(table.live().registrations == 1);
    CHECK(assigned.bytes().size() == memory.size());
  }
  CHECK(table.live().is_empty());
  CHECK(table.count("hipHostUnregister") == 2);
}

TEST_CASE_FIXTURE(RegisteredMemoryFixture, "no bytes need no registration") {
  const RegisteredMemory none(device, {});
  CHECK(none.bytes().empty());
  CHECK(table.count("hipHostRegister") == 0);
}

TEST_CASE_FIXTURE(RegisteredMemoryFixture,
                  "refusals are thrown, a failing release goes to the trace") {
  const auto failure = [&](hip::hipError_t code) {
    table.fail("hipHostRegister", code);
    try {
      const RegisteredMemory registered(device, memory);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  CHECK(failure(hip::hipErrorOutOfMemory) == ErrorCode::host_out_of_memory);
  CHECK(failure(hip::hipErrorHostMemoryAlreadyRegistered) == ErrorCode::device);
  CHECK(table.count("hipHostUnregister") == 0);
  {
    const RegisteredMemory registered(device, memory);
    table.fail("hipHostUnregister", hip::hipErrorUnknown);
  }
  REQUIRE(trace->notes().size() == 1);
  CHECK(trace->notes()[0].starts_with("hipHostUnregister: failed on cpu:0"));
}

TEST_CASE_FIXTURE(RegisteredMemoryFixture,
                  "a lack of pinned memory is not reported as a lack of device memory") {
  for (const auto method : {PinnedBuffer::Method::runtime, PinnedBuffer::Method::registered}) {
    const bool is_ours = method == PinnedBuffer::Method::registered;
    table.fail(is_ours ? "hipHostRegister" : "hipHostMalloc", hip::hipErrorOutOfMemory);
    try {
      PinnedBuffer pinned(device, 1'000, method);
      FAIL("pinned");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::host_out_of_memory);
      CHECK(error.is_recoverable());
      CHECK(error.hint().find("on the host") != std::string::npos);
    }
  }
}

TEST_CASE_FIXTURE(RegisteredMemoryFixture,
                  "memory that could not be pinned is given back to the host") {
  const auto mapped_pages = [] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  constexpr std::uint64_t attempts = 100;
  table.fail("hipHostRegister", hip::hipErrorUnknown, 1, attempts);
  const std::uint64_t before = mapped_pages();
  for (std::uint64_t i = 0; i < attempts; ++i) {
    CHECK_THROWS_AS(PinnedBuffer(device, 2u << 20, PinnedBuffer::Method::registered), Error);
  }
  CHECK(mapped_pages() < before + attempts * (2u << 20) / 4'096 / 2);
}

TEST_CASE("only NVIDIA gets the read-only flag, which has another meaning on AMD") {
  const auto keep_flags = [](hip::Api& api) {
    api.hipHostRegister = [](void*, std::size_t, unsigned flags) {
      last_flags = flags;
      return hip::hipSuccess;
    };
    api.hipHostUnregister = [](void*) { return hip::hipSuccess; };
  };
  Platforms platforms =
      core::make_platforms({}, std::make_shared<test::FakeModuleBinder>(keep_flags));
  const std::vector<std::byte> memory(100);
  for (const Platform platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
    CAPTURE(to_string(platform));
    const Device device = platforms.devices(platform).front();
    using enum RegisteredMemory::Access;
    const RegisteredMemory writable(device, memory, read_write);
    CHECK(last_flags == 0);
    const RegisteredMemory constant(device, memory, read_only);
    CHECK(last_flags == (platform == Platform::nvidia ? 8u : 0u));
  }
}
