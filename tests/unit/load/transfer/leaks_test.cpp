// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "buffer_bytes.hpp"
#include "cases.hpp"
#include "small_model.hpp"
#include "unit/load/counted_heap.hpp"
#include "unit/load/device_loader.hpp"
#include "unit/load/watched_device.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

std::size_t entries_of(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator first(folder);
  return static_cast<std::size_t>(std::distance(begin(first), end(first)));
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a thousand loads leak nothing") {
  constexpr int loads = test::is_sanitized ? 200 : 1'000;
  test::WatchedDevice watched;
  const test::TemporaryFolder folder;
  const std::vector<test::SmallTensor> tensors{{"a", test::random_bytes(20'000, 1)},
                                               {"b", test::random_bytes(70'001, 2)}};
  const auto path = test::write_small_model(folder.path() / "m.safetensors", tensors);
  const auto expected = test::expected_arena(tensors);
  const auto load_once = [&](int number) {
    const ModelFile model = ModelFile::open(path);
    const ArenaLayout layout = lay_out(model);
    TransferOptions options;
    options.slot_bytes = 40'000;
    options.readers = 2;
    options.slots = 1;
    options.parts = number % 3 == 0 ? 4 : 1;
    options.always_stage = number % 2 == 0;
    options.read.mode = number % 4 < 2 ? ReadMode::automatic : ReadMode::direct;
    options.read.direct_request_bytes = 64u << 10;
    if (number % 100 == 0) watched.table.reset();  // its trace grows with every call
    test::DeviceLoader loader(watched.device, options);
    const Buffer arena(watched.device, layout.arena_bytes);
    loader.load(model, layout, arena);
    if (number % 100 != 0) return;
    REQUIRE(test::bytes_of(arena) == expected);
  };
  for (int i = 0; i < 100; ++i) load_once(i);
  watched.table.reset();
  const auto live = watched.table.live();
  const auto memory = watched.device.memory();
  const std::int64_t heap_bytes = test::live_heap_bytes;
  const std::uint64_t resident = resident_bytes();
  const std::size_t descriptors = entries_of("/proc/self/fd");
  const std::size_t threads = entries_of("/proc/self/task");
  for (int i = 100; i < loads; ++i) load_once(i);
  watched.table.reset();
  CHECK(watched.table.live().device_memory == live.device_memory);
  CHECK(watched.table.live().registrations == live.registrations);
  CHECK(watched.table.live().streams == live.streams);
  CHECK(watched.table.live().events == live.events);
  CHECK(entries_of("/proc/self/fd") == descriptors);
  // Threads end a moment after they are joined or let go, so a few may be there at either time.
  CHECK(entries_of("/proc/self/task") <= threads + 4);
  // The free memory of the processor and of fakes is that of the whole machine.
  const bool is_fake = std::getenv("HIPTOOL_HIP_LIBRARY") != nullptr ||
                       std::getenv("HIPTOOL_CUDA_LIBRARY") != nullptr;
  if (!watched.device.is_host_memory() && !is_fake) {
    CHECK(watched.device.memory().free_bytes + (1u << 20) >= memory.free_bytes);
  }
  if (test::is_sanitized) return;
  // A thread that was let go frees what it ran a moment after its load.
  const auto heap_is_back = [&] { return test::live_heap_bytes <= heap_bytes + 4'096; };
  CHECK(test::comes_true(heap_is_back));
  // 900 mappings of the smallest buffer would be 60 MiB.
  CHECK(resident_bytes() <= resident + (16u << 20));
}
