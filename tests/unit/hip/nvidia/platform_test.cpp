// SPDX-License-Identifier: MIT
/// Binding against fakes. Cases run in the order of this file: a driver that was usable is kept
/// by the process, so what must fail comes first.
#include <doctest/doctest.h>

#include "cases.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

/// The leak check of clang 14 crashes over two mapped libraries that each have thread-local memory.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }

namespace hiptool::hip {
namespace {

using doctest::Contains;

PlatformStatus bind_library(const std::string& library, const std::filesystem::path& root) {
  BindRequest request;
  request.library = library;
  request.system_root = root.string();
  return bind_nvidia(request).status;
}

PlatformStatus bind_with_init(int result, const std::filesystem::path& root) {
  setenv("FAKE_CUDA_INIT", std::to_string(result).c_str(), 1);
  PlatformStatus status = bind_library(test::fake_library("FAKE_CUDA"), root);
  unsetenv("FAKE_CUDA_INIT");
  return status;
}

}  // namespace

TEST_CASE("a library that is nowhere") {
  test::TemporaryTree tree;
  const PlatformStatus none = bind_library("libcuda-nowhere.so.1", tree.root());
  CHECK(none.platform == Platform::nvidia);
  CHECK_FALSE(none.usable);
  CHECK(none.library.empty());
  CHECK(none.reason == "libcuda-nowhere.so.1 was not found and no NVIDIA GPU is on the PCI bus");
  REQUIRE(none.tried.size() == 1);
  CHECK(none.tried[0].c_str() == Contains("No such file"));

  tree.write("sys/module/nvidia/version", "580.159.04\n");
  const PlatformStatus loaded = bind_library("libcuda-nowhere.so.1", tree.root());
  CHECK(loaded.driver_version == "580.159.04");
  CHECK(loaded.reason.c_str() == Contains("though the NVIDIA kernel driver 580.159.04 is loaded"));
  CHECK(loaded.hint.c_str() == Contains("580.159.04"));
}

TEST_CASE("a file that is no library") {
  test::TemporaryTree tree;
  const PlatformStatus status = bind_library(tree.write("libcuda.so.1"), tree.root());
  CHECK(status.library.empty());
  CHECK(status.reason.c_str() == Contains("could not be loaded"));
}

TEST_CASE("a driver without a required symbol is named with the symbol") {
  test::TemporaryTree tree;
  const PlatformStatus status =
      bind_library(test::fake_library("FAKE_CUDA_WITHOUT_REQUIRED"), tree.root());
  CHECK_FALSE(status.usable);
  CHECK(status.library.empty());
  CHECK(status.reason.c_str() == Contains("lacks cuMemAlloc_v2"));
  CHECK_FALSE(status.hint.empty());
}

TEST_CASE("what cuInit answers is explained") {
  test::TemporaryTree tree;
  tree.write("sys/module/nvidia/version", "580.159.04\n");
  struct Expected {
    int result;
    const char* reason;
    const char* hint;
  };
  for (const Expected& expected : {
           Expected{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "reboot"},
           Expected{802, "(802)", "nvidia-fabricmanager"},
           Expected{34, "stub for linking", "stubs folder"},
           Expected{804, "forward compatibility", "compat folder"},
           Expected{100, "CUDA_ERROR_NO_DEVICE (100)", ""},
           Expected{999, "CUDA_ERROR_UNKNOWN (999)", ""},
           Expected{46, "(46)", "compute mode"},
           Expected{3, "CUDA_ERROR_NOT_INITIALIZED (3)", ""},
       }) {
    CAPTURE(expected.result);
    const PlatformStatus status = bind_with_init(expected.result, tree.root());
    CHECK_FALSE(status.usable);
    CHECK(status.device_count == 0);
    CHECK_FALSE(status.library.empty());
    CHECK(status.runtime_version == "13.0");
    CHECK(status.reason.c_str() == Contains(expected.reason));
    CHECK(status.hint.c_str() == Contains(expected.hint));
    CHECK_FALSE(status.hint.empty());
  }
  CHECK(bind_with_init(803, tree.root()).reason.c_str() == Contains("580.159.04"));
}

TEST_CASE("the table of a driver that does not start can be called") {
  BindRequest request;
  request.library = test::fake_library("FAKE_CUDA");
  setenv("FAKE_CUDA_INIT", "803", 1);
  const Binding binding = bind_nvidia(request);
  REQUIRE(binding.api != nullptr);
  CHECK(static_cast<int>(binding.api->hipInit(0)) == 803);
  unsetenv("FAKE_CUDA_INIT");
  int count = -1;
  CHECK(binding.api->hipGetDeviceCount(&count) == hipErrorNoDevice);
  CHECK(count == 0);
  void* pointer = nullptr;
  CHECK(binding.api->hipMalloc(&pointer, 16) == hipErrorNoDevice);
  CHECK(binding.api->hipFree(nullptr) == hipSuccess);
}

TEST_CASE("a driver without devices") {
  test::TemporaryTree tree;
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  BindRequest request;
  request.library = test::fake_library("FAKE_CUDA");
  request.system_root = tree.root().string();
  const PlatformStatus by_user = bind_nvidia(request).status;
  request.hides_devices = true;
  const PlatformStatus by_program = bind_nvidia(request).status;
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("FAKE_CUDA_DEVICES");
  CHECK_FALSE(by_user.usable);
  CHECK(by_user.reason.c_str() == Contains("lists no device"));
  CHECK(by_user.hint.c_str() == Contains("CUDA_VISIBLE_DEVICES is set to \"7\""));
  // What the program itself has set is nothing that its user could unset.
  CHECK(by_program.hint.find("CUDA_VISIBLE_DEVICES") == std::string::npos);
}

TEST_CASE("the toolkit's own stub is told for what it is") {
  const char* stub = std::getenv("CUDA_STUB");
  if (stub == nullptr || !std::filesystem::exists(stub)) {
    return test::skip_case("no CUDA toolkit is installed (nvcc)");
  }
  test::TemporaryTree tree;
  const PlatformStatus status = bind_library(stub, tree.root());
  CHECK_FALSE(status.usable);
  CHECK(status.library == stub);
  CHECK(status.reason.c_str() == Contains("stub for linking"));
}

TEST_CASE("a usable driver is bound, and kept") {
  test::TemporaryTree tree;
  const std::string library = test::fake_library("FAKE_CUDA");
  for (int turn = 0; turn < 2; ++turn) {
    const PlatformStatus status = bind_library(library, tree.root());
    CHECK(status.usable);
    CHECK(status.device_count == 2);
    CHECK(status.library == library);
    CHECK(status.runtime_version == "13.0");
    CHECK(status.reason.empty());
    CHECK(status.hint.empty());
  }
  test::TemporaryTree other;
  const std::filesystem::path copy = other.root() / "libcuda.so.1";
  std::filesystem::copy_file(library, copy);
  const PlatformStatus refused = bind_library(copy.string(), other.root());
  CHECK_FALSE(refused.usable);
  CHECK(refused.reason.c_str() == Contains("already uses"));
}

}  // namespace hiptool::hip
