// SPDX-License-Identifier: MIT
/// The whole program while a write to an earlier address lands after the last copy: wrong data,
/// exit 5, whichever digests the device's are compared with. Runs over the cpu platform and the
/// fake CUDA driver that FAKE_CUDA names, or with HIPTOOL_TEST_PLATFORM=nvidia over the real one.
#include <doctest/doctest.h>

#include <cstdlib>

#include "fakes/wrapper_table.hpp"
#include "harness.hpp"
#include "small_model.hpp"

using namespace hiptool;
using cli::testing::contains;

namespace {

struct Place {
  Platform platform = Platform::cpu;
  std::string devices;
  std::string split;
  std::string damaged;  ///< the device with the largest part
  std::string library;  ///< of the platform; empty: the one that is found
};

std::vector<Place> places() {
  const char* platform = std::getenv("HIPTOOL_TEST_PLATFORM");
  if (platform != nullptr && std::string(platform) == "nvidia") {
    return {{Platform::nvidia, "nvidia:0", "bytes", "nvidia:0", ""}};
  }
  std::vector<Place> found{{Platform::cpu, "cpu:0", "bytes", "cpu:0", ""},
                           {Platform::cpu, "cpu:0,cpu:1", "1,3", "cpu:1", ""}};
  if (const char* library = std::getenv("FAKE_CUDA")) {
    found.push_back({Platform::nvidia, "nvidia:0", "bytes", "nvidia:0", library});
    found.push_back({Platform::nvidia, "nvidia:0,nvidia:1", "1,3", "nvidia:1", library});
  }
  return found;
}

/// The registry's platforms, two cpu devices among them, behind wrapper tables.
class LateBinder final : public hip::Binder {
 public:
  explicit LateBinder(const Place& place) : place_(place) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::BindRequest chosen = request;
    chosen.cpu_devices = 2;
    if (platform == place_.platform && !place_.library.empty()) chosen.library = place_.library;
    return wrapper_.bind(platform, chosen);
  }
  void damage() const { wrapper_.table(place_.platform)->damage_largest(0); }

 private:
  const Place& place_;
  test::WrapperBinder wrapper_{hip::make_registry()};
};

/// 32 tensors of 1 MiB, so that there are many chunks.
std::vector<test::SmallTensor> make_tensors() {
  std::vector<test::SmallTensor> tensors;
  for (int i = 0; i < 32; ++i) {
    tensors.push_back({"blk." + std::to_string(i) + ".w",
                       std::vector<std::byte>(1u << 20, static_cast<std::byte>(i + 1))});
  }
  return tensors;
}

}  // namespace

TEST_CASE("a write that lands after the last copy is exit 5 in full and fast") {
  const test::TemporaryFolder folder;
  const std::string path =
      test::write_small_model(folder.path() / "m.safetensors", make_tensors()).string();
  for (const Place& place : places()) {
    for (const std::string mode : {"full", "fast"}) {
      CAPTURE(place.devices);
      CAPTURE(place.library);
      CAPTURE(mode);
      const auto binder = std::make_shared<LateBinder>(place);
      cli::testing::Machine machine;
      machine.binder = binder;
      // The line comes when the last copy has arrived.
      machine.err.on_write = [&](std::string_view text) {
        if (contains(text, "load: ")) binder->damage();
      };
      const int code = machine.run({"load", path, "--device", place.devices, "--split", place.split,
                                    "--verify", mode, "--format", "json"});
      CAPTURE(machine.err.text);
      CHECK(code == 5);
      CHECK(contains(machine.out.text, "\"status\": \"mismatch\""));
      CHECK(contains(machine.out.text, "\"device_offset\": 0,"));
      CHECK(contains(machine.out.text, "\"device\": \"" + place.damaged + "\""));
      CHECK(contains(machine.out.text, "\"bytes\": 1\n"));
    }
  }
}
