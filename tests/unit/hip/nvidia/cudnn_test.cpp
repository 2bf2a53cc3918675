// SPDX-License-Identifier: MIT
/// Which engine of cuDNN computes a convolution, over a fake with one engine for each case.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "hip/binding.hpp"
#include "hip/dnn.hpp"
#include "hip/nvidia/cudnn_backend.hpp"
#include "unit/hip/conv_problem.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using test::ConvProblem;
using test::grouped_shape;
using test::symbol_of;
using test::use_fake_libraries;

/// Engines of the fake cuDNN.
constexpr int older_interface = -1;           // its algorithm without workspace
constexpr int older_winograd = -7;            // its fastest one
constexpr int older_with_workspace = -2;      // its estimate, which needs 4096 bytes
constexpr int engine_of_tensor_cores = 8;     // TF32 for f32; 2048 bytes of workspace
constexpr int engine_of_the_estimate = 9;     // 4096 bytes
constexpr int engine_without_workspace = 10;  // the fastest

std::string cudnn_path() { return test::fake_library("FAKE_BLAS_FOLDER") + "/libcudnn.so.9"; }

/// The engine of the fake cuDNN's last execution.
int last_engine() { return *static_cast<int*>(symbol_of(cudnn_path(), "fake_cudnn_engine")); }

hipStream_t last_stream() {
  return reinterpret_cast<hipStream_t (*)()>(symbol_of(cudnn_path(), "fake_cudnn_stream"))();
}

/// Algorithms are measured with a driver's memory and events.
void bind_driver() {
  BindRequest request;
  request.library = test::fake_library("FAKE_CUDA");
  REQUIRE(bind_nvidia(request).status.usable);
}

/// A variable of a fake while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

/// cuDNN's handle while it lives.
class OpenCudnn {
 public:
  OpenCudnn() : library_(nvidia::open_cudnn()) {
    REQUIRE_MESSAGE(library_.api != nullptr, library_.reason);
    REQUIRE(library_.api->open(handle_) == 0);
  }
  ~OpenCudnn() { library_.api->close(handle_); }
  OpenCudnn(const OpenCudnn&) = delete;
  OpenCudnn& operator=(const OpenCudnn&) = delete;

  /// Bytes of workspace.
  std::size_t plan(const ConvCall& call) const {
    std::size_t bytes = 1;
    CHECK(library_.api->plan(handle_, call, bytes) == 0);
    return bytes;
  }
  int convolve(const ConvCall& call) const { return library_.api->convolve(handle_, call); }

 private:
  DnnLibrary library_;
  void* handle_ = nullptr;
};

int count_of_objects() { return *static_cast<int*>(symbol_of(cudnn_path(), "fake_cudnn_objects")); }

}  // namespace

TEST_CASE("the engines that compute as exactly as the call asks for") {
  use_fake_libraries();
  const OpenCudnn cudnn;
  ConvProblem problem(grouped_shape());
  std::vector<char> workspace(5000);
  problem.call.workspace = workspace.data();
  problem.call.workspace_bytes = workspace.size();
  const auto check_engine = [&](BlasType type, BlasCompute compute, std::size_t bytes, int engine) {
    CAPTURE(to_string(type));
    CAPTURE(to_string(compute));
    ConvCall call = problem.call;
    call.type = type;
    call.compute = compute;
    CHECK(cudnn.plan(call) == bytes);
    std::vector<double> numbers(std::max(problem.x.size(), problem.y.size()));
    std::vector<double> results(numbers.size());
    call.x = call.filter = numbers.data();
    call.y = results.data();
    CHECK(cudnn.convolve(call) == 0);
    CHECK(last_engine() == engine);
  };
  check_engine(BlasType::f32, BlasCompute::f32, 4096, engine_of_the_estimate);
  check_engine(BlasType::f32, BlasCompute::f32_fast_tf32, 2048, engine_of_tensor_cores);
  // Not by one that transforms halves in halves.
  check_engine(BlasType::f16, BlasCompute::f32, 2048, engine_of_tensor_cores);
  check_engine(BlasType::bf16, BlasCompute::f32, 2048, engine_of_tensor_cores);
  check_engine(BlasType::f64, BlasCompute::f64, 2048, engine_of_tensor_cores);
  problem.call.workspace_bytes = 0;
  check_engine(BlasType::f16, BlasCompute::f32, 0, engine_without_workspace);
  CHECK(cudnn.convolve(problem.call) == 0);
  CHECK(last_engine() == engine_without_workspace);
  CHECK(problem.count_wrong() == 0);
}

TEST_CASE("the older interface where the graph interface cannot compute") {
  use_fake_libraries();
  ConvProblem problem(grouped_shape());
  std::vector<char> workspace(5000);
  problem.call.workspace = workspace.data();
  problem.call.workspace_bytes = workspace.size();
  const auto check = [&](const char* word, int engine) {
    CAPTURE(word);
    const Setting setting("FAKE_CUDNN_GRAPH", word);
    const OpenCudnn cudnn;
    CHECK(cudnn.plan(problem.call) == 4096);
    std::fill(problem.y.begin(), problem.y.end(), NAN);
    CHECK(cudnn.convolve(problem.call) == 0);
    CHECK(last_engine() == engine);
    CHECK(problem.count_wrong() == 0);
    CHECK(cudnn.plan(problem.call) == 4096);  // what callers have allocated stays enough
    CHECK(cudnn.convolve(problem.call) == 0);
  };
  check("no-plans", older_with_workspace);
  check("plans-fail", older_with_workspace);
  check("execute-fails", older_with_workspace);
  check("few-modes", engine_of_the_estimate);
  CHECK(count_of_objects() == 0);
  {  // Within the workspace that the plan which failed asked for.
    const Setting setting("FAKE_CUDNN_GRAPH", "execute-fails");
    const OpenCudnn cudnn;
    ConvCall call = problem.call;
    call.compute = BlasCompute::f32_fast_tf32;
    CHECK(cudnn.plan(call) == 2048);
    CHECK(cudnn.convolve(call) == 0);
    CHECK(last_engine() == older_interface);
  }

  // Tensors that are not aligned, of the same shape as others that are.
  const OpenCudnn cudnn;
  CHECK(cudnn.convolve(problem.call) == 0);
  CHECK(last_engine() == engine_of_the_estimate);
  problem.x.insert(problem.x.begin(), 0.0F);
  ConvCall shifted = problem.call;
  shifted.x = problem.x.data() + 1;
  std::fill(problem.y.begin(), problem.y.end(), NAN);
  CHECK(cudnn.convolve(shifted) == 0);
  CHECK(last_engine() == older_with_workspace);
  problem.x.erase(problem.x.begin());
  CHECK(problem.count_wrong() == 0);
  problem.call.x = problem.x.data();
  CHECK(cudnn.convolve(problem.call) == 0);
  CHECK(last_engine() == engine_of_the_estimate);
}

TEST_CASE("it takes the fastest way where measuring is asked for, else the estimate") {
  use_fake_libraries();
  bind_driver();
  ConvProblem problem(grouped_shape());
  std::vector<char> workspace(5000);
  problem.call.workspace = workspace.data();
  problem.call.workspace_bytes = workspace.size();
  problem.call.measures = true;
  const auto check = [&](const char* word, std::size_t bytes, int engine) {
    CAPTURE(word);
    const Setting setting("FAKE_CUDNN_GRAPH", word);
    const OpenCudnn cudnn;
    CHECK(cudnn.plan(problem.call) == bytes);
    CHECK(last_stream() == nullptr);  // not the one that measured, which has ended
    std::fill(problem.y.begin(), problem.y.end(), NAN);
    CHECK(cudnn.convolve(problem.call) == 0);
    CHECK(last_engine() == engine);
    CHECK(problem.count_wrong() == 0);
  };
  check("", 0, engine_without_workspace);
  check("slow", 0, older_winograd);
  check("no-plans", 0, older_winograd);
  check("plans-fail", 0, older_winograd);
  check("execute-fails", 0, older_winograd);
  // Not by an algorithm that sums halves in halves, in either interface.
  for (const char* word : {"", "no-plans"}) {
    const Setting setting("FAKE_CUDNN_GRAPH", word);
    const OpenCudnn cudnn;
    ConvCall halves = problem.call;
    halves.type = BlasType::bf16;
    CHECK(cudnn.plan(halves) == 0);
    CHECK(cudnn.convolve(halves) == 0);
    CHECK(last_engine() == (*word == '\0' ? engine_without_workspace : older_interface));
  }
  // One that cannot measure, for want of memory for instance, estimates.
  const Setting find("FAKE_CUDNN_FIND_FAILS", "1");
  check("no-plans", 4096, older_with_workspace);
  CHECK(count_of_objects() == 0);
}

TEST_CASE("the fake cuDNN refuses wrong descriptors") {
  use_fake_libraries();
  nvidia::open_cudnn();
  nvidia::CudnnBackendCalls calls{};
  nvidia::CudnnBackendCalls::for_each([&](auto member, const char* name, Need) {
    using Function = std::remove_reference_t<decltype(calls.*member)>;
    calls.*member = reinterpret_cast<Function>(symbol_of(cudnn_path(), name));
  });
  using namespace nvidia;
  void* tensor = nullptr;
  REQUIRE(calls.cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor) == 0);
  const std::int64_t numbers[4] = {1, 1, 1, 1};
  const auto set = [&](int name, int type, std::int64_t count) {
    return calls.cudnnBackendSetAttribute(tensor, name, type, count, numbers);
  };
  CHECK(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_DOUBLE, 4) == 2010);
  CHECK(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3) == 2000);
  CHECK(set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1) == 2000);
  CHECK(set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4) == 0);
  CHECK(calls.cudnnBackendFinalize(tensor) == 2000);  // not all are set
  std::int64_t count = 0;
  CHECK(calls.cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0,
                                       &count, nullptr) == 2004);
  void* operation = nullptr;
  REQUIRE(calls.cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                             &operation) == 0);
  CHECK(calls.cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor) == 2004);
  CHECK(set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4) == 0);
  CHECK(set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1) == 0);
  CHECK(set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1) == 0);
  CHECK(set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1) == 0);
  CHECK(calls.cudnnBackendFinalize(tensor) == 0);
  CHECK(set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1) == 2000);  // too late
  CHECK(calls.cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor) == 0);
  calls.cudnnBackendDestroyDescriptor(operation);
  calls.cudnnBackendDestroyDescriptor(tensor);
}

TEST_CASE("a cuDNN without the graph interface") {
  const std::string folder = test::fake_library("FAKE_OLD_CUDNN_FOLDER");
  setenv("HIPTOOL_LIBRARY_PATH", folder.c_str(), 1);
  const OpenCudnn cudnn;
  ConvProblem problem(grouped_shape());
  CHECK(cudnn.plan(problem.call) == 0);
  CHECK(cudnn.convolve(problem.call) == 0);
  CHECK(problem.count_wrong() == 0);
  const std::string path = folder + "/libcudnn.so.9";
  CHECK(*static_cast<int*>(symbol_of(path, "fake_cudnn_engine")) == older_interface);
}

}  // namespace hiptool::hip
