// SPDX-License-Identifier: MIT
#include "load/place/check_arenas.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "hiptool/async_loader.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/readback.hpp"
#include "load/verify/verification.hpp"
#include "small_model.hpp"
#include "unit/load/device_loader.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

struct Fixture : test::ModelFixture {
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

  std::unique_ptr<Platforms> others;
  std::vector<Device> devices;
  std::vector<Buffer> buffers;
};

}  // namespace

TEST_CASE_FIXTURE(TwoDevices,
                  "arenas: too few, too small, on no device or another one are refused") {
  const LoadPlan plan = split();
  const auto refuse = [&](const std::vector<Buffer>& arenas, ErrorCode code, const char* text) {
    CAPTURE(text);
    check_refused([&] { Transfer(model, plan).load(arenas); }, code, text);
    check_refused([&] { Transfer(model, plan).probe_read_bytes_per_s(arenas, 10); }, code, text);
    check_refused([&] { Verification(model, plan, arenas, nullptr); }, code, text);
    for (const VerifyMode mode : {VerifyMode::none, VerifyMode::full, VerifyMode::readback}) {
      LoadOptions options;
      options.verify = mode;
      options.arenas = arenas;
      if (arenas.empty()) continue;
      check_refused([&] { static_cast<void>(load_model(model, devices, options)); }, code, text);
    }
  };
  const auto wrong = ErrorCode::invalid_argument;
  refuse({buffers[0]}, wrong, "1 arenas were given for a plan of 2 devices");
  refuse({}, wrong, "0 arenas were given for a plan of 2 devices");
  refuse({buffers[0], Buffer()}, wrong, "the arena for cpu:1 is on no device");
  refuse({buffers[1], buffers[1]}, wrong, "the arena is on cpu:1, not on cpu:0");
  const std::uint64_t needed = plan.devices[1].layout.arena_bytes;
  refuse({buffers[0], buffers[1].view(0, needed - 1)}, ErrorCode::out_of_bounds,
         "is too small for a layout of");
  const std::vector<Buffer> exact{buffers[0], buffers[1].view(0, needed)};
  load::check_arenas(plan, exact, "load");
  const auto bytes = test::random_bytes(16, 1);
  check_refused([&] { AsyncLoader(devices[0]).upload(buffers[1], bytes); }, wrong,
                "the buffer is on cpu:1, the loader on cpu:0");
}

TEST_CASE_FIXTURE(TwoDevices, "arenas: a device without tensors needs none") {
  const std::vector<test::SmallTensor> one{{"a", test::random_bytes(300, 1)}};
  const ModelFile small =
      ModelFile::open(test::write_small_model(folder.path() / "s.safetensors", one));
  LoadOptions options;
  options.arenas = {Buffer(devices[0], 300), Buffer()};
  CHECK(load_model(small, devices, options).report().status == LoadStatus::verified);
}

TEST_CASE_FIXTURE(TwoDevices, "results: one for each device of the plan") {
  const LoadPlan plan_of_two = split();
  const auto code = ErrorCode::invalid_argument;
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
  Transfer(model, plan_of_two).load(buffers, &verification);
  CHECK(verification.finish().mismatch_count == 0);

  const std::vector<Buffer> elsewhere{Buffer(devices[0], layout.arena_bytes),
                                      Buffer(devices[1], layout.arena_bytes)};
  check_refused([&] { Transfer(model, plan_of_two).load(elsewhere, &verification); }, code,
                "the verification is of another arena or layout");
  check_refused(
      [&] { test::DeviceLoader(devices[0]).load(model, layout, buffers[0], &verification); }, code,
      "the verification is of another arena or layout");
  const ModelFile other = ModelFile::open(
      test::write_small_model(folder.path() / "o.safetensors", test::various_tensors()));
  check_refused([&] { Transfer(other, plan_of_two).load(buffers, &verification); }, code,
                "the verification is of another model");
  // Opened twice it is the same model.
  const ModelFile again = ModelFile::open(path);
  Transfer(again, plan_of_two).load(buffers, &verification);
  CHECK(verification.finish().mismatch_count == 0);
}

TEST_CASE_FIXTURE(TwoDevices, "plans: a change after they were checked has no effect") {
  LoadPlan changing = split();
  Transfer loader(model, changing);
  Verification verification(model, changing, buffers, nullptr);
  changing.devices.back().layout.placements.back().tensor = 99;
  changing.devices.erase(changing.devices.begin());
  loader.load(buffers, &verification);
  const VerifyResult result = verification.finish();
  CHECK(result.mismatch_count == 0);
  CHECK(result.compared_bytes == model.tensor_bytes());
}
