// SPDX-License-Identifier: MIT
/// What the releases of AMD's runtime do otherwise, each seen twice: as the fake answers it
/// (else the second half would prove nothing) and through the platform's table, which answers as
/// HIP 7 whatever the release. FAKE_HIP names the fake, FAKE_HIP_MAJOR its release.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/dynamic_library.hpp"
#include "cases.hpp"
#include "hip/amd/runtime.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/properties.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

int release() { return std::stoi(test::fake_library("FAKE_HIP_MAJOR")); }

const base::DynamicLibrary& library() {
  static const auto opened = [] {
    std::string error;
    auto found = base::DynamicLibrary::open(test::fake_library("FAKE_HIP"), error);
    if (!found) throw std::runtime_error(error);
    return *found;
  }();
  return opened;
}

/// The release's own calls.
const Api& raw() {
  static const Api table = [] {
    Api api{};
    if (!amd::load_runtime(library(), api).empty()) throw std::runtime_error("a call is missing");
    return api;
  }();
  return table;
}

/// The platform's table.
const Api& adapted() {
  static const Binding binding = [] {
    BindRequest request;
    request.library = test::fake_library("FAKE_HIP");
    return bind_amd(request);
  }();
  REQUIRE(binding.status.usable);
  return *binding.api;
}

bool has(const char* name) { return library().symbol(name) != nullptr; }

/// The suite's kernels for all targets; empty where the build could not make them.
/// Empty, and the case skipped, where the build made no AMD images.
std::vector<char> read_bundle() {
  const std::string path = test::fake_library("FAKE_HIP_BUNDLE");
  if (path.empty()) {
    test::skip_case("this build has no AMD image for the fake device");
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bundle{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(bundle.empty());
  return bundle;
}

bool is_rdna() {
  const char* arch = std::getenv("FAKE_HIP_ARCH");
  return arch != nullptr && std::string(arch).starts_with("gfx1");
}

}  // namespace

TEST_CASE("each release has its own symbols") {
  CHECK(has("hipGetDeviceProperties"));
  CHECK(has("hipGetDevicePropertiesR0600") == (release() >= 6));
  CHECK(has("hipGetDevicePropertiesR0000") == (release() >= 6));
  CHECK(has("hipLaunchHostFunc") == (release() >= 6));
  CHECK(has("hiprtcCompileProgram") == (release() <= 6));
  CHECK(has("hipStreamAddCallback"));
}

TEST_CASE("names and architecture come from the layout that the release has") {
  const auto names = read_device_names(adapted(), 1);
  REQUIRE(names);
  CHECK(names->name == "Fake Instinct 1");
  CHECK(names->arch == (is_rdna() ? "gfx1100" : "gfx90a"));
  alignas(8) std::array<char, property_buffer_bytes> old{};
  REQUIRE(adapted().hipGetDevicePropertiesR0000(old.data(), 0) == hipSuccess);
  CHECK(std::string(old.data() + 396).starts_with(is_rdna() ? "gfx1100" : "gfx90a:sramecc+"));
  CHECK(adapted().hipGetDevicePropertiesR0600(old.data(), 0) ==
        (release() >= 6 ? hipSuccess : hipErrorNotSupported));
}

TEST_CASE("RDNA tells half of its multiprocessors") {
  int told = 0;
  int real = 0;
  int warp = 0;
  const Api& hip = adapted();
  REQUIRE(hip.hipDeviceGetAttribute(&told, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess);
  REQUIRE(hip.hipDeviceGetAttribute(&real, hipDeviceAttributePhysicalMultiProcessorCount, 0) ==
          hipSuccess);
  REQUIRE(hip.hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0) == hipSuccess);
  CHECK(real == (is_rdna() ? 2 * told : told));
  CHECK(warp == (is_rdna() ? 32 : 64));
}

TEST_CASE("an attribute that the release does not have is an error") {
  int value = 0;
  CHECK(adapted().hipDeviceGetAttribute(&value, hipDeviceAttributeHostRegisterSupported, 0) ==
        (release() >= 6 ? hipSuccess : hipErrorInvalidValue));
}

TEST_CASE("a host function runs where only the older call is supported") {
  const Api& hip = adapted();
  hipStream_t stream = nullptr;
  REQUIRE(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  std::atomic<int> runs = 0;
  const hipHostFn_t count = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
  setenv("FAKE_HIP_HOST_FUNC", "801", 1);
  if (release() > 5) CHECK(raw().hipLaunchHostFunc(stream, count, &runs) == hipErrorNotSupported);
  CHECK(hip.hipLaunchHostFunc(stream, count, &runs) == hipSuccess);
  CHECK(hip.hipStreamSynchronize(stream) == hipSuccess);
  CHECK(runs == 1);
  // Any other answer is the answer.
  setenv("FAKE_HIP_HOST_FUNC", "2", 1);
  const hipError_t expected = release() > 5 ? hipErrorOutOfMemory : hipSuccess;
  CHECK(hip.hipLaunchHostFunc(stream, count, &runs) == expected);
  CHECK(hip.hipStreamSynchronize(stream) == hipSuccess);
  CHECK(runs == (release() > 5 ? 1 : 2));
  unsetenv("FAKE_HIP_HOST_FUNC");
  CHECK(hip.hipStreamDestroy(stream) == hipSuccess);
}

TEST_CASE("a second registration of host memory is accepted, and ends with the first") {
  alignas(4096) static std::array<char, 4096> page;
  const Api& hip = adapted();
  REQUIRE(hip.hipHostRegister(page.data(), page.size(), 0) == hipSuccess);
  CHECK(hip.hipHostRegister(page.data(), page.size(), 0) == hipSuccess);
  CHECK(hip.hipHostRegister(page.data() + 1024, 512, 0) == hipSuccess);
  CHECK(hip.hipHostUnregister(page.data() + 1024) == hipSuccess);
  CHECK(hip.hipHostUnregister(page.data()) == hipSuccess);
  CHECK(hip.hipHostUnregister(page.data()) == hipErrorHostMemoryNotRegistered);
}

TEST_CASE("an object is for one architecture, a bundle for all of its own") {
  const std::vector<char> bundle = read_bundle();
  if (bundle.empty()) return;
  const Api& hip = adapted();
  hipModule_t module = nullptr;
  REQUIRE(hip.hipModuleLoadData(&module, bundle.data()) == hipSuccess);
  CHECK(hip.hipModuleUnload(module) == hipSuccess);
  CHECK(hip.hipModuleUnload(module) == hipErrorInvalidHandle);
  int objects = 0;
  int loaded = 0;
  int refused = 0;
  // Each object stands on a page of its own.
  for (std::size_t at = 4096; at + 4096 < bundle.size(); at += 4096) {
    if (std::memcmp(bundle.data() + at, "\177ELF", 4) != 0) continue;
    ++objects;
    const hipError_t error = hip.hipModuleLoadData(&module, bundle.data() + at);
    if (error == hipErrorNoBinaryForGpu) ++refused;
    if (error != hipSuccess) continue;
    ++loaded;
    CHECK(hip.hipModuleUnload(module) == hipSuccess);
  }
  CHECK(loaded == 1);
  CHECK(refused == objects - 1);
  if (objects == 1) test::skip_case("this build has images for one AMD target only");
}

TEST_CASE("a block that is too large") {
  const std::vector<char> bundle = read_bundle();
  if (bundle.empty()) return;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(adapted().hipModuleLoadData(&module, bundle.data()) == hipSuccess);
  REQUIRE(adapted().hipModuleGetFunction(&function, module, "conformance_append_digit") ==
          hipSuccess);
  void* pointer = nullptr;
  unsigned zero = 0;
  void* arguments[] = {&pointer, &zero, &zero};
  const auto launch = [&](const Api& api, unsigned threads, unsigned blocks) {
    return api.hipModuleLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments,
                                     nullptr);
  };
  CHECK(launch(raw(), 1025, 1) == hipErrorInvalidValue);
  CHECK(launch(adapted(), 1025, 1) == hipErrorInvalidConfiguration);
  CHECK(launch(adapted(), 64, 0) == hipErrorInvalidValue);
  CHECK(launch(adapted(), 64, 1) == hipSuccess);
  CHECK(adapted().hipDeviceSynchronize() == hipSuccess);
  CHECK(adapted().hipModuleUnload(module) == hipSuccess);
}

TEST_CASE("a number that moved in the HIP of ROCm 10") {
  int version = 0;
  REQUIRE(adapted().hipRuntimeGetVersion(&version) == hipSuccess);
  const bool has_moved = release() >= 7 && version >= 71500000;  // a fake of HIP 6 keeps its list

  const auto name = [](int number) {
    return std::string(adapted().hipGetErrorName(static_cast<hipError_t>(number)));
  };
  CHECK(name(1054) == (has_moved ? "hipErrorInvalidClusterSize" : "hipErrorTbd"));
  CHECK(name(1055) == (has_moved ? "hipErrorTbd" : "hipErrorUnknown"));
}

TEST_CASE("the uuid is text, the bus id agrees with the attributes") {
  hipUUID uuid{};
  REQUIRE(adapted().hipDeviceGetUuid(&uuid, 1) == hipSuccess);
  CHECK(std::string(uuid.bytes, sizeof(uuid.bytes)) == "5a1d00c0ffee0001");
  std::array<char, 20> id{};
  REQUIRE(adapted().hipDeviceGetPCIBusId(id.data(), 20, 1) == hipSuccess);
  int bus = 0;
  REQUIRE(adapted().hipDeviceGetAttribute(&bus, hipDeviceAttributePciBusId, 1) == hipSuccess);
  CHECK(std::string(id.data()) == "0000:42:00.0");
  CHECK(bus == 0x42);
}

TEST_CASE("without devices every call says so") {
  setenv("FAKE_HIP_DEVICES", "0", 1);
  int count = -1;
  CHECK(raw().hipGetDeviceCount(&count) == hipErrorNoDevice);
  CHECK(count == 0);
  const hipError_t none = release() == 5 ? hipErrorInvalidDevice : hipErrorNoDevice;
  void* pointer = nullptr;
  CHECK(raw().hipInit(0) == none);
  CHECK(raw().hipMalloc(&pointer, 16) == none);
  int version = 0;
  CHECK(raw().hipRuntimeGetVersion(&version) == hipSuccess);
  unsetenv("FAKE_HIP_DEVICES");
  CHECK(raw().hipInit(0) == hipSuccess);
}

TEST_CASE("a runtime that cannot tell its attributes") {
  setenv("FAKE_HIP_ATTRIBUTE_ERRORS", "1", 1);
  int value = 0;
  CHECK(adapted().hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0) ==
        hipErrorInvalidValue);
  unsetenv("FAKE_HIP_ATTRIBUTE_ERRORS");
}

TEST_CASE("a stream that does not exist is an error, and since HIP 7 the process' end") {
  const auto unknown = reinterpret_cast<hipStream_t>(std::uintptr_t{0x7777});
  if (release() < 7) {
    CHECK(adapted().hipStreamQuery(unknown) == hipErrorContextIsDestroyed);
    return;
  }
  const Api& hip = adapted();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's would report it
    std::freopen("/dev/null", "w", stderr);
    static_cast<void>(hip.hipStreamQuery(unknown));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

}  // namespace hiptool::hip
