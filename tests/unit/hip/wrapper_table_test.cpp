// SPDX-License-Identifier: MIT
#include "fakes/wrapper_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hiptool::test {
namespace {

using namespace hip;  // HIP's names, which this file is all about

std::atomic<int> inner_frees{0};

/// A table on the heap, with just the calls that the tests make.
Api make_heap_api() {
  inner_frees = 0;
  Api api = make_unsupported_api();
  api.hipMalloc = [](void** pointer, std::size_t bytes) {
    *pointer = bytes != 0 ? std::malloc(bytes) : nullptr;
    return hipSuccess;
  };
  api.hipFree = [](void* pointer) {
    ++inner_frees;
    std::free(pointer);
    return hipSuccess;
  };
  api.hipMemcpyAsync = [](void* to, const void* from, std::size_t bytes, hipMemcpyKind,
                          hipStream_t) {
    std::memcpy(to, from, bytes);
    return hipSuccess;
  };
  api.hipStreamSynchronize = [](hipStream_t) { return hipSuccess; };
  api.hipHostRegister = [](void*, std::size_t, unsigned) { return hipSuccess; };
  api.hipHostUnregister = [](void*) { return hipSuccess; };
  api.hipEventQuery = [](hipEvent_t) { return hipErrorNotReady; };
  return api;
}

}  // namespace

TEST_CASE("every call goes through its own wrapper") {
  const WrapperTable table(make_unsupported_api());
  std::size_t calls = 0;
  Api::for_each([&](auto member, std::string_view name, Need) {
    CAPTURE(std::string(name));
    const auto call = table.api().*member;
    REQUIRE((call != nullptr));
    [&]<class Result, class... Arguments>(Result (*function)(Arguments...)) {
      static_cast<void>(function(Arguments{}...));
    }(call);
    ++calls;
    CHECK(table.count(name) == 1);
    CHECK(table.trace().back() == name);
  });
  CHECK(table.total_count() == calls);
  CHECK(table.live().is_empty());
}

TEST_CASE("results and arguments pass through") {
  const WrapperTable table(make_heap_api());
  CHECK(table.api().hipEventQuery(nullptr) == hipErrorNotReady);
  CHECK(table.api().hipMemsetAsync(nullptr, 0, 1, nullptr) == hipErrorNotSupported);
  int to = 0;
  const int from = 7;
  CHECK(table.api().hipMemcpyAsync(&to, &from, sizeof(to), hipMemcpyDefault, nullptr) ==
        hipSuccess);
  CHECK(to == 7);
}

TEST_CASE("the chosen calls fail and the others do not") {
  WrapperTable table(make_heap_api());
  void* pointer = nullptr;
  table.fail("hipMalloc", hipErrorOutOfMemory, 2, 2);
  CHECK(table.api().hipMalloc(&pointer, 8) == hipSuccess);
  CHECK(table.api().hipFree(pointer) == hipSuccess);
  CHECK(table.api().hipMalloc(&pointer, 8) == hipErrorOutOfMemory);
  CHECK(table.api().hipMalloc(&pointer, 8) == hipErrorOutOfMemory);
  CHECK(table.api().hipMalloc(&pointer, 8) == hipSuccess);
  CHECK(table.live().device_memory == 1);
  CHECK(table.api().hipFree(pointer) == hipSuccess);
  CHECK(table.live().is_empty());
  CHECK_THROWS_AS(table.fail("hipNothing", hipErrorUnknown), std::invalid_argument);
  CHECK_THROWS_AS(table.fail("hipMalloc", hipErrorUnknown, 0), std::invalid_argument);
}

TEST_CASE("a release that is made to fail releases all the same") {
  WrapperTable table(make_heap_api());
  void* pointer = nullptr;
  CHECK(table.api().hipMalloc(&pointer, 8) == hipSuccess);
  table.fail("hipFree", hipErrorIllegalAddress);
  CHECK(table.api().hipFree(pointer) == hipErrorIllegalAddress);
  CHECK(inner_frees == 1);
  CHECK(table.live().is_empty());
}

TEST_CASE("what is made and released is counted, null is not") {
  WrapperTable table(make_heap_api());
  void* pointer = nullptr;
  CHECK(table.api().hipMalloc(&pointer, 0) == hipSuccess);
  CHECK(table.api().hipFree(nullptr) == hipSuccess);
  CHECK(table.live().is_empty());
  int page = 0;
  CHECK(table.api().hipHostRegister(&page, 4, 0) == hipSuccess);
  CHECK(table.live().registrations == 1);
  table.reset();
  CHECK(table.live().registrations == 1);
  CHECK(table.total_count() == 0);
  CHECK(table.trace().empty());
  CHECK(table.api().hipHostUnregister(&page) == hipSuccess);
  CHECK(table.live().is_empty());
}

TEST_CASE("one byte of the chosen copy is damaged") {
  WrapperTable table(make_heap_api());
  const std::array<unsigned char, 4> from{1, 2, 3, 4};
  std::array<unsigned char, 4> to{};
  table.corrupt_copy(2, 3);
  CHECK(table.api().hipMemcpyAsync(to.data(), from.data(), 4, hipMemcpyDefault, nullptr) ==
        hipSuccess);
  CHECK(to == from);
  CHECK(table.api().hipMemcpyAsync(to.data(), from.data(), 4, hipMemcpyDefault, nullptr) ==
        hipSuccess);
  CHECK(to == std::array<unsigned char, 4>{1, 2, 3, 0xFB});
  CHECK(table.api().hipMemcpyAsync(to.data(), from.data(), 4, hipMemcpyDefault, nullptr) ==
        hipSuccess);
  CHECK(to == from);
}

TEST_CASE("one byte of the largest memory is damaged when all work of its device is done") {
  static std::vector<int> waited;  // devices, in the order of the waits
  static int current;
  waited.clear();
  current = 1;
  Api inner = make_heap_api();
  inner.hipGetDevice = [](int* device) {
    *device = current;
    return hipSuccess;
  };
  inner.hipSetDevice = [](int device) {
    current = device;
    return hipSuccess;
  };
  inner.hipDeviceSynchronize = [] {
    waited.push_back(current);
    return hipSuccess;
  };
  WrapperTable table(inner);
  CHECK_THROWS_AS(table.damage_largest(0), std::logic_error);
  void* small = nullptr;
  void* large = nullptr;
  table.api().hipMalloc(&small, 4);
  table.api().hipMalloc(&large, 8);
  std::memset(small, 1, 4);
  std::memset(large, 2, 8);
  current = 0;
  table.damage_largest(7);
  CHECK(static_cast<unsigned char*>(large)[7] == 0xFD);
  CHECK(waited == std::vector<int>{1});
  CHECK(current == 0);
  CHECK_THROWS_AS(table.damage_largest(8), std::logic_error);
  table.api().hipFree(large);
  table.damage_largest(0);
  CHECK(static_cast<unsigned char*>(small)[0] == 0xFE);
  table.api().hipFree(small);
}

TEST_CASE("a function runs before the n-th call, once") {
  WrapperTable table(make_heap_api());
  std::vector<std::uint64_t> counts;
  table.run_before(
      "hipEventQuery", [&] { counts.push_back(table.count("hipEventQuery")); }, 2);
  for (int i = 0; i < 4; ++i) table.api().hipEventQuery(nullptr);
  CHECK(counts == std::vector<std::uint64_t>{2});
  CHECK_THROWS_AS(table.run_before("hipNothing", [] {}), std::invalid_argument);
}

TEST_CASE("a delayed call takes its time") {
  WrapperTable table(make_heap_api());
  table.delay("hipEventQuery", std::chrono::milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  table.api().hipEventQuery(nullptr);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20));
}

TEST_CASE("work on streams is held back, by the seed, and not on the null stream") {
  static std::vector<int> held;  // how often a delay stood before each piece of work
  Api inner = make_heap_api();
  inner.hipLaunchHostFunc = [](hipStream_t, hipHostFn_t function, void* data) {
    ++held.back();
    function(data);
    return hipSuccess;
  };
  WrapperTable table(inner);
  std::array<int, 3> streams{};
  const auto stream = [&](std::size_t index) {
    return reinterpret_cast<hipStream_t>(&streams[index]);
  };
  const auto pattern = [&](hipStream_t chosen, std::size_t others) {
    held.clear();
    int to = 0;
    const int from = 1;
    for (int i = 0; i < 40; ++i) {
      held.push_back(0);
      const hipStream_t used = others == 0 ? chosen : stream(static_cast<std::size_t>(i) % others);
      table.api().hipMemcpyAsync(&to, &from, sizeof to, hipMemcpyDefault, used);
    }
    return held;
  };
  const std::vector<int> none(40, 0);
  CHECK(pattern(stream(0), 0) == none);
  table.delay_streams(1, std::chrono::microseconds(20));
  const std::vector<int> first = pattern(nullptr, 3);
  CHECK(first != none);
  CHECK(*std::max_element(first.begin(), first.end()) == 1);
  table.delay_streams(1, std::chrono::microseconds(20));
  CHECK(pattern(nullptr, 3) == first);
  table.delay_streams(2, std::chrono::microseconds(20));
  CHECK(pattern(nullptr, 3) != first);
  CHECK(pattern(nullptr, 0) == none);
  table.reset();
  CHECK(pattern(nullptr, 3) == none);
}

TEST_CASE("streams have paces of their own: some are prompt, some are slow") {
  static std::chrono::microseconds slept{0};
  Api inner = make_heap_api();
  inner.hipLaunchHostFunc = [](hipStream_t, hipHostFn_t function, void* data) {
    slept += *static_cast<std::chrono::microseconds*>(data);  // the function sleeps so long
    function(data);
    return hipSuccess;
  };
  WrapperTable table(inner);
  table.delay_streams(3, std::chrono::milliseconds(4));
  std::array<int, 12> streams{};
  int prompt = 0;
  int slow = 0;
  for (int& stream : streams) {
    slept = {};
    int to = 0;
    const int from = 1;
    for (int i = 0; i < 6; ++i) {
      table.api().hipMemcpyAsync(&to, &from, sizeof to, hipMemcpyDefault,
                                 reinterpret_cast<hipStream_t>(&stream));
    }
    if (slept.count() == 0) ++prompt;
    if (slept >= std::chrono::milliseconds(4)) ++slow;
  }
  CHECK(prompt >= 1);
  CHECK(slow >= 1);
}

TEST_CASE("a runtime without host functions has no delays, and what it refuses is not lost") {
  WrapperTable table(make_heap_api());
  table.delay_streams(1, std::chrono::milliseconds(1));
  std::array<int, 8> streams{};
  int to = 0;
  const int from = 7;
  for (int& stream : streams) {
    CHECK(table.api().hipMemcpyAsync(&to, &from, sizeof to, hipMemcpyDefault,
                                     reinterpret_cast<hipStream_t>(&stream)) == hipSuccess);
  }
  CHECK(to == 7);
}

TEST_CASE("threads are counted together") {
  WrapperTable table(make_heap_api());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&table] {
      for (int k = 0; k < 250; ++k) {
        void* pointer = nullptr;
        table.api().hipMalloc(&pointer, 8);
        table.api().hipFree(pointer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(table.count("hipMalloc") == 1000);
  CHECK(table.trace().size() == 2000);
  CHECK(table.live().is_empty());
}

TEST_CASE("wrappers nest, slots are limited, and a table outlives its wrapper") {
  const Api* left_over = nullptr;
  {
    const WrapperTable inner(make_heap_api());
    const WrapperTable outer(inner.api());
    CHECK(outer.api().hipEventQuery(nullptr) == hipErrorNotReady);
    CHECK(inner.count("hipEventQuery") == 1);
    const WrapperTable third(make_heap_api());
    const WrapperTable fourth(make_heap_api());
    CHECK_THROWS_AS(WrapperTable{make_unsupported_api()}, std::logic_error);
    left_over = &outer.api();
  }
  CHECK(left_over->hipEventQuery(nullptr) == hipErrorNotReady);
}

TEST_CASE("a binder's tables are wrapped, a binding without a table is left alone") {
  class OnlyCpu final : public Binder {
   public:
    Binding bind(Platform platform, const BindRequest&) override {
      static const Api api = make_heap_api();
      Binding binding;
      binding.status.platform = platform;
      if (platform == Platform::cpu) binding.api = &api;
      return binding;
    }
  };
  WrapperBinder binder(std::make_shared<OnlyCpu>());
  CHECK(binder.bind(Platform::amd, {}).api == nullptr);
  CHECK(binder.table(Platform::amd) == nullptr);
  const Binding binding = binder.bind(Platform::cpu, {});
  REQUIRE(binder.table(Platform::cpu) != nullptr);
  binding.api->hipEventQuery(nullptr);
  CHECK(binder.table(Platform::cpu)->count("hipEventQuery") == 1);
}

}  // namespace hiptool::test
