// SPDX-License-Identifier: MIT
/// The tables of convolution libraries over the fakes.
#include "hip/dnn.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "unit/hip/conv_problem.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using doctest::Contains;
using test::ConvProblem;
using test::grouped_shape;
using test::symbol_of;
using test::use_fake_libraries;

struct Named {
  const char* file;
  const char* objects;
  int kept;  // of one plan
  DnnLibrary (*open)();
};

constexpr Named libraries[] = {{"libMIOpen.so.1", "fake_miopen_objects", 4, amd::open_miopen},
                               {"libcudnn.so.9", "fake_cudnn_objects", 2, nvidia::open_cudnn}};

int& count_of_objects(const Named& named) {
  const std::string path = test::fake_library("FAKE_BLAS_FOLDER") + "/" + named.file;
  return *static_cast<int*>(symbol_of(path, named.objects));
}

}  // namespace

TEST_CASE("convolutions with pads, strides, dilations and groups") {
  use_fake_libraries();
  for (const Named& named : libraries) {
    const DnnLibrary library = named.open();
    CAPTURE(library.name);
    REQUIRE_MESSAGE(library.api != nullptr, library.reason);
    const DnnApi& api = *library.api;
    void* handle = nullptr;
    REQUIRE(api.open(handle) == 0);
    ConvProblem problem(grouped_shape());
    CHECK(problem.call.out_height() == 6);
    CHECK(problem.call.out_width() == 6);
    CHECK(api.convolve(handle, problem.call) == 0);
    CHECK(problem.count_wrong() == 0);  // also: not in TF32
    CHECK(count_of_objects(named) == named.kept);
    CHECK(api.convolve(handle, problem.call) == 0);
    CHECK(count_of_objects(named) == named.kept);
    api.close(handle);
    CHECK(count_of_objects(named) == 0);
  }
}

TEST_CASE("a plan keeps within the workspace") {
  use_fake_libraries();
  for (const Named& named : libraries) {
    const DnnLibrary library = named.open();
    CAPTURE(library.name);
    const DnnApi& api = *library.api;
    void* handle = nullptr;
    REQUIRE(api.open(handle) == 0);
    ConvProblem problem(grouped_shape());
    std::size_t bytes = 1;
    CHECK(api.plan(handle, problem.call, bytes) == 0);
    CHECK(bytes == 0);
    std::vector<char> workspace(5000);
    problem.call.workspace_bytes = workspace.size();
    CHECK(api.plan(handle, problem.call, bytes) == 0);
    CHECK(bytes == 4096);
    CHECK(api.convolve(handle, problem.call) == blas_invalid_call);  // planned with, called without
    problem.call.workspace = workspace.data();
    CHECK(api.convolve(handle, problem.call) == 0);
    CHECK(problem.count_wrong() == 0);
    api.close(handle);
  }
}

TEST_CASE("calls that are refused, and errors") {
  use_fake_libraries();
  for (const Named& named : libraries) {
    const DnnLibrary library = named.open();
    CAPTURE(library.name);
    const DnnApi& api = *library.api;
    void* handle = nullptr;
    REQUIRE(api.open(handle) == 0);
    ConvProblem problem(grouped_shape());
    ConvCall call = problem.call;
    call.groups = 4;  // does not divide 6
    CHECK(api.convolve(handle, call) == blas_invalid_call);
    call = problem.call;
    call.compute = BlasCompute::f64;
    CHECK(api.convolve(handle, call) == blas_types);
    call = problem.call;
    call.w = std::int64_t{1} << 32;
    CHECK(api.convolve(handle, call) == blas_too_large);
    call = problem.call;
    call.h = 1;
    call.pad_h = 0;
    CHECK(call.out_height() == 0);
    CHECK(api.convolve(handle, call) == 0);
    setenv(library.name == "cuDNN" ? "FAKE_CUDNN" : "FAKE_MIOPEN", "error", 1);
    const int status = api.convolve(handle, problem.call);
    CHECK(status > 0);
    CHECK(api.error_text(status).size() > 10);
    setenv(library.name == "cuDNN" ? "FAKE_CUDNN" : "FAKE_MIOPEN", "tf32", 1);
    CHECK(api.convolve(handle, problem.call) == 0);
    CHECK(problem.count_wrong() > 10);
    unsetenv("FAKE_CUDNN");
    unsetenv("FAKE_MIOPEN");
    call = problem.call;
    call.compute = BlasCompute::f32_fast_tf32;
    CHECK(api.convolve(handle, call) == (library.name == "cuDNN" ? 0 : int{blas_types}));
    api.close(handle);
  }
}

TEST_CASE("other versions, no GPU, no library") {
  use_fake_libraries();
  CHECK(amd::open_miopen().version == "3.5.1");
  CHECK(nvidia::open_cudnn().version == "9.19.0");
  setenv("FAKE_BLAS_MAJOR", "12", 1);
  for (const Named& named : libraries) {
    const DnnLibrary library = named.open();
    CHECK(library.api == nullptr);
    CHECK(library.reason.c_str() == Contains("reports version 12."));
  }
  unsetenv("FAKE_BLAS_MAJOR");
  setenv("FAKE_CUDNN_CREATE", "1001", 1);
  const DnnLibrary library = nvidia::open_cudnn();
  int mark = 0;
  void* handle = &mark;
  const int status = library.api->open(handle);
  CHECK(handle == nullptr);
  CHECK(library.api->error_text(status).c_str() == Contains("no usable NVIDIA driver or GPU"));
  unsetenv("FAKE_CUDNN_CREATE");
  test::TemporaryTree tree;
  setenv("HIPTOOL_LIBRARY_PATH", tree.root().c_str(), 1);
  CHECK(amd::open_miopen().reason.c_str() == Contains("no MIOpen was found (libMIOpen.so.1)"));
  CHECK(nvidia::open_cudnn().reason.c_str() == Contains("libcudnn.so.9 or .8"));
  CHECK(dnn_of(Platform::cpu) == std::nullopt);
}

}  // namespace hiptool::hip
