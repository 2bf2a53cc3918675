// SPDX-License-Identifier: MIT
/// Work of a stream that is recorded. By the documentation of hipStreamBeginCapture and CUDA's
/// "Stream Capture" (CUDA C++ Programming Guide).
#include <doctest/doctest.h>

#include <thread>

#include "cases.hpp"
#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

constexpr std::size_t recorded_bytes = 5'000;

bool begin_recording(const Stream& stream) {
  const hipError_t error =
      api().hipStreamBeginCapture(stream.get(), hipStreamCaptureModeThreadLocal);
  if (error == hipErrorNotSupported) {
    test::skip_case("this runtime records no graphs");
    return false;
  }
  REQUIRE(error == hipSuccess);
  return true;
}

class Executable {
 public:
  /// Ends the recording; the graph itself goes at once.
  explicit Executable(const Stream& stream) {
    hipGraph_t graph = nullptr;
    REQUIRE(api().hipStreamEndCapture(stream.get(), &graph) == hipSuccess);
    REQUIRE(graph != nullptr);
    REQUIRE(api().hipGraphInstantiateWithFlags(&handle_, graph, 0) == hipSuccess);
    CHECK(api().hipGraphDestroy(graph) == hipSuccess);
  }
  ~Executable() { CHECK(api().hipGraphExecDestroy(handle_) == hipSuccess); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  hipError_t launch(const Stream& stream) const {
    return api().hipGraphLaunch(handle_, stream.get());
  }

 private:
  hipGraphExec_t handle_ = nullptr;
};

TEST_CASE("graphs: recorded work is done by each launch, in its order, and not before") {
  const DeviceMemory from(recorded_bytes);
  const DeviceMemory to(recorded_bytes);
  const Stream stream;
  from.fill(1);
  to.fill(0);
  if (!begin_recording(stream)) return;
  CHECK(api().hipMemcpyAsync(to.at(), from.at(), recorded_bytes, hipMemcpyDeviceToDevice,
                             stream.get()) == hipSuccess);
  CHECK(api().hipMemsetAsync(to.at(), 9, 10, stream.get()) == hipSuccess);
  CHECK(api().hipMemsetAsync(from.at(), 5, 100, stream.get()) == hipSuccess);
  const Executable graph(stream);
  REQUIRE(finishes(stream.get()));
  CHECK(to.read() == Bytes(recorded_bytes, 0));
  CHECK(from.read() == Bytes(recorded_bytes, 1));

  Bytes expected(recorded_bytes, 1);
  std::fill_n(expected.begin(), 10, std::uint8_t{9});
  REQUIRE(graph.launch(stream) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(to.read() == expected);
  std::fill_n(expected.begin() + 10, 90, std::uint8_t{5});
  REQUIRE(graph.launch(stream) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(to.read() == expected);
}

TEST_CASE("graphs: a launch is in the order of its stream") {
  const DeviceMemory memory(recorded_bytes);
  const DeviceMemory copy(recorded_bytes);
  const Stream recording;
  const Stream stream;
  memory.fill(0);
  copy.fill(0);
  if (!begin_recording(recording)) return;
  CHECK(api().hipMemcpyAsync(copy.at(), memory.at(), recorded_bytes, hipMemcpyDeviceToDevice,
                             recording.get()) == hipSuccess);
  const Executable graph(recording);
  Gate gate;
  gate.block(stream.get());
  REQUIRE(api().hipMemsetAsync(memory.at(), 3, recorded_bytes, stream.get()) == hipSuccess);
  REQUIRE(graph.launch(stream) == hipSuccess);
  REQUIRE(api().hipMemsetAsync(memory.at(), 4, recorded_bytes, stream.get()) == hipSuccess);
  CHECK(stays_busy(stream.get()));
  gate.open();
  REQUIRE(finishes(stream.get()));
  CHECK(copy.read() == Bytes(recorded_bytes, 3));
  CHECK(memory.read() == Bytes(recorded_bytes, 4));
}

TEST_CASE("graphs: a recording stream cannot be waited for, which spoils the recording") {
  const DeviceMemory memory(recorded_bytes);
  const Stream stream;
  memory.fill(1);
  for (const auto wait : {api().hipStreamSynchronize, api().hipStreamQuery}) {
    if (!begin_recording(stream)) return;
    CHECK(api().hipMemsetAsync(memory.at(), 2, recorded_bytes, stream.get()) == hipSuccess);
    CHECK(wait(stream.get()) == hipErrorStreamCaptureUnsupported);
    CHECK(api().hipMemsetAsync(memory.at(), 2, recorded_bytes, stream.get()) ==
          hipErrorStreamCaptureInvalidated);
    hipGraph_t graph = nullptr;
    CHECK(api().hipStreamEndCapture(stream.get(), &graph) == hipErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    REQUIRE(finishes(stream.get()));
    CHECK(memory.read() == Bytes(recorded_bytes, 1));
  }
}

TEST_CASE("graphs: what was not begun cannot end, nor can another thread end it") {
  const Stream stream;
  hipGraph_t graph = nullptr;
  const hipError_t not_begun = api().hipStreamEndCapture(stream.get(), &graph);
  if (not_begun == hipErrorNotSupported) return test::skip_case("this runtime records no graphs");
  CHECK(not_begun != hipSuccess);
  if (!begin_recording(stream)) return;
  hipError_t of_other = hipSuccess;
  std::thread([&] { of_other = api().hipStreamEndCapture(stream.get(), &graph); }).join();
  CHECK(of_other == hipErrorStreamCaptureWrongThread);
  CHECK(api().hipStreamEndCapture(stream.get(), &graph) == hipSuccess);
  CHECK(api().hipGraphDestroy(graph) == hipSuccess);
}

TEST_CASE("graphs: the default stream records nothing, and null handles are refused") {
  const hipError_t error = api().hipStreamBeginCapture(nullptr, hipStreamCaptureModeThreadLocal);
  if (error == hipErrorNotSupported) return test::skip_case("this runtime records no graphs");
  CHECK(error == hipErrorStreamCaptureUnsupported);
  const Stream stream;
  hipGraphExec_t executable = nullptr;
  CHECK(api().hipGraphInstantiateWithFlags(&executable, nullptr, 0) == hipErrorInvalidValue);
  CHECK(api().hipGraphLaunch(nullptr, stream.get()) == hipErrorInvalidValue);
  CHECK(api().hipGraphDestroy(nullptr) == hipErrorInvalidValue);
  CHECK(api().hipGraphExecDestroy(nullptr) == hipErrorInvalidValue);
}

}  // namespace
}  // namespace hiptool::conformance
