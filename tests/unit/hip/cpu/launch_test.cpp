// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_tool.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::cpu::test {
namespace {

TEST_CASE("modules: only the own image is one") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  hipModule_t module = nullptr;
  for (const char* const junk : {"", "junk", "hiptool cpu kernel", "\177ELF"}) {
    CHECK(api.hipModuleLoadData(&module, junk) == hipErrorInvalidImage);
    CHECK(api.hipModuleLoadDataEx(&module, junk, 0, nullptr, nullptr) == hipErrorInvalidImage);
  }
  CHECK(api.hipModuleLoadData(nullptr, cpu_image.data()) == hipErrorInvalidValue);
  CHECK(api.hipModuleLoadData(&module, nullptr) == hipErrorInvalidValue);
  CHECK(api.hipModuleLoadDataEx(&module, cpu_image.data(), 0, nullptr, nullptr) == hipSuccess);
  CHECK(api.hipModuleUnload(module) == hipSuccess);
  CHECK(api.hipModuleUnload(module) == hipErrorInvalidHandle);
  CHECK(api.hipModuleUnload(nullptr) == hipErrorInvalidHandle);
}

TEST_CASE("modules: functions are found by name and end with the module") {
  const Api& api = bound();
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  hipFunction_t again = nullptr;
  REQUIRE(api.hipModuleLoadData(&module, cpu_image.data()) == hipSuccess);
  CHECK(api.hipModuleGetFunction(&function, module, "missing") == hipErrorNotFound);
  CHECK(api.hipModuleGetFunction(&function, module, "") == hipErrorNotFound);
  CHECK(api.hipModuleGetFunction(&function, nullptr, "test_nothing") == hipErrorInvalidHandle);
  CHECK(api.hipModuleGetFunction(nullptr, module, "test_nothing") == hipErrorInvalidValue);
  REQUIRE(api.hipModuleGetFunction(&function, module, "test_nothing") == hipSuccess);
  REQUIRE(api.hipModuleGetFunction(&again, module, "test_nothing") == hipSuccess);
  CHECK(function == again);
  const auto launch = [&] {
    return api.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  };
  CHECK(launch() == hipSuccess);
  REQUIRE(api.hipModuleUnload(module) == hipSuccess);
  CHECK(launch() == hipErrorInvalidHandle);
  CHECK(api.hipDeviceSynchronize() == hipSuccess);
}

TEST_CASE("launch: limits") {
  const LoadedKernels kernels;
  const auto launch = [&](Dimensions grid, Dimensions block, unsigned shared_bytes = 0) {
    return kernels.launch("test_nothing", grid, block, shared_bytes);
  };
  CHECK(launch({1}, {1024}) == hipSuccess);
  CHECK(launch({1}, {32, 8, 4}) == hipSuccess);
  CHECK(launch({1}, {1025}) == hipErrorInvalidConfiguration);
  CHECK(launch({1}, {1, 1025}) == hipErrorInvalidConfiguration);
  CHECK(launch({1}, {33, 32}) == hipErrorInvalidConfiguration);
  CHECK(launch({1}, {65536, 65536, 2}) == hipErrorInvalidConfiguration);
  CHECK(launch({1}, {1}, 227 * 1024) == hipSuccess);
  CHECK(launch({1}, {1}, 227 * 1024 + 1) == hipErrorInvalidValue);
  CHECK(launch({1, 65535}, {1}) == hipSuccess);
  CHECK(launch({1, 65536}, {1}) == hipErrorInvalidValue);
  CHECK(launch({1, 1, 65536}, {1}) == hipErrorInvalidValue);
  CHECK(launch({0x80000000u}, {1}) == hipErrorInvalidValue);
  for (const Dimensions none : {Dimensions{0, 1, 1}, Dimensions{1, 0, 1}, Dimensions{1, 1, 0}}) {
    CHECK(launch(none, {1}) == hipErrorInvalidValue);
    CHECK(launch({1}, none) == hipErrorInvalidValue);
  }
  const auto unknown = reinterpret_cast<hipStream_t>(std::uintptr_t{0x10});
  CHECK(kernels.api().hipModuleLaunchKernel(kernels.function("test_nothing"), 1, 1, 1, 1, 1, 1, 0,
                                            unknown, nullptr, nullptr) == hipErrorInvalidHandle);
  CHECK(kernels.api().hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                            nullptr) == hipErrorInvalidHandle);
}

struct Odd {
  char text[5];
  short number;
};

struct MixedArguments {
  char a = 1;
  double b = 2;
  Odd c{{0, 0, 0, 0, 4}, 8};
  unsigned short d = 16;
  const double* e = nullptr;
  bool f = true;
  double* result = nullptr;
};
constexpr double mixed_sum = 1 + 2 + 4 + 8 + 16 + 32 + 0.5;

class PackedLaunch {
 public:
  explicit PackedLaunch(const LoadedKernels& kernels) : kernels_(kernels) {}

  hipError_t operator()(std::vector<void*> list) const {
    return kernels_.api().hipModuleLaunchKernel(kernels_.function("test_mixed"), 1, 1, 1, 1, 1, 1,
                                                0, kernels_.stream(), nullptr, list.data());
  }

 private:
  const LoadedKernels& kernels_;
};

void* key(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST_CASE("launch: arguments of mixed sizes") {
  const LoadedKernels kernels;
  const double e = 32;
  double result = 0;
  REQUIRE(kernels.launch("test_mixed", {1}, {1}, 0, char{1}, 2.0, Odd{{0, 0, 0, 0, 4}, 8},
                         static_cast<unsigned short>(16), &e, true, &result) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(result == mixed_sum);
}

TEST_CASE("launch: arguments in one packed buffer") {
  const LoadedKernels kernels;
  const PackedLaunch launch(kernels);
  const double e = 32;
  double result = 0;
  MixedArguments arguments;
  arguments.e = &e;
  arguments.result = &result;
  std::size_t bytes = sizeof(arguments);
  void* const buffer_key = key(hip_launch_param_buffer_pointer);
  void* const size_key = key(hip_launch_param_buffer_size);
  void* const end = key(hip_launch_param_end);
  REQUIRE(launch({buffer_key, &arguments, size_key, &bytes, end}) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(result == mixed_sum);
  result = 0;
  REQUIRE(launch({size_key, &bytes, buffer_key, &arguments, end}) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(result == mixed_sum);
  CHECK(launch({end}) == hipErrorInvalidValue);
  CHECK(launch({buffer_key, &arguments, end}) == hipErrorInvalidValue);
  CHECK(launch({size_key, &bytes, end}) == hipErrorInvalidValue);
  CHECK(launch({key(7), &arguments, end}) == hipErrorInvalidValue);
  CHECK(launch({buffer_key, &arguments, buffer_key, &arguments, end}) == hipErrorInvalidValue);
  --bytes;
  CHECK(launch({buffer_key, &arguments, size_key, &bytes, end}) == hipErrorInvalidValue);
}

TEST_CASE("launch: arguments come in one way, and whole") {
  const LoadedKernels kernels;
  const Api& api = kernels.api();
  const auto launch = [&](const char* name, void** arguments, void** extra) {
    return api.hipModuleLaunchKernel(kernels.function(name), 1, 1, 1, 1, 1, 1, 0, kernels.stream(),
                                     arguments, extra);
  };
  int* values = nullptr;
  void* arguments[] = {&values};
  void* missing[] = {nullptr};
  void* extra[] = {key(hip_launch_param_end)};
  CHECK(launch("test_half_warp", arguments, extra) == hipErrorInvalidValue);
  CHECK(launch("test_half_warp", nullptr, nullptr) == hipErrorInvalidValue);
  CHECK(launch("test_half_warp", missing, nullptr) == hipErrorInvalidValue);
  CHECK(launch("test_nothing", nullptr, nullptr) == hipSuccess);
  CHECK(launch("test_nothing", nullptr, extra) == hipSuccess);
}

TEST_CASE("launch: does not wait, and arguments are copied before it returns") {
  const LoadedKernels kernels;
  const Api& api = kernels.api();
  const double e = 32;
  double result = 0;
  Gate gate;
  gate.block(api, kernels.stream());
  {
    // These values are gone before the kernel runs.
    auto arguments = std::make_unique<MixedArguments>();
    double* target = &result;
    const double* source = &e;
    void* addresses[] = {&arguments->a, &arguments->b, &arguments->c, &arguments->d,
                         &source,       &arguments->f, &target};
    REQUIRE(api.hipModuleLaunchKernel(kernels.function("test_mixed"), 1, 1, 1, 1, 1, 1, 0,
                                      kernels.stream(), static_cast<void**>(addresses),
                                      nullptr) == hipSuccess);
  }
  CHECK(gate.holds());
  CHECK(api.hipStreamQuery(kernels.stream()) == hipErrorNotReady);
  gate.open();
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(result == mixed_sum);
}

TEST_CASE("functions: attributes and occupancy") {
  const LoadedKernels kernels;
  const Api& api = kernels.api();
  const hipFunction_t function = kernels.function("test_nothing");
  int value = 0;
  CHECK(api.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) ==
        hipSuccess);
  CHECK(value == 1024);
  CHECK(api.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                function) == hipSuccess);
  CHECK(value == 227 * 1024);
  CHECK(api.hipFuncGetAttribute(&value, static_cast<hipFunction_attribute>(99), function) ==
        hipErrorInvalidValue);
  CHECK(api.hipFuncGetAttribute(nullptr, HIP_FUNC_ATTRIBUTE_NUM_REGS, function) ==
        hipErrorInvalidValue);
  CHECK(api.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, nullptr) ==
        hipErrorInvalidHandle);
}

TEST_CASE("kernel table: names are taken once") {
  const auto nothing = [](void* const*) {};
  CHECK_THROWS_AS(register_kernel({"test_nothing", {}, nothing}), std::logic_error);
  CHECK_THROWS_AS(register_kernel({"", {}, nothing}), std::logic_error);
  CHECK_THROWS_AS(register_kernel({"test_unnamed", {}, nullptr}), std::logic_error);
  CHECK(find_kernel("test_unnamed") == nullptr);
  CHECK(find_kernel("test_nothing") != nullptr);
  const bool has_native = find_native("test_nothing") != nullptr;
  CHECK_FALSE(has_native);
  CHECK_THROWS_AS(register_native("test_nothing", nullptr), std::logic_error);
  CHECK_THROWS_AS(set_warp_size(16), std::invalid_argument);
}

TEST_CASE("kernel table: arguments lie as in a C struct") {
  const CpuKernel* const kernel = find_kernel("test_mixed");
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->arguments.size() == 7);
  const std::size_t offsets[] = {0, 8, 16, 24, 32, 40, 48};
  const std::size_t sizes[] = {1, 8, 8, 2, 8, 1, 8};
  for (std::size_t place = 0; place < 7; ++place) {
    CAPTURE(place);
    CHECK(kernel->arguments[place].offset_bytes == offsets[place]);
    CHECK(kernel->arguments[place].size_bytes == sizes[place]);
    CHECK(kernel->arguments[place].is_pointer == (place == 4 || place == 6));
  }
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
