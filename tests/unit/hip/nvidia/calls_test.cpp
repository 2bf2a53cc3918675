// SPDX-License-Identifier: MIT
/// The table over a fake driver that has the real one's rules about contexts.
#include <doctest/doctest.h>
#include <elf.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "base/dynamic_library.hpp"
#include "fakes/cuda/state.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/properties.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

const Api& api() {
  static const Binding binding = [] {
    BindRequest request;
    request.library = test::fake_library("FAKE_CUDA");
    return bind_nvidia(request);
  }();
  REQUIRE(binding.status.usable);
  return *binding.api;
}

test::FakeCudaState& state() {
  std::string error;
  static const auto library = base::DynamicLibrary::open(test::fake_library("FAKE_CUDA"), error);
  return *library->function<test::FakeCudaStateFunction>("fake_cuda_state")();
}

/// A cubin without kernels: the header and one section, which holds that section's empty name.
std::string make_cubin(unsigned char abi_version, std::uint32_t flags) {
  std::string image(sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_machine = 190;  // EM_CUDA
  header.e_flags = flags;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_STRTAB;
  section.sh_size = 1;
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + sizeof(header), &section, sizeof(section));
  return image;
}

std::size_t allocations() {
  std::string error;
  static const auto library = base::DynamicLibrary::open(test::fake_library("FAKE_CUDA"), error);
  return library->function<test::FakeCudaAllocationsFunction>("fake_cuda_allocations")();
}

}  // namespace

TEST_CASE("listing and choosing devices makes no context") {
  const Api& hip = api();
  int count = 0;
  CHECK(hip.hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 2);
  CHECK(hip.hipSetDevice(1) == hipSuccess);
  CHECK(hip.hipSetDevice(2) == hipErrorInvalidDevice);
  CHECK(hip.hipSetDevice(-1) == hipErrorInvalidDevice);
  int ordinal = -1;
  CHECK(hip.hipGetDevice(&ordinal) == hipSuccess);
  CHECK(ordinal == 1);
  CHECK(hip.hipSetDevice(0) == hipSuccess);
  int value = 0;
  CHECK(hip.hipDeviceGetAttribute(&value, hipDeviceAttributePhysicalMultiProcessorCount, 0) ==
        hipSuccess);
  CHECK(value == 132);
  CHECK(hip.hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(84), 0) ==
        hipErrorInvalidValue);
  CHECK(hip.hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 2) == hipErrorInvalidDevice);
  const auto names = read_device_names(hip, 1);
  REQUIRE(names);
  CHECK(names->name == "Fake GPU 1");
  CHECK(names->arch == "sm_90");
  CHECK(state().retained[0] == 0);
  CHECK(state().retained[1] == 0);
}

TEST_CASE("the property struct is filled by the new layout's offsets and no further") {
  std::array<unsigned char, 1480> bytes{};
  bytes.fill(0xEE);
  REQUIRE(api().hipGetDevicePropertiesR0600(bytes.data(), 0) == hipSuccess);
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data())) == "Fake GPU 0");
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data() + 1160)) == "sm_90");
  CHECK(bytes[308] == 32);
  CHECK(bytes[1471] == 0);
  CHECK(bytes[1472] == 0xEE);
  CHECK(api().hipGetDevicePropertiesR0600(bytes.data(), 7) == hipErrorInvalidDevice);
}

TEST_CASE("each device's context is made once, by the first call that needs it") {
  const Api& hip = api();
  for (int turn = 0; turn < 3; ++turn) {
    std::thread([&hip] {
      void* pointer = nullptr;
      CHECK(hip.hipMalloc(&pointer, 64) == hipSuccess);
      CHECK(hip.hipFree(pointer) == hipSuccess);
    }).join();
  }
  CHECK(state().retained[0] == 1);
  CHECK(state().retained[1] == 0);
  CHECK(allocations() == 0);
}

TEST_CASE("a helper thread releases memory of another device without a context of its own") {
  const Api& hip = api();
  void* pointer = nullptr;
  REQUIRE(hip.hipMalloc(&pointer, 64) == hipSuccess);
  std::thread([&] {
    CHECK(hip.hipSetDevice(1) == hipSuccess);
    CHECK(hip.hipFree(pointer) == hipSuccess);
  }).join();
  CHECK(state().retained[1] == 0);
}

TEST_CASE("every call works first in a thread, which starts without a context") {
  const Api& hip = api();
  void* memory = nullptr;
  void* pinned = nullptr;
  hipEvent_t event = nullptr;
  REQUIRE(hip.hipMalloc(&memory, 64) == hipSuccess);
  REQUIRE(hip.hipHostMalloc(&pinned, 64, 0) == hipSuccess);
  REQUIRE(hip.hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
  const auto alone = [](auto call) {
    hipError_t error = hipErrorUnknown;
    std::thread([&] { error = call(); }).join();
    return error;
  };
  std::size_t bytes = 0;
  int number = 0;
  CHECK(alone([&] { return hip.hipStreamQuery(nullptr); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipStreamSynchronize(nullptr); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipEventRecord(event, nullptr); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipStreamWaitEvent(nullptr, event, 0); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipEventSynchronize(event); }) == hipSuccess);
  CHECK(alone([&] {
          return hip.hipLaunchHostFunc(
              nullptr, [](void*) {}, nullptr);
        }) == hipSuccess);
  CHECK(alone([&] { return hip.hipDeviceSynchronize(); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipMemGetInfo(&bytes, &bytes); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipDeviceGetStreamPriorityRange(&number, &number); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipMemsetAsync(memory, 1, 64, nullptr); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipMemcpyAsync(memory, pinned, 64, hipMemcpyDefault, nullptr); }) ==
        hipSuccess);
  CHECK(alone([&] { return hip.hipMemcpyPeerAsync(memory, 0, pinned, 0, 64, nullptr); }) ==
        hipSuccess);
  CHECK(hip.hipDeviceSynchronize() == hipSuccess);
  CHECK(alone([&] { return hip.hipEventDestroy(event); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipHostFree(pinned); }) == hipSuccess);
  CHECK(alone([&] { return hip.hipFree(memory); }) == hipSuccess);
}

TEST_CASE("nothing is allocated for nothing") {
  const Api& hip = api();
  int dummy = 0;
  void* pointer = &dummy;
  CHECK(hip.hipMalloc(&pointer, 0) == hipSuccess);
  CHECK(pointer == nullptr);
  pointer = &dummy;
  CHECK(hip.hipHostMalloc(&pointer, 0, 0) == hipSuccess);
  CHECK(pointer == nullptr);
  CHECK(hip.hipFree(nullptr) == hipSuccess);
  CHECK(hip.hipHostFree(nullptr) == hipSuccess);
  CHECK(hip.hipMalloc(nullptr, 1) == hipErrorInvalidValue);
}

TEST_CASE("flags of AMD's own are masked, contradictions and CUDA's flags are not") {
  const Api& hip = api();
  void* pointer = nullptr;
  CHECK(hip.hipHostMalloc(&pointer, 16, hipHostMallocNonCoherent | hipHostMallocPortable) ==
        hipSuccess);
  CHECK(state().host_flags == 1);
  CHECK(hip.hipHostFree(pointer) == hipSuccess);
  CHECK(hip.hipHostMalloc(&pointer, 16, hipHostMallocNonCoherent | hipHostMallocCoherent) ==
        hipErrorInvalidValue);
  int page = 0;
  CHECK(hip.hipHostRegister(&page, sizeof(page), hipHostRegisterReadOnly) == hipSuccess);
  CHECK(state().register_flags == 8);
  CHECK(hip.hipHostUnregister(&page) == hipSuccess);
  hipEvent_t event = nullptr;
  CHECK(hip.hipEventCreateWithFlags(&event, 0x80000000 | hipEventDisableTiming) == hipSuccess);
  CHECK(state().event_flags == 2);
  CHECK(hip.hipEventDestroy(event) == hipSuccess);
}

TEST_CASE("copies check their direction and their pitch") {
  const Api& hip = api();
  const char from[8] = "abcdefg";
  char to[8] = {};
  CHECK(hip.hipMemcpyAsync(to, from, 8, static_cast<hipMemcpyKind>(9), nullptr) ==
        hipErrorInvalidMemcpyDirection);
  CHECK(hip.hipMemcpyAsync(to, from, 8, hipMemcpyHostToDevice, nullptr) == hipSuccess);
  CHECK(hip.hipStreamSynchronize(nullptr) == hipSuccess);
  CHECK(std::string(to) == "abcdefg");
  CHECK(hip.hipMemcpyAsync(to, from, 0, hipMemcpyDefault, nullptr) == hipSuccess);
  char square[4] = {};
  CHECK(hip.hipMemcpy2DAsync(square, 2, from, 4, 2, 2, hipMemcpyDefault, nullptr) == hipSuccess);
  CHECK(std::string(square, 4) == "abef");
  CHECK(hip.hipMemcpy2DAsync(square, 1, from, 4, 2, 2, hipMemcpyDefault, nullptr) ==
        hipErrorInvalidPitchValue);
  CHECK(hip.hipMemcpy2DAsync(square, 1, from, 4, 2, 0, hipMemcpyDefault, nullptr) == hipSuccess);
  CHECK(hip.hipMemcpyPeerAsync(to, 0, from, 5, 1, nullptr) == hipErrorInvalidDevice);
}

TEST_CASE("events answer with HIP's codes") {
  const Api& hip = api();
  hipEvent_t start = nullptr;
  REQUIRE(hip.hipEventCreateWithFlags(&start, 0) == hipSuccess);
  float milliseconds = 0;
  CHECK(hip.hipEventElapsedTime(&milliseconds, start, start) == hipErrorInvalidHandle);
  std::atomic<bool> is_open = false;
  const auto wait = [](void* open) {
    while (!static_cast<std::atomic<bool>*>(open)->load()) std::this_thread::yield();
  };
  REQUIRE(hip.hipLaunchHostFunc(nullptr, wait, &is_open) == hipSuccess);
  std::thread([&] { CHECK(hip.hipEventRecord(start, nullptr) == hipSuccess); }).join();
  CHECK(hip.hipEventQuery(start) == hipErrorNotReady);
  is_open = true;
  CHECK(hip.hipEventSynchronize(start) == hipSuccess);
  CHECK(hip.hipEventQuery(nullptr) == hipErrorInvalidHandle);
  CHECK(hip.hipStreamDestroy(nullptr) == hipErrorInvalidHandle);
  CHECK(hip.hipEventDestroy(start) == hipSuccess);
}

namespace {

void load_digit_kernel(hipModule_t& module, hipFunction_t& function) {
  REQUIRE(api().hipModuleLoadData(&module,
                                  ".version 6.0\n.target sm_60\n.visible .entry "
                                  "conformance_append_digit(.param .u64 values)\n{}") ==
          hipSuccess);
  REQUIRE(api().hipModuleGetFunction(&function, module, "conformance_append_digit") == hipSuccess);
}

}  // namespace

TEST_CASE("a launch runs in its stream's context with CUDA's end marker") {
  const Api& hip = api();
  hipStream_t stream = nullptr;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(hip.hipSetDevice(1) == hipSuccess);
  load_digit_kernel(module, function);
  REQUIRE(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  REQUIRE(hip.hipSetDevice(0) == hipSuccess);
  struct {
    unsigned* values;
    unsigned digit;
    unsigned n;
  } buffer{nullptr, 0, 0};
  std::size_t size = sizeof(buffer);
  void* extra[] = {reinterpret_cast<void*>(hip_launch_param_buffer_pointer), &buffer,
                   reinterpret_cast<void*>(hip_launch_param_buffer_size), &size,
                   reinterpret_cast<void*>(hip_launch_param_end)};
  const auto launch = [&](unsigned threads, hipStream_t on) {
    return hip.hipModuleLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, on, nullptr, extra);
  };
  CHECK(launch(32, stream) == hipSuccess);
  CHECK(state().launch_ordinals[0] == 1);
  CHECK(state().launch_ordinals[1] == 1);
  CHECK(state().extra[2] == extra[2]);
  CHECK(state().extra[4] == nullptr);
  // The null stream is the thread's device's, to which the function does not belong.
  CHECK(launch(32, nullptr) == hipErrorInvalidHandle);
  CHECK(state().launch_ordinals[0] == 0);
  CHECK(state().launch_ordinals[1] == 0);
  REQUIRE(hip.hipSetDevice(1) == hipSuccess);
  CHECK(launch(32, nullptr) == hipSuccess);
  CHECK(launch(2048, stream) == hipErrorInvalidConfiguration);
  CHECK(hip.hipDeviceSynchronize() == hipSuccess);
  CHECK(hip.hipStreamDestroy(stream) == hipSuccess);
  CHECK(hip.hipModuleUnload(module) == hipSuccess);
  REQUIRE(hip.hipSetDevice(0) == hipSuccess);
}

TEST_CASE("kernels start early where their module says that they wait") {
  const Api& hip = api();
  REQUIRE(hip.hipSetDevice(0) == hipSuccess);
  const std::string plain =
      ".version 7.0\n.target sm_90\n.visible .entry conformance_append_digit()\n";
  const std::string early = plain + ".visible .global .align 1 .u8 hiptool_starts_early = 1;\n";
  hipStream_t stream = nullptr;
  REQUIRE(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  // Twice: only a kernel behind one that starts early may do so.
  const auto launch = [&](hipFunction_t function) {
    unsigned* values = nullptr;
    unsigned digit = 0;
    unsigned n = 0;
    void* arguments[] = {&values, &digit, &n};
    const int before = state().early_launches;
    for (int turn = 0; turn < 2; ++turn) {
      CHECK(hip.hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr) ==
            hipSuccess);
    }
    return state().early_launches - before;
  };
  const auto early_launches_of = [&](const std::string& text) {
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    REQUIRE(hip.hipModuleLoadData(&module, text.c_str()) == hipSuccess);
    REQUIRE(hip.hipModuleGetFunction(&function, module, "conformance_append_digit") == hipSuccess);
    const int count = launch(function);
    CHECK(hip.hipModuleUnload(module) == hipSuccess);
    return count;
  };
  CHECK(early_launches_of(plain) == 0);
  CHECK(early_launches_of(early) == 1);
  // A function may get the handle of one that was unloaded.
  CHECK(early_launches_of(plain) == 0);
  // An older driver has no such launches.
  setenv("FAKE_CUDA_NO_EARLY", "1", 1);
  CHECK(early_launches_of(early) == 0);
  unsetenv("FAKE_CUDA_NO_EARLY");
  CHECK(hip.hipDeviceSynchronize() == hipSuccess);
  CHECK(hip.hipStreamDestroy(stream) == hipSuccess);
}

TEST_CASE("a launch asks for shared memory beyond what CUDA gives unasked") {
  const Api& hip = api();
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(hip.hipSetDevice(0) == hipSuccess);
  load_digit_kernel(module, function);
  const auto launch = [&](unsigned shared_bytes) {
    unsigned* values = nullptr;
    unsigned digit = 0;
    unsigned n = 0;
    void* arguments[] = {&values, &digit, &n};
    return hip.hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, shared_bytes, nullptr, arguments,
                                     nullptr);
  };
  const auto allowed = [&] {
    int value = 0;
    CHECK(hip.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  function) == hipSuccess);
    return value;
  };
  CHECK(launch(49152) == hipSuccess);
  CHECK(allowed() == 49152);
  CHECK(launch(100000) == hipSuccess);
  CHECK(allowed() == 100000);
  // What was allowed stays: another thread may need it.
  CHECK(launch(60000) == hipSuccess);
  CHECK(launch(232449) == hipErrorInvalidValue);
  CHECK(allowed() == 100000);
  CHECK(launch(232448) == hipSuccess);
  CHECK(hip.hipDeviceSynchronize() == hipSuccess);
  CHECK(hip.hipModuleUnload(module) == hipSuccess);
}

TEST_CASE("a host function may not call the driver") {
  const Api& hip = api();
  static hipError_t inside = hipSuccess;
  const auto call = [](void* table) {
    inside = static_cast<const Api*>(table)->hipDeviceSynchronize();
  };
  REQUIRE(hip.hipLaunchHostFunc(nullptr, call, const_cast<Api*>(&hip)) == hipSuccess);
  CHECK(hip.hipDeviceSynchronize() == hipSuccess);
  CHECK(static_cast<int>(inside) == 800);
}

TEST_CASE("images are told apart") {
  const Api& hip = api();
  hipModule_t module = nullptr;
  const auto load = [&](const char* image) { return hip.hipModuleLoadData(&module, image); };
  CHECK(load("junk") == hipErrorInvalidImage);
  CHECK(load(".version 6.0\n.target sm_100\n") == hipErrorNoBinaryForGpu);
  CHECK(static_cast<int>(load(".version 99.0\n.target sm_60\n")) == 222);
  CHECK(static_cast<int>(load(".version nothing")) == 218);
  REQUIRE(load(".version 6.0\n.target sm_60\n.visible .entry somebody_elses(\n)\n{}") ==
          hipSuccess);
  hipFunction_t function = nullptr;
  // One is in the image without a kernel for the processor, one has that and is not in the image.
  for (const char* name : {"somebody_elses", "conformance_append_digit"}) {
    CHECK(hip.hipModuleGetFunction(&function, module, name) == hipErrorNotFound);
  }
  CHECK(hip.hipModuleUnload(module) == hipSuccess);
  CHECK(hip.hipModuleUnload(module) == hipErrorInvalidHandle);
}

TEST_CASE("cubins are for the arch that their flags name, in both layouts") {
  const Api& hip = api();
  const auto load = [&](unsigned char abi_version, std::uint32_t flags) {
    hipModule_t module = nullptr;
    const hipError_t error = hip.hipModuleLoadData(&module, make_cubin(abi_version, flags).c_str());
    if (error == hipSuccess) CHECK(hip.hipModuleUnload(module) == hipSuccess);
    return error;
  };
  // As nvcc 12 and 13 write them: sm_90 is 0x5a, sm_75 0x4b.
  CHECK(load(7, 0x5a055a) == hipSuccess);
  CHECK(load(7, 0x4b054b) == hipErrorNoBinaryForGpu);
  CHECK(load(8, 0x6005a04) == hipSuccess);
  CHECK(load(8, 0x6004b04) == hipErrorNoBinaryForGpu);
  CHECK(load(8, 0x600045a) == hipErrorNoBinaryForGpu);
}

TEST_CASE("a read-only mapping can be registered with that flag only") {
  const Api& hip = api();
  constexpr std::size_t bytes = 1 << 16;
  void* pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  CHECK(hip.hipHostRegister(pages, bytes, hipHostRegisterDefault) == hipErrorInvalidValue);
  CHECK(hip.hipHostRegister(pages, bytes, hipHostRegisterPortable) == hipErrorInvalidValue);
  CHECK(hip.hipHostRegister(pages, bytes, hipHostRegisterReadOnly) == hipSuccess);
  CHECK(hip.hipHostRegister(pages, bytes, hipHostRegisterReadOnly) ==
        hipErrorHostMemoryAlreadyRegistered);
  CHECK(hip.hipHostUnregister(pages) == hipSuccess);
  CHECK(hip.hipHostUnregister(pages) == hipErrorHostMemoryNotRegistered);
  REQUIRE(mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0);
  CHECK(hip.hipHostRegister(pages, bytes, hipHostRegisterDefault) == hipSuccess);
  CHECK(hip.hipHostUnregister(pages) == hipSuccess);
  munmap(pages, bytes);
}

}  // namespace hiptool::hip
