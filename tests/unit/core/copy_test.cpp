// SPDX-License-Identifier: MIT
#include "hiptool/copy.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/binding.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "support.hpp"

using namespace hiptool;

// Whoever catches the failure may use the memory for something else at once. Pageable memory would
// prove nothing: the cpu platform copies it before the call returns.
TEST_CASE("a copy whose wait failed has ended when the error is thrown") {
  const auto binder = std::make_shared<test::WrapperBinder>(hip::make_registry());
  Platforms platforms = core::make_platforms({}, binder);
  const Device device = platforms.devices(Platform::cpu).front();
  test::WrapperTable& table = *binder->table(Platform::cpu);
  const std::vector<std::byte> sent(100'000, std::byte{0x66});
  Buffer buffer(device, sent.size());
  PinnedBuffer pinned(device, sent.size());
  std::vector<std::byte> found(sent.size());
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    copy_h2d_and_wait(buffer, sent);
    std::fill_n(pinned.data(), pinned.size_bytes(), std::byte{0});
    table.delay_streams(seed, std::chrono::milliseconds(10));
    table.fail("hipStreamSynchronize", hip::hipErrorUnknown);
    CHECK_THROWS_AS(copy_d2h_and_wait(pinned.bytes(), buffer), Error);
    CHECK(std::equal(sent.begin(), sent.end(), pinned.data()));

    table.fail("hipStreamSynchronize", hip::hipErrorUnknown);
    std::fill_n(pinned.data(), pinned.size_bytes(), std::byte{0x77});
    CHECK_THROWS_AS(copy_h2d_and_wait(buffer, pinned.bytes()), Error);
    std::fill_n(pinned.data(), pinned.size_bytes(), std::byte{0});
    table.reset();
    copy_d2h_and_wait(found, buffer);
    CHECK(found == std::vector<std::byte>(sent.size(), std::byte{0x77}));
  }
}
