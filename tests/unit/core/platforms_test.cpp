// SPDX-License-Identifier: MIT
#include "hiptool/platform.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "core/platform_state.hpp"
#include "fakes/cpus_as_vendors.hpp"
#include "hip/binding.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/stream.hpp"
#include "waiting.hpp"

using namespace hiptool;

namespace {

constexpr int thread_count = 16;

// Counts, and waits until all threads have arrived while one binds.
class CountingBinder final : public hip::Binder {
 public:
  std::atomic<int> binds{0};
  std::atomic<int> failures_left{0};  ///< binds that throw
  std::atomic<int> unusable_left{0};  ///< binds that find nothing

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    ++binds;
    test::become_idle();
    if (failures_left.fetch_sub(1) > 0) throw std::bad_alloc();
    if (unusable_left.fetch_sub(1) > 0) {
      hip::Binding binding;
      binding.status.platform = platform;
      binding.status.reason = "not yet";
      return binding;
    }
    return hip::bind_cpu(request);
  }
};

void on_all_threads(const std::function<void()>& function) {
  std::barrier start(thread_count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      function();
    });
  }
}

}  // namespace

TEST_CASE("a platform is bound once, however many threads request it") {
  const auto binder = std::make_shared<CountingBinder>();
  Platforms platforms = core::make_platforms(Platforms::Options{}, binder);
  std::atomic<int> usable{0};
  std::atomic<const void*> api{nullptr};
  std::atomic<int> different{0};
  on_all_threads([&] {
    if (platforms.status(Platform::cpu).usable) ++usable;
    const auto devices = platforms.devices(Platform::cpu);
    if (devices.size() != 1) return;
    const void* first = nullptr;
    const void* own = &core::state_of(devices[0]);
    if (!api.compare_exchange_strong(first, own) && first != own) ++different;
  });
  CHECK(binder->binds == 1);
  CHECK(usable == thread_count);
  CHECK(api != nullptr);
  CHECK(different == 0);
}

TEST_CASE("an unusable platform is searched for once; another Platforms may find it") {
  const auto binder = std::make_shared<CountingBinder>();
  binder->unusable_left = 1;
  Platforms first = core::make_platforms(Platforms::Options{}, binder);
  std::atomic<int> unusable{0};
  on_all_threads([&] {
    if (!first.status(Platform::cpu).usable && first.devices(Platform::cpu).empty()) ++unusable;
  });
  CHECK(unusable == thread_count);
  CHECK(binder->binds == 1);
  CHECK(first.status(Platform::cpu).reason == "not yet");
  Platforms second = core::make_platforms(Platforms::Options{}, binder);
  CHECK(second.status(Platform::cpu).usable);
  CHECK_FALSE(first.status(Platform::cpu).usable);
}

TEST_CASE("a bind that throws reaches one caller and the others try again") {
  const auto binder = std::make_shared<CountingBinder>();
  binder->failures_left = 3;
  Platforms platforms = core::make_platforms(Platforms::Options{}, binder);
  std::atomic<int> usable{0};
  std::atomic<int> failed{0};
  on_all_threads([&] {
    try {
      if (platforms.status(Platform::cpu).usable) ++usable;
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  });
  CHECK(failed == 3);
  CHECK(usable == thread_count - 3);
  CHECK(binder->binds == 4);
}

TEST_CASE("devices of a restricted driver keep the ids that they have without") {
  Platforms::Options options;
  options.nvidia_ordinals = {1, 3};
  Platforms platforms = core::make_platforms(options, std::make_shared<test::CpusAsVendors>(2));
  const auto devices = platforms.devices(Platform::nvidia);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].id() == "nvidia:1");
  CHECK(devices[1].id() == "nvidia:3");
  CHECK(devices[1].ordinal() == 3);
  CHECK(devices[1].native_handle() == 1);
  CHECK(find_device(platforms, "nvidia:3") == devices[1]);
  CHECK(find_device(platforms, "nvidia") == devices[0]);
  for (const char* hidden : {"nvidia:0", "nvidia:2", "nvidia:4"}) {
    CAPTURE(std::string(hidden));
    CHECK_THROWS_AS(find_device(platforms, hidden), Error);
  }
  CHECK(platforms.devices(Platform::cpu)[1].id() == "cpu:1");
  // Everything else goes to the right device of the runtime.
  Buffer first(devices[0], 4096);
  Buffer second(devices[1], 4096);
  const std::vector<std::byte> sent(4096, std::byte{42});
  copy_h2d_and_wait(first, sent);
  const Stream stream(devices[1]);
  copy_peer(second, first, stream);
  stream.synchronize();
  std::vector<std::byte> found(4096);
  copy_d2h_and_wait(found, second);
  CHECK(found == sent);
  CHECK(can_access_peer(devices[0], devices[1]));
}

TEST_CASE("a driver that shows more devices than were left visible keeps its own numbers") {
  Platforms::Options options;
  options.nvidia_ordinals = {1};
  Platforms platforms = core::make_platforms(options, std::make_shared<test::CpusAsVendors>(2));
  const auto devices = platforms.devices(Platform::nvidia);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].id() == "nvidia:0");
  CHECK(find_device(platforms, "nvidia:1") == devices[1]);
}
