// SPDX-License-Identifier: MIT
/// Binding against fakes. Cases run in the order of this file: a runtime that was usable is
/// kept XX
#include <doctest/doctest.h>

#include <atomic>
#include <map>

#include "base/dynamic_library.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using doctest::Contains;

Binding bind_library(const std::string& library, const std::filesystem::path& root) {
  BindRequest request;
  request.library = library;
  request.system_root = root.string();
  return bind_amd(request);
}

std::string expected_version() {
  const std::map<std::string, std::string> versions{{"50221153", "5.2.21153"},
                                                    {"60443484", "6.4.43484"},
                                                    {"70253211", "7.2.53211"},
                                                    {"71500001", "7.15.1"},
                                                    {"100100001", "10.1.1"}};
  return versions.at(test::fake_library("FAKE_HIP_NUMBER"));
}

}  // namespace

TEST_CASE("a library that is nowhere") {
  test::TemporaryTree tree;
  const PlatformStatus status = bind_library("libamdhip64-nowhere.so.5", tree.root()).status;
  CHECK(status.platform == Platform::amd);
  CHECK_FALSE(status.usable);
  CHECK(status.reason == "libamdhip64-nowhere.so.5 was not found and no AMD GPU is on the PCI bus");
  CHECK(status.tried == std::vector<std::string>{"not found: libamdhip64-nowhere.so.5"});

  tree.write("sys/bus/pci/devices/0000:65:00.0/vendor", "0x1002\n");
  tree.write("sys/bus/pci/devices/0000:65:00.0/device", "0x74a1\n");
  tree.write("sys/bus/pci/devices/0000:65:00.0/class", "0x120000\n");
  const PlatformStatus seen = bind_library("libamdhip64-nowhere.so.5", tree.root()).status;
  CHECK(seen.reason.c_str() == Contains("though there is an AMD GPU at 0000:65:00.0"));
  CHECK(seen.hint.c_str() == Contains("HIPTOOL_HIP_LIBRARY"));
}

TEST_CASE("a file that is no library, and one that lacks a required symbol") {
  test::TemporaryTree tree;
  const PlatformStatus text = bind_library(tree.write("libamdhip64.so.7"), tree.root()).status;
  CHECK(text.library.empty());
  CHECK(text.reason.c_str() == Contains("could not be loaded"));
  const PlatformStatus lacking =
      bind_library(test::fake_library("FAKE_HIP_WITHOUT_REQUIRED"), tree.root()).status;
  CHECK(lacking.library.empty());
  CHECK(lacking.reason.c_str() == Contains("lacks hipMalloc, hipStreamQuery"));
  CHECK_FALSE(lacking.hint.empty());
  REQUIRE(lacking.tried.size() == 1);
  CHECK(lacking.tried[0].c_str() == Contains("lacks hipMalloc, hipStreamQuery"));
}

TEST_CASE("an installed runtime whose dependency is missing is told apart") {
  test::TemporaryTree tree;
  const PlatformStatus status = bind_library(test::fake_library("FAKE_NEEDY"), tree.root()).status;
  CHECK(status.library.empty());
  CHECK(status.reason.c_str() ==
        Contains("is installed, its dependency libhiptool-missing.so.1 is missing"));
  CHECK(status.hint.c_str() == Contains("libhiptool-missing.so.1"));
}

TEST_CASE("a chosen ROCm folder wins, past a file that is no library") {
  test::TemporaryTree tree;
  tree.write("rocm/lib/libamdhip64.so.99");
  const std::filesystem::path library = tree.root() / "rocm/lib/libamdhip64.so.7";
  std::filesystem::copy_file(test::fake_library("FAKE_HIP"), library);
  setenv("ROCM_PATH", "/rocm", 1);
  setenv("FAKE_HIP_DEVICES", "0", 1);
  const PlatformStatus status = bind_library("", tree.root()).status;
  unsetenv("FAKE_HIP_DEVICES");
  unsetenv("ROCM_PATH");
  CHECK(status.library == library);
  REQUIRE_FALSE(status.tried.empty());
  CHECK(status.tried[0].c_str() == Contains("libamdhip64.so.99"));
}

TEST_CASE("no device is 100 in HIP 7 and 101 in HIP 5") {
  test::TemporaryTree tree;
  for (const char* code : {"100", "101"}) {
    setenv("FAKE_HIP_INIT", code, 1);
    const Binding binding = bind_library(test::fake_library("FAKE_HIP"), tree.root());
    unsetenv("FAKE_HIP_INIT");
    CHECK(binding.api != nullptr);
    CHECK_FALSE(binding.status.usable);
    CHECK_FALSE(binding.status.library.empty());
    CHECK(binding.status.reason.c_str() == Contains("reports no device"));
  }
  setenv("FAKE_HIP_DEVICES", "0", 1);
  CHECK(bind_library(test::fake_library("FAKE_HIP"), tree.root()).status.reason.c_str() ==
        Contains("reports no device"));
  unsetenv("FAKE_HIP_DEVICES");
  setenv("FAKE_HIP_INIT", "3", 1);
  CHECK(bind_library(test::fake_library("FAKE_HIP"), tree.root()).status.reason.c_str() ==
        Contains("does not start: hipErrorNotInitialized (3)"));
  unsetenv("FAKE_HIP_INIT");
}

TEST_CASE("a version that no release has is judged by the functions that came with HIP 6") {
  test::TemporaryTree tree;
  const std::string library = test::fake_library("FAKE_HIP");
  const bool has_new_layout = test::fake_library("FAKE_HIP_MAJOR") != "5";
  setenv("FAKE_HIP_DEVICES", "0", 1);  // so that none of these is kept
  const std::map<std::string, std::string> versions{
      {"0", "reports no version"},     {"-5", "reports no version"},
      {"10100000", "version 1.1.0"},   {"30000000", "version 3.0.0"},
      {"80000000", "version 8.0.0"},   {"90512345", "version 9.5.12345"},
      {"110000000", "version 11.0.0"}, {"990000000", "version 99.0.0"}};
  const auto is_newer = [](const std::string& version) { return std::stoi(version) >= 80000000; };
  for (const auto& entry : versions) {
    const std::string& version = entry.first;
    const std::string& words = entry.second;
    CAPTURE(version);
    setenv("FAKE_HIP_VERSION", version.c_str(), 1);
    const Binding binding = bind_library(library, tree.root());
    CAPTURE(binding.status.reason);
    CHECK((binding.api != nullptr) == has_new_layout);
    if (has_new_layout) {
      CHECK(binding.status.library == library);
      CHECK(binding.status.note.c_str() == Contains(words.c_str()));
      CHECK(binding.status.note.c_str() ==
            Contains(is_newer(version) ? "uses it as HIP 7"
                                       : "relies on the functions that it exports"));
    } else {
      CHECK(binding.status.library.empty());
      CHECK(binding.status.reason.c_str() == Contains(words.c_str()));
      CHECK(binding.status.reason.c_str() == Contains("hipGetDevicePropertiesR0600"));
      CHECK(binding.status.hint.c_str() == Contains("version 5 or newer"));
      REQUIRE(binding.status.tried.size() == 1);
      CHECK(binding.status.tried[0].c_str() == Contains(words.c_str()));
    }
  }
  unsetenv("FAKE_HIP_VERSION");
  const bool is_known = test::fake_library("FAKE_HIP_MAJOR") != "10";
  CHECK(bind_library(library, tree.root()).status.note.empty() == is_known);
  unsetenv("FAKE_HIP_DEVICES");
}

TEST_CASE("a usable runtime is bound") {
  test::TemporaryTree tree;
  const std::string library = test::fake_library("FAKE_HIP");
  const Binding binding = bind_library(library, tree.root());
  REQUIRE(binding.api != nullptr);
  const Api& hip = *binding.api;
  CHECK(binding.status.usable);
  CHECK(binding.status.device_count == 2);
  CHECK(binding.status.library == library);
  CHECK(binding.status.reason.empty());
  CHECK(binding.status.release.empty());
  CHECK(binding.status.runtime_version == expected_version());

  int page = 0;
  CHECK(hip.hipHostRegister(&page, 4, hipHostRegisterReadOnly | hipHostRegisterPortable) ==
        hipSuccess);
  CHECK(hip.hipHostUnregister(&page) == hipSuccess);
  std::string error;
  const auto opened = base::DynamicLibrary::open(library, error);
  REQUIRE(opened);
  const auto* flags =
      static_cast<std::atomic<unsigned>*>(opened->symbol("fake_hip_register_flags"));
  REQUIRE(flags != nullptr);
  CHECK(*flags == hipHostRegisterPortable);
}

TEST_CASE("a second runtime is refused, the first one bound again") {
  test::TemporaryTree tree;
  const std::string library = test::fake_library("FAKE_HIP");
  const Binding again = bind_library(library, tree.root());
  CHECK(again.status.usable);
  const std::filesystem::path copy = tree.root() / "libamdhip64.so.7";
  std::filesystem::copy_file(library, copy);
  const Binding other = bind_library(copy.string(), tree.root());
  CHECK(other.api == nullptr);
  CHECK(other.status.reason.c_str() == Contains("already uses"));
}

}  // namespace hiptool::hip
