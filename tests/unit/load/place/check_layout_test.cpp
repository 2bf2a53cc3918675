// SPDX-License-Identifier: MIT
#include "load/place/check_layout.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "hiptool/async_loader.hpp"
#include "hiptool/error.hpp"
#include "hiptool/plan_loader.hpp"
#include "hiptool/self_test.hpp"
#include "hiptool/value_check.hpp"
#include "hiptool/verification.hpp"
#include "hiptool/verify.hpp"
#include "small_model.hpp"

using namespace hiptool;

namespace {

/// What a caller may get wrong in a layout, and how the library must answer.
struct LayoutFault {
  const char* name;
  std::function<void(ArenaLayout&)> plant;
  ErrorCode code;
  const char* text;  ///< part of the message
};

constexpr std::size_t large = 10;  // of various_tensors(): 1 000 003 bytes

std::vector<LayoutFault> layout_faults() {
  return {
      {"an index past the end", [](ArenaLayout& layout) { layout.placements[3].tensor = 13; },
       ErrorCode::out_of_bounds, "the layout places tensor 13 of a model with 13 tensors"},
      {"the largest index", [](ArenaLayout& layout) { layout.placements[3].tensor = ~0u; },
       ErrorCode::out_of_bounds, "of a model with 13 tensors"},
      {"an offset at the end of the arena",
       [](ArenaLayout& layout) { layout.placements[large].device_offset = layout.arena_bytes; },
       ErrorCode::out_of_bounds, "does not fit an arena of"},
      {"an offset that wraps around",
       [](ArenaLayout& layout) {
         layout.placements[large].device_offset = ~std::uint64_t{0} - 100;
       },
       ErrorCode::out_of_bounds, "does not fit an arena of"},
      {"an arena one byte too small", [](ArenaLayout& layout) { --layout.arena_bytes; },
       ErrorCode::out_of_bounds, "does not fit an arena of"},
      {"placements that overlap by one byte",
       [](ArenaLayout& layout) {
         const Placement& before = layout.placements[large];
         layout.placements[large + 1].device_offset = before.device_offset + 1'000'002;
       },
       ErrorCode::invalid_argument, "overlaps tensor 'blk.11.weight'"},
      {"placements out of order",
       [](ArenaLayout& layout) { std::swap(layout.placements[4], layout.placements[5]); },
       ErrorCode::invalid_argument, "or comes before it"},
      {"a tensor twice",
       [](ArenaLayout& layout) {
         layout.placements.push_back({layout.placements[0].tensor, layout.arena_bytes});
         layout.arena_bytes += 1;
         layout.tensor_bytes += 1;
       },
       ErrorCode::invalid_argument, "places tensor 'blk.1.weight' twice"},
      {"a wrong sum of bytes", [](ArenaLayout& layout) { layout.tensor_bytes += 1; },
       ErrorCode::invalid_argument, "is of another model"},
  };
}

struct Fixture : test::ModelFixture {
  LoadPlan plan = test::plan_of_one(device, layout);
  Buffer arena{device, layout.arena_bytes + 1024};
  std::span<const Buffer> arenas{&arena, 1};

  struct Entry {
    const char* name;
    std::function<void()> call;
  };

  /// Every public call that takes a layout or a plan, with those of this object.
  std::vector<Entry> entries() {
    return {
        {"AsyncLoader::load", [this] { AsyncLoader(device).load(model, plan_layout(), arena); }},
        {"AsyncLoader::probe",
         [this] { AsyncLoader(device).probe_read_bytes_per_s(model, plan_layout(), arena, 1000); }},
        {"PlanLoader", [this] { const PlanLoader loader(model, plan); }},
        {"Verification, two readings",
         [this] { Verification(model, plan, arenas, std::make_shared<FileDigests>(model)); }},
        {"Verification, slots", [this] { Verification(model, plan, arenas, nullptr); }},
        {"verify_readback", [this] { verify_readback(model, plan_layout(), arena); }},
        {"check_values", [this] { check_values(model, plan_layout(), arena); }},
        {"check_fit", [this] { check_fit(model, plan); }},
        {"join_results",
         [this] {
           VerifyResult result;
           result.tensor_digests.resize(model.tensors().size());
           join_results(model, plan, std::span(&result, 1));
         }},
        {"run_self_test",
         [this] {
           const LoadPlan good = test::plan_of_one(device, layout);
           Verification verification(model, good, arenas, nullptr);
           run_self_test(model, plan, arenas, verification);
         }},
    };
  }

  const ArenaLayout& plan_layout() const { return plan.devices.front().layout; }

  void check_refused(const std::function<void()>& call, ErrorCode code, const char* text) const {
    try {
      call();
      FAIL_CHECK("nothing was thrown");
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(error.code() == code);
      CHECK(message.find(text) != std::string::npos);
      CHECK_FALSE(error.hint().empty());
    }
  }
};

struct TwoDevices : Fixture {
  TwoDevices() {
    Platforms::Options two;
    two.cpu_devices = 2;
    others = std::make_unique<Platforms>(two);
    devices = others->devices(Platform::cpu);
    for (const Device& one : devices) buffers.emplace_back(one, layout.arena_bytes);
  }
  LoadPlan split() const { return plan_load(model, devices); }
  LoadPlan copies() const { return plan_load(model, devices, {SplitKind::replicate, {}}); }

  std::unique_ptr<Platforms> others;
  std::vector<Device> devices;
  std::vector<Buffer> buffers;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "layouts: what lay_out makes is accepted, whole, in parts and empty") {
  load::check_layout(model, layout, "test");
  const std::vector<std::uint32_t> chosen{10, 1, 5};
  load::check_layout(model, lay_out(model, chosen), "test");
  load::check_layout(model, {}, "test");
  load::check_arena(model, {}, Buffer(), "test");
  ArenaLayout with_room = layout;
  with_room.arena_bytes += 4096;
  load::check_layout(model, with_room, "test");
  for (const Entry& entry : entries()) {
    CAPTURE(entry.name);
    const std::string name = entry.name;
    if (name == "run_self_test") AsyncLoader(device).load(model, layout, arena);
    if (name != "run_self_test") CHECK_NOTHROW(entry.call());
  }
}

TEST_CASE_FIXTURE(Fixture, "layouts: every public entry refuses every kind of wrong layout") {
  for (const LayoutFault& fault : layout_faults()) {
    CAPTURE(fault.name);
    plan = test::plan_of_one(device, layout);
    fault.plant(plan.devices.front().layout);
    for (const Entry& entry : entries()) {
      CAPTURE(entry.name);
      check_refused(entry.call, fault.code, fault.text);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "layouts: that of another model is refused by every public entry") {
  std::vector<test::SmallTensor> others = tensors;
  others[large].bytes.resize(999'999);
  const ModelFile other =
      ModelFile::open(test::write_small_model(folder.path() / "o.safetensors", others));
  plan = test::plan_of_one(device, lay_out(other));
  for (const Entry& entry : entries()) {
    CAPTURE(entry.name);
    try {
      entry.call();
      FAIL_CHECK("nothing was thrown");
    } catch (const Error& error) {
      const bool is_argument =
          error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::out_of_bounds;
      CHECK(is_argument);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "layouts: no entry takes an arena that is too small or on no device") {
  const auto with = [this](const Buffer& memory) {
    arena = memory;
    return std::vector<Entry>{
        {"load", [this] { AsyncLoader(device).load(model, layout, arena); }},
        {"probe",
         [this] { AsyncLoader(device).probe_read_bytes_per_s(model, layout, arena, 1000); }},
        {"PlanLoader::load", [this] { PlanLoader(model, plan).load(arenas); }},
        {"PlanLoader::probe",
         [this] { PlanLoader(model, plan).probe_read_bytes_per_s(arenas, 1000); }},
        {"Verification", [this] { Verification(model, plan, arenas, nullptr); }},
        {"verify_readback", [this] { verify_readback(model, layout, arena); }},
        {"check_values", [this] { check_values(model, layout, arena); }},
    };
  };
  for (const Entry& entry : with(Buffer())) {
    CAPTURE(entry.name);
    check_refused(entry.call, ErrorCode::invalid_argument, "the arena is on no device");
  }
  for (const Entry& entry : with(Buffer(device, layout.arena_bytes - 1))) {
    CAPTURE(entry.name);
    check_refused(entry.call, ErrorCode::out_of_bounds, "is too small for a layout of");
  }
}

TEST_CASE_FIXTURE(TwoDevices, "layouts: an arena on another device is refused") {
  const LoadPlan one = test::plan_of_one(devices[0], layout);
  const std::span<const Buffer> foreign(&buffers[1], 1);
  const char* const text = "the arena is on cpu:1, not on cpu:0";
  const auto code = ErrorCode::invalid_argument;
  check_refused([&] { AsyncLoader(devices[0]).load(model, layout, buffers[1]); }, code, text);
  check_refused(
      [&] { AsyncLoader(devices[0]).probe_read_bytes_per_s(model, layout, buffers[1], 1000); },
      code, text);
  check_refused([&] { PlanLoader(model, one).load(foreign); }, code, text);
  check_refused([&] { PlanLoader(model, one).probe_read_bytes_per_s(foreign, 1000); }, code, text);
  check_refused([&] { Verification(model, one, foreign, nullptr); }, code, text);
  const auto bytes = test::random_bytes(16, 1);
  check_refused([&] { AsyncLoader(devices[0]).upload(buffers[1], bytes); }, code,
                "the buffer is on cpu:1, the loader on cpu:0");
}

TEST_CASE_FIXTURE(TwoDevices, "plans: what cannot be loaded is refused and names the device") {
  const auto code = ErrorCode::invalid_argument;
  const auto refuse = [&](const LoadPlan& wrong, ErrorCode expected, const char* text) {
    check_refused([&] { PlanLoader(model, wrong).prepare(); }, expected, text);
    check_refused([&] { Verification(model, wrong, buffers, nullptr); }, expected, text);
    check_refused([&] { check_fit(model, wrong); }, expected, text);
    check_refused([&] { join_results(model, wrong, std::vector<VerifyResult>(2)); }, expected,
                  text);
  };
  refuse({{}, SplitKind::replicate, {}}, code, "the plan has no device");
  LoadPlan wrong = split();
  wrong.devices[1].layout.placements.back().tensor = 99;
  refuse(wrong, ErrorCode::out_of_bounds, "cpu:1: ");
  wrong = split();
  wrong.devices[1].device = devices[0];
  refuse(wrong, code, "the plan has cpu:0 twice");
  wrong = copies();
  const std::vector<std::uint32_t> few{0, 2};
  wrong.devices[1].layout = lay_out(model, few);
  refuse(wrong, code, "the layouts of cpu:0 and cpu:1 differ");
}

TEST_CASE_FIXTURE(TwoDevices, "plans: one arena and one result for each device") {
  const LoadPlan plan_of_two = split();
  const auto code = ErrorCode::invalid_argument;
  const auto one = std::span<const Buffer>(buffers).first(1);
  const char* const text = "1 arenas were given for a plan of 2 devices";
  check_refused([&] { PlanLoader(model, plan_of_two).load(one); }, code, text);
  check_refused([&] { PlanLoader(model, plan_of_two).probe_read_bytes_per_s(one, 10); }, code,
                text);
  check_refused([&] { Verification(model, plan_of_two, one, nullptr); }, code, text);
  Verification verification(model, plan_of_two, buffers, nullptr);
  check_refused([&] { run_self_test(model, plan_of_two, one, verification); }, code, text);
  std::vector<VerifyResult> results(1);
  check_refused([&] { join_results(model, plan_of_two, results); }, code,
                "1 results were given for a plan of 2 devices");
  results.resize(2);
  check_refused([&] { join_results(model, plan_of_two, results); }, code,
                "the result of cpu:0 is of another model");
}

TEST_CASE_FIXTURE(TwoDevices, "verifications: that of another load is refused before it is read") {
  const auto code = ErrorCode::invalid_argument;
  const LoadPlan plan_of_two = split();
  Verification verification(model, plan_of_two, buffers, nullptr);
  PlanLoader(model, plan_of_two).load(buffers, &verification);
  CHECK(verification.finish().mismatch_count == 0);

  const std::vector<Buffer> elsewhere{Buffer(devices[0], layout.arena_bytes),
                                      Buffer(devices[1], layout.arena_bytes)};
  check_refused([&] { PlanLoader(model, plan_of_two).load(elsewhere, &verification); }, code,
                "the verification is of another arena or layout");
  check_refused([&] { AsyncLoader(devices[0]).load(model, layout, buffers[0], &verification); },
                code, "the verification is of another arena or layout");
  const ModelFile other = ModelFile::open(
      test::write_small_model(folder.path() / "o.safetensors", test::various_tensors()));
  check_refused([&] { PlanLoader(other, plan_of_two).load(buffers, &verification); }, code,
                "the verification is of another model");
  // Opened twice it is the same model.
  const ModelFile again = ModelFile::open(path);
  PlanLoader(again, plan_of_two).load(buffers, &verification);
  CHECK(verification.finish().mismatch_count == 0);
}

TEST_CASE_FIXTURE(Fixture, "layouts: an arena near 2^64 bytes does not fit any device") {
  // The second wraps to nothing with a margin of 5 %, which devices with memory of their own have.
  for (const std::uint64_t size_bytes : {~std::uint64_t{0}, ~std::uint64_t{0} / 21 * 20 + 20}) {
    plan.devices.front().layout.arena_bytes = size_bytes;
    CHECK(test::code_of([&] { check_fit(model, plan); }) == ErrorCode::out_of_memory);
  }
}

TEST_CASE_FIXTURE(TwoDevices, "plans: a change after they were checked has no effect") {
  LoadPlan changing = split();
  PlanLoader loader(model, changing);
  Verification verification(model, changing, buffers, nullptr);
  changing.devices.back().layout.placements.back().tensor = 99;
  changing.devices.erase(changing.devices.begin());
  loader.load(buffers, &verification);
  const VerifyResult result = verification.finish();
  CHECK(result.mismatch_count == 0);
  CHECK(result.compared_bytes == model.tensor_bytes());
}
