// SPDX-License-Identifier: MIT
/// Fails each HIP call, one per run, and checks how the program ends. The device is nvidia:0 on the
/// cpu platform, or the real one with HIPTOOL_TEST_PLATFORM=nvidia.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "fakes/wrapper_table.hpp"
#include "harness.hpp"
#include "hip/cpu/accounting.hpp"
#include "small_model.hpp"

using namespace hiptool;
using cli::testing::contains;
using test::LiveCounts;
using test::WrapperBinder;
using test::WrapperTable;

namespace {

struct Fault {
  std::string call;
  std::uint64_t nth = 1;
  hip::hipError_t code = hip::hipErrorUnknown;
};

// Wraps the GPU platform and arms one fault as soon as it is bound.
class FaultyBinder final : public hip::Binder {
 public:
  explicit FaultyBinder(Fault fault) : fault_(std::move(fault)), wrapper_(inner()) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    if (platform != Platform::nvidia) return FakeBinder(1).bind(platform, request);
    hip::Binding binding = wrapper_.bind(platform, request);
    if (!fault_.call.empty()) table().fail(fault_.call, fault_.code, fault_.nth);
    return binding;
  }

  WrapperTable& table() const { return *wrapper_.table(Platform::nvidia); }

 private:
  using FakeBinder = cli::testing::FakeBinder;

  static std::shared_ptr<hip::Binder> inner() {
    const char* platform = std::getenv("HIPTOOL_TEST_PLATFORM");
    if (platform != nullptr && std::string(platform) == "nvidia") return hip::make_registry();
    return std::make_shared<FakeBinder>(1);
  }

  Fault fault_;
  WrapperBinder wrapper_;
};

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
  LiveCounts live;
  std::map<std::string, std::uint64_t> counts;
};

Outcome run(const std::vector<std::string>& words, const Fault& fault) {
  const auto binder = std::make_shared<FaultyBinder>(fault);
  cli::testing::Machine machine;
  machine.binder = binder;
  Outcome outcome;
  outcome.exit_code = machine.run(words);
  outcome.out = machine.out.text;
  outcome.err = machine.err.text;
  outcome.live = binder->table().live();
  hip::Api::for_each([&](auto, std::string_view name, hip::Need) {
    outcome.counts[std::string(name)] = binder->table().count(name);
  });
  return outcome;
}

// The first eight calls and the last one, because each may be another place in the code.
std::vector<std::uint64_t> places(std::uint64_t count) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t nth = 1; nth <= std::min<std::uint64_t>(count, 8); ++nth) {
    places.push_back(nth);
  }
  if (count > 8) places.push_back(count);
  return places;
}

const std::set<std::string> releases{"hipFree",          "hipHostFree",     "hipHostUnregister",
                                     "hipStreamDestroy", "hipEventDestroy", "hipModuleUnload"};
const std::set<std::string> unknowns{"hipDeviceGetAttribute",      "hipDeviceGetName",
                                     "hipDeviceGetUuid",           "hipDeviceGetPCIBusId",
                                     "hipDeviceTotalMem",          "hipGetDevicePropertiesR0600",
                                     "hipGetDevicePropertiesR0000"};
// These return text and cannot fail.
const std::set<std::string> texts{"hipGetErrorName", "hipGetErrorString"};

struct LoadFixture {
  test::TemporaryFolder folder;
  std::string path =
      test::write_small_model(folder.path() / "m.safetensors", test::various_tensors()).string();
  std::vector<std::string> words{"load", path, "--verbose", "--device", "nvidia:0"};
};

}  // namespace

TEST_CASE_FIXTURE(LoadFixture, "load without a fault is verified and leaves nothing") {
  const Outcome clean = run(words, {});
  CAPTURE(clean.err);
  CHECK(clean.exit_code == 0);
  CHECK(contains(clean.out, "verified"));
  CHECK(clean.live.is_empty());
  CHECK(clean.counts.at("hipMalloc") >= 1);
  CHECK(clean.counts.at("hipHostRegister") >= 1);
  CHECK(clean.counts.at("hipMemcpyAsync") >= 2);
}

TEST_CASE_FIXTURE(LoadFixture, "load: whichever call fails, it is named and all memory is freed") {
  const Outcome clean = run(words, {});
  REQUIRE(clean.exit_code == 0);
  int runs = 0;
  for (const auto& entry : clean.counts) {  // no binding: clang 14 captures none in a lambda
    const std::string& call = entry.first;
    const std::uint64_t count = entry.second;
    if (texts.contains(call)) continue;
    for (const std::uint64_t nth : places(count)) {
      CAPTURE(call);
      CAPTURE(nth);
      const Outcome faulty = run(words, {call, nth});
      CAPTURE(faulty.out);
      CAPTURE(faulty.err);
      CHECK(faulty.live.is_empty());
      if (faulty.counts.at(call) < nth) continue;  // threads took another path: no fault
      ++runs;
      CHECK(contains(faulty.err, call));
      if (releases.contains(call) || unknowns.contains(call)) {
        CHECK(faulty.exit_code == 0);
        CHECK(contains(faulty.out, "verified"));
      } else if (faulty.exit_code == 0) {
        // A guard that cannot put a device back, or a wait that a destructor repeats.
        CHECK(contains(faulty.out, "verified"));
      } else {
        CHECK(faulty.exit_code == 6);
        CHECK(contains(faulty.err, "error: "));
        CHECK_FALSE(contains(faulty.out, "verified"));
      }
    }
  }
  CHECK(runs > 40);
}

TEST_CASE_FIXTURE(LoadFixture, "load: no memory is exit 3, a lost device says so, both in JSON") {
  words.insert(words.end(), {"--format", "json"});
  const Outcome full = run(words, {"hipMalloc", 1, hip::hipErrorOutOfMemory});
  CHECK(full.exit_code == 3);
  CHECK(contains(full.out, "\"code\": \"out_of_memory\""));
  CHECK(contains(full.out, "\"name\": \"hipErrorOutOfMemory\""));
  CHECK(contains(full.out, "\"status\": \"failed\""));
  CHECK(contains(full.err, " are free"));
  const Outcome lost = run(words, {"hipEventSynchronize", 1, hip::hipErrorIllegalAddress});
  CHECK(lost.exit_code == 6);
  CHECK(contains(lost.out, "\"code\": \"device_lost\""));
  CHECK(lost.live.is_empty());
}

TEST_CASE("devices: whichever call fails, the device is listed and the call is traced") {
  const std::vector<std::string> words{"devices", "--verbose"};
  const Outcome clean = run(words, {});
  REQUIRE(clean.exit_code == 0);
  REQUIRE(contains(clean.out, "nvidia:0"));
  int runs = 0;
  for (const auto& entry : clean.counts) {  // no binding: clang 14 captures none in a lambda
    const std::string& call = entry.first;
    const std::uint64_t count = entry.second;
    if (texts.contains(call)) continue;
    for (std::uint64_t nth = 1; nth <= count; ++nth) {
      CAPTURE(call);
      CAPTURE(nth);
      const Outcome faulty = run(words, {call, nth});
      CAPTURE(faulty.out);
      CAPTURE(faulty.err);
      CHECK(faulty.exit_code == 0);
      CHECK(contains(faulty.out, "nvidia:0"));
      CHECK(contains(faulty.err, call));
      CHECK(faulty.live.is_empty());
      ++runs;
    }
  }
  CHECK(runs > 10);
}

TEST_CASE_FIXTURE(LoadFixture, "a corrupted copy is wrong data: exit 5, the tensor is named") {
  // The binder arms faults only; the damage is set when the table exists, before the run.
  class Damaging final : public hip::Binder {
   public:
    hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
      hip::Binding binding = wrapper_.bind(platform, request);
      if (platform == Platform::nvidia) wrapper_.table(platform)->corrupt_copy(1, 300);
      return binding;
    }

   private:
    WrapperBinder wrapper_{std::make_shared<cli::testing::FakeBinder>(1)};
  };
  cli::testing::Machine machine;
  machine.binder = std::make_shared<Damaging>();
  // Read back: a verification by digests copies its table, which could be the first copy.
  words.insert(words.end(), {"--format", "json", "--verify", "readback"});
  CHECK(machine.run(words) == 5);
  CHECK(contains(machine.out.text, "\"status\": \"mismatch\""));
  // Which chunk is copied first is up to the readers.
  CHECK(contains(machine.out.text, "\"tensor\": \""));
  CHECK(contains(machine.out.text, "\"device_offset\": "));
  CHECK(contains(machine.out.text, "\"bytes\": 1"));
}
