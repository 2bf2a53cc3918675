// SPDX-License-Identifier: MIT
#include "load/place/place.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/platform_state.hpp"
#include "fakes/cpus_as_vendors.hpp"
#include "hip/binding.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t place_mib = 1u << 20;
constexpr std::uint64_t pib = std::uint64_t{1} << 50;

DeviceMemory gpu(const char* id, std::uint64_t free_bytes) {
  return {id, 2 * free_bytes, free_bytes, false};
}

struct PlaceFixture : test::ModelFixture {
  PlaceFixture() : others(options_of_four()), devices(others.devices(Platform::cpu)) {}
  static Platforms::Options options_of_four() {
    Platforms::Options options;
    options.cpu_devices = 4;
    return options;
  }
  LoadPlan plan_with(const std::vector<std::uint64_t>& arenas) const {
    LoadPlan plan = plan_load(model, std::span(devices).first(arenas.size()));
    for (std::size_t i = 0; i < arenas.size(); ++i) plan.devices[i].layout.arena_bytes = arenas[i];
    return plan;
  }

  Platforms others;
  std::vector<Device> devices;
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(PlaceFixture, "shortfall: an arena and its margin fit to the byte") {
  const auto text_for = [&](std::uint64_t arena, std::uint64_t free) {
    return load::shortfall_text(plan_with({arena}), std::vector{gpu("amd:0", free)});
  };
  CHECK(text_for(100 * place_mib, 164 * place_mib).empty());
  CHECK(text_for(100 * place_mib, 164 * place_mib - 1) ==
        "the model needs 100 MiB and a margin of 64.0 MiB on amd:0, where 164 MiB of 328 MiB are "
        "free: 1 B too little");
  CHECK(text_for(2000 * place_mib, 2100 * place_mib).empty());
  CHECK_FALSE(text_for(2000 * place_mib, 2100 * place_mib - 1).empty());
  CHECK(text_for(0, 0).empty());
  // The second plus 5 % wraps around to a small number.
  for (const std::uint64_t arena : {~std::uint64_t{0}, ~std::uint64_t{0} / 21 * 20 + 20}) {
    CHECK_FALSE(text_for(arena, 100 * place_mib).empty());
  }
}

TEST_CASE_FIXTURE(PlaceFixture, "shortfall: names each device that lacks memory") {
  const std::vector memory{gpu("amd:0", 100 * place_mib), gpu("amd:1", 100 * place_mib),
                           gpu("amd:2", place_mib)};
  const std::string text = load::shortfall_text(plan_with({pib, 10 * place_mib, pib}), memory);
  CHECK(contains(text, "1.00 PiB and a margin of 51.2 TiB on amd:0, where 100 MiB of 200 MiB"));
  CHECK(contains(text, " too little; and 1.00 PiB and a margin of 51.2 TiB on amd:2, where"));
  CHECK_FALSE(contains(text, "amd:1"));
}

TEST_CASE_FIXTURE(PlaceFixture, "shortfall: devices in host memory share its free bytes") {
  const std::uint64_t free = devices[0].memory().free_bytes;
  for (const DeviceMemory& one : read_memory(devices)) {
    CHECK(*one.free_bytes < free / 3);
    CHECK(*one.free_bytes > free / 5);
  }
  // Arenas of 3/4 of the free bytes fit one by one, but not together.
  const std::vector<DeviceMemory> memory(2, {"cpu:0", 800, 400, true});
  CHECK(load::shortfall_text(plan_with({600, 0}), memory).empty());
  CHECK(load::shortfall_text(plan_with({0, 600}), memory).empty());
  CHECK(contains(load::shortfall_text(plan_with({600, 600}), memory), "where 200 B of 800 B"));
}

TEST_CASE_FIXTURE(PlaceFixture,
                  "hints: name a split that holds the model, over as few devices as do") {
  const char* const last = "free memory on the device, or choose a larger one or a smaller model";
  const auto first = gpu("amd:0", 65 * place_mib);
  const auto second = gpu("amd:1", 65 * place_mib);
  const auto small = gpu("amd:2", 64 * place_mib);
  const auto hint = [&](std::vector<DeviceMemory> memory, std::vector<DeviceMemory> more) {
    return load::hint_for(model, memory, more);
  };
  CHECK(hint({first}, {}) == last);
  CHECK(hint({small}, {small}) == last);
  const std::string split = "split it: --device amd:0,amd:1 --split bytes (about ";
  CHECK(hint({first, second}, {small}).starts_with(split));
  CHECK(hint({first}, {second}).starts_with(split));
  CHECK(hint({first}, {second}).ends_with(std::string(") holds it; or ") + last));
}

TEST_CASE_FIXTURE(PlaceFixture, "other devices are those of the platform, none in host memory") {
  CHECK(load::read_other_memory(std::span(devices).first(1)).empty());
  std::vector<Device> gpus;
  {
    Platforms made = core::make_platforms({}, std::make_shared<test::CpusAsVendors>(3));
    gpus = {made.devices(Platform::nvidia)[1]};
  }
  const auto found = load::read_other_memory(gpus);
  REQUIRE(found.size() == 2);
  CHECK(found[0].id == "nvidia:0");
  CHECK(found[1].id == "nvidia:2");
  CHECK(found[1].total_bytes == gpus[0].info().memory_total_bytes);
  CHECK_FALSE(found[1].free_bytes.has_value());
}

TEST_CASE_FIXTURE(PlaceFixture, "place: without a context size there is a plan but no fit") {
  std::optional<LoadPlan> plan;
  std::optional<ModelFit> fit;
  load::place_model(model, devices, {SplitKind::layer, {}}, {}, plan, fit);
  REQUIRE(plan.has_value());
  CHECK(plan->devices.size() == 4);
  CHECK(plan->split == SplitKind::layer);
  CHECK_FALSE(fit.has_value());
  CHECK(test::code_of([&] { load::place_model(model, {}, {}, {}, plan, fit); }) ==
        ErrorCode::invalid_argument);
  // This format has its metadata in a config.json, which is missing.
  CHECK(test::code_of([&] {
          load::place_model(model, devices, {}, {16, {}}, plan, fit);
        }) == ErrorCode::input_failed);
}
