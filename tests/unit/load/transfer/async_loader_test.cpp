// SPDX-License-Identifier: MIT
#include "hiptool/async_loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <span>
#include <stdexcept>
#include <thread>

#include "buffer_bytes.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"
#include "support.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

struct AsyncLoaderFixture : test::ModelFixture {
  static AsyncLoader::Options staged(std::uint64_t slot_bytes) {
    AsyncLoader::Options options;
    options.slot_bytes = slot_bytes;
    return options;
  }
};

}  // namespace

TEST_CASE_FIXTURE(AsyncLoaderFixture, "four threads upload a thousand buffers") {
  AsyncLoader loader(device, staged(10'000));
  constexpr std::size_t each = test::is_sanitized ? 60 : 250;
  std::vector<Buffer> buffers(4 * each);
  std::vector<std::vector<std::byte>> contents(4 * each);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = thread * each; i < (thread + 1) * each; ++i) {
          contents[i] = test::random_bytes(i * 97 % 30'000, i);
          buffers[i] = Buffer(device, contents[i].size());
          auto source = contents[i];
          loader.upload(buffers[i], source);
          std::fill(source.begin(), source.end(), std::byte{0});  // may be reused at once
        }
      });
    }
  }
  loader.synchronize();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(test::bytes_of(buffers[i]) == contents[i]);
  }
  Buffer small(device, 3);
  CHECK(code_of([&] { loader.upload(small, test::random_bytes(4, 1)); }) ==
        ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(loader.stream(2)); }) == ErrorCode::out_of_bounds);
}

TEST_CASE_FIXTURE(AsyncLoaderFixture,
                  "streams of the caller are used, and refused from another device") {
  const Stream stream(device);
  auto options = staged(4'096);
  options.external_streams = {stream};
  AsyncLoader loader(device, options);
  CHECK(loader.stream_count() == 1);
  CHECK(loader.stream(0) == stream);
  Buffer target(device, 30'001);  // eight slots
  const auto bytes = test::random_bytes(30'001, 7);
  loader.upload(target, bytes);
  loader.synchronize();
  CHECK(test::bytes_of(target) == bytes);

  Platforms::Options two;
  two.cpu_devices = 2;
  Platforms others(two);
  const Stream foreign(others.devices(Platform::cpu)[1]);
  options.external_streams = {foreign};
  CHECK(code_of([&] { AsyncLoader bad(device, options); }) == ErrorCode::invalid_argument);
  AsyncLoader::Options zero;
  zero.slot_bytes = 0;
  CHECK(code_of([&] { AsyncLoader bad(device, zero); }) == ErrorCode::invalid_argument);
  for (const std::uint32_t slots : {4u, 5u}) {
    AsyncLoader::Options huge;
    huge.slot_bytes = std::uint64_t{1} << 62;
    huge.slots = slots;
    CHECK(code_of([&] { AsyncLoader bad(device, huge); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE_FIXTURE(AsyncLoaderFixture, "the stream with the least bytes queued is taken") {
  auto options = staged(1u << 20);
  options.streams = 2;
  options.slots = 8;
  AsyncLoader loader(device, options);
  std::promise<void> opened;
  loader.stream(0).launch_host_function(
      [future = opened.get_future().share()] { future.wait_for(std::chrono::seconds(20)); });
  Buffer target(device, 1u << 20);
  const auto large = test::random_bytes(1u << 20, 1);
  const auto small = test::random_bytes(1'000, 2);
  loader.upload(target, large);                              // to stream 0, held by the gate
  for (int i = 0; i < 3; ++i) loader.upload(target, small);  // all to stream 1
  loader.stream(1).synchronize();                            // would hang behind the gate otherwise
  CHECK_FALSE(loader.stream(0).is_done());
  opened.set_value();
  loader.synchronize();
}

TEST_CASE_FIXTURE(AsyncLoaderFixture, "bytes that are made in the slots arrive, by producers") {
  auto options = staged(4'096);
  options.producers = 3;
  AsyncLoader loader(device, options);
  CHECK(loader.slot_bytes() == 4'096);
  constexpr std::size_t each = 40;
  std::vector<Buffer> buffers(3 * each);
  std::vector<std::vector<std::byte>> contents(3 * each);
  std::atomic<std::size_t> queued{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t producer = 0; producer < 3; ++producer) {
      threads.emplace_back([&, producer] {
        for (std::size_t i = producer * each; i < (producer + 1) * each; ++i) {
          contents[i] = test::random_bytes(i * 97 % 4'097, i);
          buffers[i] = Buffer(device, contents[i].size());
          AsyncLoader::Upload upload;
          upload.producer = producer;
          upload.on_queued = [&](const Event&) { ++queued; };
          loader.upload_from(
              buffers[i],
              [&](std::span<std::byte> slot) {
                if (slot.size() != contents[i].size()) throw std::logic_error("another size");
                std::copy(contents[i].begin(), contents[i].end(), slot.begin());
              },
              upload);
        }
      });
    }
  }
  loader.synchronize();
  std::size_t not_empty = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(test::bytes_of(buffers[i]) == contents[i]);
    not_empty += contents[i].empty() ? 0u : 1u;
  }
  CHECK(queued == not_empty);
}

TEST_CASE_FIXTURE(AsyncLoaderFixture, "a function that throws queues nothing and keeps no slot") {
  auto options = staged(1'000);
  options.slots = 1;
  AsyncLoader loader(device, options);
  Buffer target(device, 1'000);
  Buffer larger(device, 1'001);
  const auto before = test::random_bytes(1'000, 1);
  loader.upload(target, before);
  for (int i = 0; i < 3; ++i) {  // more than there are slots
    CHECK_THROWS_AS(loader.upload_from(
                        target, [](std::span<std::byte>) { throw std::runtime_error("no bytes"); }),
                    std::runtime_error);
  }
  loader.synchronize();
  CHECK(test::bytes_of(target) == before);

  const auto nothing = [](std::span<std::byte>) {};
  CHECK(code_of([&] { loader.upload_from(larger, nothing); }) == ErrorCode::out_of_bounds);
  AsyncLoader::Upload other;
  other.producer = 1;
  CHECK(code_of([&] { loader.upload_from(target, nothing, other); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { loader.upload_from(target, AsyncLoader::Write()); }) ==
        ErrorCode::invalid_argument);
  AsyncLoader::Options none;
  none.producers = 0;
  CHECK(code_of([&] { AsyncLoader bad(device, none); }) == ErrorCode::invalid_argument);
}
