// SPDX-License-Identifier: MIT
/// Modules, functions and launches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "hip/properties.hpp"
#include "image.hpp"
#include "kernel_store/images.hpp"
#include "sanitized.hpp"
#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

bool has_image() {
  if (find_image() != nullptr) return true;
  test::skip_case(reason_for_no_image());
  return false;
}

class Module {
 public:
  Module() { REQUIRE(api().hipModuleLoadData(&handle_, find_image()) == hipSuccess); }
  ~Module() { CHECK(api().hipModuleUnload(handle_) == hipSuccess); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  hipModule_t get() const { return handle_; }
  hipFunction_t function(const char* name) const {
    hipFunction_t found = nullptr;
    REQUIRE(api().hipModuleGetFunction(&found, handle_, name) == hipSuccess);
    return found;
  }

 private:
  hipModule_t handle_ = nullptr;
};

constexpr unsigned threads = 256;
// No multiple of a block; a thread of a block costs 30 us under the thread sanitizer.
constexpr unsigned count = test::is_thread_sanitized ? 1000 : 10000;
constexpr unsigned blocks = (count + threads - 1) / threads;
constexpr std::size_t bytes = count * sizeof(unsigned);

/// Appends a decimal digit to each number in memory: the order of launches can be read from them.
class DigitKernel {
 public:
  /// A device may load a kernel at its first launch, and wait for all its streams to do so; where a
  /// gate holds one, that would not end.
  DigitKernel() {
    void* nowhere = nullptr;
    unsigned zero = 0;
    void* arguments[] = {&nowhere, &zero, &zero};
    REQUIRE(api().hipModuleLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments,
                                        nullptr) == hipSuccess);
    REQUIRE(api().hipDeviceSynchronize() == hipSuccess);
  }

  hipError_t launch(const DeviceMemory& values, unsigned digit, hipStream_t stream,
                    unsigned grid = blocks) const {
    void* pointer = values.at();
    unsigned n = count;
    void* arguments[] = {&pointer, &digit, &n};
    return api().hipModuleLaunchKernel(function_, grid, 1, 1, threads, 1, 1, 0, stream, arguments,
                                       nullptr);
  }
  hipFunction_t get() const { return function_; }

 private:
  const Module module_;
  const hipFunction_t function_ = module_.function("conformance_append_digit");
};

bool all_are(const DeviceMemory& memory, unsigned expected) {
  const Bytes read = memory.read();
  std::vector<unsigned> values(read.size() / sizeof(unsigned));
  std::memcpy(values.data(), read.data(), read.size());
  return values == std::vector<unsigned>(values.size(), expected);
}

TEST_CASE("modules: there is an image for each target that the build names") {
  CHECK((find_image() != nullptr || !must_have_image()));
  const auto names = read_device_names(api(), 0);
  REQUIRE(names);
  const bool is_in_library = kernel_store::has_image("fill", under_test().platform, names->arch);
  CHECK((is_in_library || !must_have_image()));
}

TEST_CASE("modules: junk is no image") {
  if (!has_image()) return;
  hipModule_t module = nullptr;
  for (const std::string_view junk : {"junk", "\177ELF junk", ".version junk"}) {
    CAPTURE(junk);
    // Drivers read as far as a header is long.
    std::vector<char> padded(4096);
    std::copy(junk.begin(), junk.end(), padded.begin());
    const hipError_t error = api().hipModuleLoadData(&module, padded.data());
    const bool is_refused = error == hipErrorInvalidImage || error == hipErrorNoBinaryForGpu ||
                            error == hipErrorInvalidKernelFile;
    CHECK_MESSAGE(is_refused, error);
  }
  CHECK(api().hipModuleLoadData(nullptr, find_image()) == hipErrorInvalidValue);
  CHECK(api().hipModuleLoadData(&module, nullptr) == hipErrorInvalidValue);
}

TEST_CASE("modules: what is not in them is not found") {
  if (!has_image()) return;
  const Module module;
  hipFunction_t function = nullptr;
  CHECK(api().hipModuleGetFunction(&function, module.get(), "missing") == hipErrorNotFound);
}

TEST_CASE("launch: vector add") {
  if (!has_image()) return;
  const Module module;
  const DeviceMemory a(bytes);
  const DeviceMemory b(bytes);
  const DeviceMemory sum(bytes);
  std::vector<float> numbers(count);
  for (unsigned i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  Bytes as_bytes(bytes);
  std::memcpy(as_bytes.data(), numbers.data(), bytes);
  a.write(as_bytes);
  b.write(as_bytes);
  const Stream stream;
  void* pointers[] = {a.at(), b.at(), sum.at()};
  unsigned n = count;
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2], &n};
  REQUIRE(api().hipModuleLaunchKernel(module.function("conformance_vector_add"), blocks, 1, 1,
                                      threads, 1, 1, 0, stream.get(), arguments,
                                      nullptr) == hipSuccess);
  REQUIRE(api().hipStreamSynchronize(stream.get()) == hipSuccess);
  for (float& number : numbers) number += number;
  std::memcpy(as_bytes.data(), numbers.data(), bytes);
  CHECK(sum.read() == as_bytes);
}

TEST_CASE("launch: keeps the order of its stream") {
  if (!has_image()) return;
  const DigitKernel kernel;
  const DeviceMemory values(bytes);
  const PinnedMemory between(bytes);
  const Stream stream;
  Gate gate;
  gate.block(stream.get());
  REQUIRE(api().hipMemsetAsync(values.at(), 0, bytes, stream.get()) == hipSuccess);
  REQUIRE(kernel.launch(values, 1, stream.get()) == hipSuccess);
  REQUIRE(kernel.launch(values, 2, stream.get()) == hipSuccess);
  REQUIRE(api().hipMemcpyAsync(between.data(), values.at(), bytes, hipMemcpyDeviceToHost,
                               stream.get()) == hipSuccess);
  REQUIRE(kernel.launch(values, 3, stream.get()) == hipSuccess);
  CHECK(stays_busy(stream.get()));
  CHECK(gate.holds());
  gate.open();
  REQUIRE(finishes(stream.get()));
  CHECK(all_are(values, 123));
  unsigned first = 0;
  std::memcpy(&first, between.data(), sizeof(first));
  CHECK(first == 12);
}

TEST_CASE("launch: waits for another stream's event") {
  if (!has_image()) return;
  const DigitKernel kernel;
  const DeviceMemory values(bytes);
  const Stream producer;
  const Stream consumer;
  const Event written(hipEventDisableTiming);
  values.fill(0);
  Gate gate;
  gate.block(producer.get());
  REQUIRE(kernel.launch(values, 4, producer.get()) == hipSuccess);
  REQUIRE(api().hipEventRecord(written.get(), producer.get()) == hipSuccess);
  REQUIRE(api().hipStreamWaitEvent(consumer.get(), written.get(), 0) == hipSuccess);
  REQUIRE(kernel.launch(values, 2, consumer.get()) == hipSuccess);
  CHECK(stays_busy(consumer.get()));
  gate.open();
  REQUIRE(finishes(consumer.get()));
  CHECK(all_are(values, 42));
}

TEST_CASE("launch: arguments in one packed buffer") {
  if (!has_image()) return;
  const DigitKernel kernel;
  const DeviceMemory values(bytes);
  values.fill(0);
  struct {
    void* values;
    unsigned digit;
    unsigned n;
  } arguments{values.at(), 7, count};
  std::size_t size = sizeof(arguments);
  const auto key = [](std::uintptr_t number) { return reinterpret_cast<void*>(number); };
  void* list[] = {key(hip_launch_param_buffer_pointer), &arguments,
                  key(hip_launch_param_buffer_size), &size, key(hip_launch_param_end)};
  REQUIRE(api().hipModuleLaunchKernel(kernel.get(), blocks, 1, 1, threads, 1, 1, 0, nullptr,
                                      nullptr, list) == hipSuccess);
  REQUIRE(api().hipDeviceSynchronize() == hipSuccess);
  CHECK(all_are(values, 7));
}

TEST_CASE("launch: impossible shapes are refused and leave the device usable") {
  if (!has_image()) return;
  const DigitKernel kernel;
  const DeviceMemory values(bytes);
  const Stream stream;
  values.fill(0);
  CHECK(kernel.launch(values, 1, stream.get(), 0) == hipErrorInvalidValue);
  const auto with_block = [&](unsigned x, unsigned y) {
    void* pointer = values.at();
    unsigned digit = 1;
    unsigned n = count;
    void* arguments[] = {&pointer, &digit, &n};
    return api().hipModuleLaunchKernel(kernel.get(), 1, 1, 1, x, y, 1, 0, stream.get(), arguments,
                                       nullptr);
  };
  CHECK(with_block(0, 1) == hipErrorInvalidValue);
  CHECK(with_block(1025, 1) == hipErrorInvalidConfiguration);
  CHECK(with_block(33, 32) == hipErrorInvalidConfiguration);
  CHECK(kernel.launch(values, 9, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(all_are(values, 9));
}

TEST_CASE("functions: say how many threads a block may have") {
  if (!has_image()) return;
  const DigitKernel kernel;
  int value = 0;
  CHECK(api().hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel.get()) ==
        hipSuccess);
  CHECK(value >= static_cast<int>(threads));
}

}  // namespace
}  // namespace hiptool::conformance
