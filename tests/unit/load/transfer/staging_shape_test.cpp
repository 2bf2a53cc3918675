// SPDX-License-Identifier: MIT
#include "load/transfer/staging_shape.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace hiptool::load;

namespace {

constexpr std::uint64_t one_mib = 1u << 20;
constexpr std::uint64_t model_bytes = 13ull << 30;

}  // namespace

TEST_CASE("staging: the shapes that were measured to be the fastest on H200 machines") {
  const StagingShape one = choose_staging({16, 300 * one_mib}, 1, model_bytes, true);
  CHECK(one.readers == 16);
  CHECK(one.slots == 8);
  CHECK(one.parts == 16);
  CHECK(one.slot_bytes == 8 * one_mib);
}

TEST_CASE("staging: each reader has slots of its own where readers wait for a disk") {
  const StagingShape one = choose_staging({16, 300 * one_mib}, 1, model_bytes, false);
  CHECK(one.readers == 16);
  CHECK(one.slots == 2);
  CHECK(one.parts == 1);
  CHECK(one.slot_bytes == 4 * one_mib);
  const StagingShape two = choose_staging({32, 300 * one_mib}, 2, model_bytes / 2, false);
  CHECK(two.readers == 14);
  CHECK(two.slot_bytes == one_mib * 7 / 4);
  const StagingShape four = choose_staging({64, 600 * one_mib}, 4, model_bytes / 4, false);
  CHECK(four.readers == 14);
  CHECK(four.slot_bytes == one_mib);
}

TEST_CASE("staging: bounds hold for any host and any number of devices") {
  for (const std::uint32_t cores : {1u, 2u, 8u, 64u, 512u}) {
    for (const std::uint64_t cache : {0ull, 8ull, 300ull, 4096ull}) {
      for (const std::uint32_t devices : {1u, 2u, 8u, 16u}) {
        for (const std::uint64_t bytes : {std::uint64_t{1}, 3 * one_mib, model_bytes}) {
          CAPTURE(cores);
          CAPTURE(cache);
          CAPTURE(devices);
          CAPTURE(bytes);
          for (const bool is_shared : {false, true}) {
            const StagingShape shape =
                choose_staging({cores, cache * one_mib}, devices, bytes, is_shared);
            CHECK(shape.readers >= 1);
            CHECK(shape.readers <= 16);
            CHECK((shape.readers == 1 || shape.readers * devices <= cores));
            CHECK(shape.slot_bytes >= one_mib);
            CHECK(shape.slot_bytes <= (is_shared ? 8 : 4) * one_mib);
            CHECK(shape.slot_bytes % (one_mib / 4) == 0);
            CHECK(shape.total_bytes() <= 160 * one_mib);
            CHECK(shape.total_bytes() <= 2 * bytes + 2 * shape.slots * shape.readers * one_mib);
          }
        }
      }
    }
  }
}

TEST_CASE("staging: a small cache has small slots, many devices share it") {
  CHECK(choose_staging({8, 32 * one_mib}, 1, model_bytes, false).slot_bytes == 2 * one_mib);
  CHECK(choose_staging({16, 1024 * one_mib}, 1, model_bytes, false).slot_bytes == 4 * one_mib);
  CHECK(choose_staging({16, 220 * one_mib}, 1, model_bytes, false).slot_bytes == 3 * one_mib);
  CHECK(choose_staging({64, 1024 * one_mib}, 2, model_bytes, false).slot_bytes == 4 * one_mib);
  CHECK(choose_staging({32, 32 * one_mib}, 2, model_bytes, false).slot_bytes == one_mib * 3 / 2);
  CHECK(choose_staging({32, 0}, 2, model_bytes, false).slot_bytes == one_mib * 3 / 2);
  CHECK(choose_staging({64, 1024 * one_mib}, 4, model_bytes, false).slot_bytes == one_mib);
  CHECK(choose_staging({8, 32 * one_mib}, 1, model_bytes, true).slot_bytes == 4 * one_mib);
  CHECK(choose_staging({8, 0}, 1, model_bytes, true).slot_bytes == 8 * one_mib);
}
