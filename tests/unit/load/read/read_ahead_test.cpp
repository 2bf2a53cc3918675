// SPDX-License-Identifier: MIT
#include "load/read/read_ahead.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cases.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"
#include "unit/load/evict.hpp"
#include "waiting.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t wanted_bytes = 2u << 20;

struct ReadAheadFixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = test::write_small_model(folder.path() / "m.safetensors",
                                                       {{"t", test::random_bytes(8'000'001, 1)}});
  ModelFile model = ModelFile::open(path);

  std::uint64_t cached_bytes() const { return system::cached_bytes(path).value_or(0); }
};

}  // namespace

TEST_CASE_FIXTURE(ReadAheadFixture, "a model's files are brought into the page cache") {
  if (!test::evict(path)) return test::skip_case(test::no_cold_file);
  load::ReadAhead ahead(model);
  CHECK(test::comes_true([&] { return cached_bytes() >= model.file_bytes(); }));
  const auto [bytes, duration_s] = ahead.stop();
  CHECK(bytes == model.file_bytes());
  CHECK(duration_s > 0);
  CHECK(ahead.stop().duration_s == duration_s);  // of the reads, not of the object
}

TEST_CASE_FIXTURE(ReadAheadFixture, "no more is read ahead than was wanted, also by the kernel") {
  if (!test::evict(path)) return test::skip_case(test::no_cold_file);
  load::ReadAhead ahead(model, nullptr, wanted_bytes);
  CHECK(test::comes_true([&] { return cached_bytes() >= wanted_bytes; }));
  CHECK(ahead.stop().bytes == wanted_bytes);
  CHECK(cached_bytes() == wanted_bytes);
}

TEST_CASE_FIXTURE(ReadAheadFixture, "a file that is damaged meanwhile is left to the load") {
  std::filesystem::resize_file(path, 1000);
  load::ReadAhead ahead(model);
  CHECK(ahead.stop().bytes == 0);
  std::filesystem::remove(path);
  load::ReadAhead absent(model);
  CHECK(absent.stop().bytes == 0);
}
