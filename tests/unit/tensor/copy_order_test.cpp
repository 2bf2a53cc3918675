// SPDX-License-Identifier: MIT
/// What is read right after an asynchronous kernel is what the kernel wrote. No header of its own:
/// this is about streams, kernels and tensors together.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "hiptool/event.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/tensor.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t count = 20'000;

struct Filler {
  kernel_store::KernelLoader loader;
  Kernel kernel;

  explicit Filler(const Device& device)
      : loader(device), kernel(loader.kernel("hiptool_fill_u32")) {}

  void operator()(const Tensor& tensor, std::uint32_t value, const StreamRef& stream) const {
    launch(kernel, {{16}, {256}}, stream, tensor.buffer(), tensor.element_count(), value);
  }
};

std::size_t count_of(const std::vector<std::uint32_t>& values, std::uint32_t value) {
  return static_cast<std::size_t>(std::count(values.begin(), values.end(), value));
}

}  // namespace

TEST_CASE("a thousand times a read right after an asynchronous kernel gets its final data") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Filler fill_with(device);
  const Stream stream(device);
  const Tensor tensor = Tensor::empty(device, DType::u32, {count});
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t i = 1; i <= 1'000; ++i) {
    fill_with(tensor, i, stream);
    if (i % 2 == 0) {
      values = tensor.to_host<std::uint32_t>(stream);
    } else {
      tensor.copy_to_host(std::as_writable_bytes(std::span(values)), stream);
      stream.synchronize();
    }
    REQUIRE(count_of(values, i) == count);
  }
}

TEST_CASE("a read on another stream gets it behind an event") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Filler fill_with(device);
  const Stream stream(device);
  const Stream reader(device);
  const Tensor tensor = Tensor::empty(device, DType::u32, {count});
  Event filled(device, Event::Kind::ordering);
  for (std::uint32_t i = 1; i <= 300; ++i) {
    fill_with(tensor, i, stream);
    filled.record(stream);
    reader.wait(filled);
    REQUIRE(count_of(tensor.to_host<std::uint32_t>(reader), i) == count);
  }
}
