// SPDX-License-Identifier: MIT
/// The tables of convolution libraries over the fakes.
#include "hip/dnn.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using doctest::Contains;

struct Named {
  const char* file;
  const char* objects;
  DnnLibrary (*open)();
};

constexpr Named libraries[] = {{"libMIOpen.so.1", "fake_miopen_objects", amd::open_miopen},
                               {"libcudnn.so.9", "fake_cudnn_objects", nvidia::open_cudnn}};

void use_fakes() {
  setenv("HIPTOOL_LIBRARY_PATH", test::fake_library("FAKE_BLAS_FOLDER").c_str(), 1);
}

int& count_of_objects(const Named& named) {
  const std::string path = test::fake_library("FAKE_BLAS_FOLDER") + "/" + named.file;
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  return *static_cast<int*>(dlsym(handle, named.objects));
}

struct ConvProblem {
  ConvCall call;
  std::vector<float> x;
  std::vector<float> filter;
  std::vector<float> y;

  explicit ConvProblem(const ConvCall& shape) : call(shape) {
    x = random(call.n * call.c * call.h * call.w);
    filter = random(call.k * (call.c / call.groups) * call.r * call.s);
    const std::int64_t count = call.n * call.k * call.out_height() * call.out_width();
    y.assign(static_cast<std::size_t>(count), NAN);
    call.x = x.data();
    call.filter = filter.data();
    call.y = y.data();
  }

  static std::vector<float> random(std::int64_t count) {
    static std::mt19937 generator(11);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers) number = values(generator);
    return numbers;
  }

  float input(std::int64_t image, std::int64_t channel, std::int64_t row,
              std::int64_t column) const {
    if (row < 0 || column < 0 || row >= call.h || column >= call.w) return 0;
    return x[std::size_t(((image * call.c + channel) * call.h + row) * call.w + column)];
  }

  double expected(std::int64_t image, std::int64_t k, std::int64_t row, std::int64_t column) const {
    const std::int64_t in_group = call.c / call.groups;
    const std::int64_t group = k / (call.k / call.groups);
    double sum = 0;
    for (std::int64_t c = 0; c < in_group; ++c) {
      for (std::int64_t r = 0; r < call.r; ++r) {
        for (std::int64_t s = 0; s < call.s; ++s) {
          sum += double(input(image, group * in_group + c,
                              row * call.stride_h - call.pad_h + r * call.dilation_h,
                              column * call.stride_w - call.pad_w + s * call.dilation_w)) *
                 double(filter[std::size_t(((k * in_group + c) * call.r + r) * call.s + s)]);
        }
      }
    }
    return sum;
  }

  int count_wrong() const {
    int wrong = 0;
    std::size_t at = 0;
    for (std::int64_t image = 0; image < call.n; ++image) {
      for (std::int64_t k = 0; k < call.k; ++k) {
        for (std::int64_t row = 0; row < call.out_height(); ++row) {
          for (std::int64_t column = 0; column < call.out_width(); ++column, ++at) {
            if (!(std::fabs(y[at] - expected(image, k, row, column)) <= 1e-5)) ++wrong;
          }
        }
      }
    }
    return wrong;
  }
};

ConvCall grouped_shape() {
  ConvCall call;
  call.n = 2;
  call.c = 6;
  call.h = 9;
  call.w = 7;
  call.k = 4;
  call.r = 3;
  call.s = 2;
  call.pad_h = 2;
  call.pad_w = 1;
  call.stride_h = 2;
  call.stride_w = 1;
  call.dilation_h = 1;
  call.dilation_w = 3;
  call.groups = 2;
  return call;
}

}  // namespace

TEST_CASE("convolutions with pads, strides, dilations and groups") {
  use_fakes();
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
    CHECK(count_of_objects(named) == 4);
    CHECK(api.convolve(handle, problem.call) == 0);
    CHECK(count_of_objects(named) == 4);
    api.close(handle);
    CHECK(count_of_objects(named) == 0);
  }
}

TEST_CASE("a plan keeps within the workspace") {
  use_fakes();
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

TEST_CASE("cuDNN measures its algorithms where that is asked for, else it estimates") {
  use_fakes();
  const DnnLibrary library = nvidia::open_cudnn();
  void* handle = nullptr;
  REQUIRE(library.api->open(handle) == 0);
  ConvProblem problem(grouped_shape());
  std::vector<char> workspace(5000);
  problem.call.workspace_bytes = workspace.size();
  std::size_t bytes = 1;
  CHECK(library.api->plan(handle, problem.call, bytes) == 0);
  CHECK(bytes == 4096);
  problem.call.measures = true;
  CHECK(library.api->plan(handle, problem.call, bytes) == 0);
  CHECK(bytes == 0);
  CHECK(library.api->convolve(handle, problem.call) == 0);
  CHECK(problem.count_wrong() == 0);
  // Not by an algorithm that sums halves in halves.
  problem.call.type = BlasType::bf16;
  CHECK(library.api->plan(handle, problem.call, bytes) == 0);
  CHECK(library.api->convolve(handle, problem.call) == 0);
  library.api->close(handle);
  // One that cannot measure, for want of memory for instance, estimates.
  setenv("FAKE_CUDNN_FIND_FAILS", "1", 1);
  REQUIRE(library.api->open(handle) == 0);
  CHECK(library.api->plan(handle, problem.call, bytes) == 0);
  CHECK(bytes == 4096);
  library.api->close(handle);
  unsetenv("FAKE_CUDNN_FIND_FAILS");
}

TEST_CASE("calls that are refused, and errors") {
  use_fakes();
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
  use_fakes();
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
