// SPDX-License-Identifier: MIT
#include "measure/collective/exchange.hpp"

#include <doctest/doctest.h>

#include "cases.hpp"
#include "hiptool/error.hpp"
#include "measure/coherence/coherence.hpp"
#include "sanitized.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

struct CpuDevices {
  explicit CpuDevices(int count)
      : platforms([count] {
          Platforms::Options options;
          options.cpu_devices = count;
          return options;
        }()) {
    for (int i = 0; i < count; ++i)
      devices.push_back(find_device(platforms, "cpu:" + std::to_string(i)));
  }

  Platforms platforms;
  std::vector<Device> devices;
};

bool is_skipped() {
  if (test::is_sanitized)
    test::skip_case("kernels that wait for each other run one after the other here");
  return test::is_sanitized;
}

}  // namespace

TEST_CASE("exchange: every size and number of devices") {
  if (is_skipped()) return;
  for (const int count : {2, 3, 4}) {
    CpuDevices cpu(count);
    for (const std::uint64_t size : {1u, 4096u, 100'000u}) {
      for (const ExchangeKind kind : {ExchangeKind::ring, ExchangeKind::all_to_all}) {
        for (const bool through_host : {false, true}) {
          CAPTURE(count);
          CAPTURE(size);
          CAPTURE(through_host);
          ExchangeOptions options;
          options.size_bytes = size;
          options.rounds = 3;
          options.samples = 2;
          options.timeout_s = 200;
          options.through_host = through_host;
          const ExchangeResult result = measure_exchange(cpu.devices, kind, options);
          CAPTURE(result.reason);
          CHECK(result.status == report::Status::ok);
          CHECK(result.size_bytes >= size);
          CHECK(result.size_bytes % (16u * static_cast<unsigned>(count)) == 0);
          CHECK(result.rounds == 9);
          // All of each device, after the first launch and after the last.
          CHECK(result.checked == 2 * static_cast<unsigned>(count) * result.size_bytes / 4);
          CHECK(result.samples_s.size() == 2);
          CHECK(result.through_host_reason.empty() != through_host);
        }
      }
    }
  }
}

TEST_CASE("exchange: a cancelled one ends") {
  if (is_skipped()) return;
  CpuDevices cpu(2);
  CancelToken cancel;
  ExchangeOptions options;
  options.timeout_s = 200;
  options.cancel = &cancel;
  std::size_t steps = 0;
  options.on_step = [&](const std::string&) {
    if (++steps == 3) cancel.cancel();
  };
  try {
    measure_exchange(cpu.devices, ExchangeKind::ring, options);
    FAIL("it was not cancelled");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}

TEST_CASE("coherence: every kind of memory, and a cancelled one ends") {
  CpuDevices cpu(1);
  CancelToken cancel;
  for (const SharedMemoryKind kind : all_shared_memory_kinds()) {
    CoherenceOptions options;
    options.rounds = 9;
    options.phase_bytes = 64 << 10;
    options.timeout_s = 200;
    options.cancel = &cancel;
    const CoherenceResult result = measure_coherence(cpu.devices.front(), kind, options);
    CAPTURE(result.reason);
    CHECK(result.status == report::Status::ok);
    CHECK(result.rounds == 9 + 4);
    CHECK(result.has_turns);
    // Half of the words by either side in each turn; three reads of each phase.
    const std::uint64_t words = (64 << 10) / 4;
    CHECK(result.checked == 9 * words / 2 + 4 * 3 * words);
  }
  cancel.cancel();
  CoherenceOptions options;
  options.cancel = &cancel;
  CHECK_THROWS_AS(measure_coherence(cpu.devices.front(), SharedMemoryKind::pinned, options), Error);
}
