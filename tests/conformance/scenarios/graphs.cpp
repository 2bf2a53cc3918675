// SPDX-License-Identifier: MIT
#include "hiptool/graph.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "hip/abi.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {
namespace {

constexpr std::size_t half = 4'000;  // of the memory that the graph writes

Bytes expected_bytes(std::byte copied, std::uint32_t filled) {
  Bytes bytes(2 * half, copied);
  for (std::size_t at = half; at < bytes.size(); at += sizeof filled) {
    std::memcpy(bytes.data() + at, &filled, sizeof filled);
  }
  return bytes;
}

}  // namespace

void a_graph_repeats_its_work(const Place& place) {
  const Kernel kernel = kernel_store::KernelLoader(place.device()).kernel("hiptool_fill_u32");
  Buffer input(place.device(), half);
  Buffer result(place.device(), 2 * half);
  const Stream stream(place.device());
  const Stream other(place.device());
  std::uint32_t value = 7;
  const auto queue_work = [&](const StreamRef& on) {
    copy_d2d(result.view(0, half), input, on);
    launch(kernel, {{4}, {64}}, on, result.view(half, half), std::uint64_t{half / 4}, value);
  };
  fill(input, std::byte{1}, stream);
  fill(result, std::byte{9}, stream);
  queue_work(stream);  // a kernel may be loaded by its first launch, which a recording cannot do
  fill(result, std::byte{0}, stream);
  stream.synchronize();
  const Graph graph(place.device(), "copy and fill", queue_work);
  value = 8;
  stream.synchronize();
  expect_equal(read_back(result), Bytes(2 * half), "nothing is done while it is recorded");
  graph.launch(stream);
  stream.synchronize();
  expect_equal(read_back(result), expected_bytes(std::byte{1}, 7), "the first launch");
  fill(input, std::byte{2}, stream);
  fill(result, std::byte{0}, stream);
  graph.launch(stream);
  stream.synchronize();
  expect_equal(read_back(result), expected_bytes(std::byte{2}, 7), "the second launch");
  fill(input, std::byte{3}, other);
  graph.launch(other);
  other.synchronize();
  expect_equal(read_back(result), expected_bytes(std::byte{3}, 7), "on another stream");
}

void a_recording_cannot_wait(const Place& place) {
  Buffer buffer(place.device(), half);
  const Stream stream(place.device());
  fill(buffer, std::byte{1}, stream);
  stream.synchronize();
  expect_error(ErrorCode::device, hip::hipErrorStreamCaptureUnsupported, [&] {
    const Graph graph(place.device(), "waits", [&](const StreamRef& recording) {
      fill(buffer, std::byte{2}, recording);
      recording.synchronize();
    });
  });
  stream.synchronize();
  expect_equal(read_back(buffer), Bytes(half, std::byte{1}), "what a spoilt recording leaves");
  fill(buffer, std::byte{3}, stream);
  stream.synchronize();
  expect_equal(read_back(buffer), Bytes(half, std::byte{3}), "work after it");
}

}  // namespace hiptool::scenarios
