// SPDX-License-Identifier: MIT
/// Computes on a stream of the caller: the softmax of each row of a matrix, and its largest entry.
///
/// Usage: compute [DEVICE]
#include <cstdint>
#include <cstdio>
#include <hiptool/hiptool.hpp>
#include <vector>

int main(int argc, char** argv) try {
  hiptool::Platforms platforms(hiptool::Platforms::Options::from_environment());
  const hiptool::Device device =
      argc > 1 ? hiptool::find_device(platforms, argv[1]) : hiptool::default_device(platforms);
  const hiptool::Stream stream(device);
  const auto backend = hiptool::Backend::borrow_stream(stream);

  const std::vector<float> values{1, 3, 2, -1, 0, 4};
  const auto x = hiptool::Tensor::from_host<float>(device, values, {2, 3});
  const auto bias = hiptool::Tensor::from_host<float>(device, {0.5F, 0, 1}, {3});

  // All of this is queued on the stream and runs in this order; nothing waits here.
  const auto logits = hiptool::ops::row_bias(backend, x, bias);
  const auto shares = hiptool::ops::softmax(backend, logits);
  const auto best = hiptool::ops::argmax(backend, shares, {1});

  for (const float share : shares.to_host<float>(stream)) std::printf("%.4f ", share);
  for (const std::uint32_t index : best.to_host<std::uint32_t>(stream)) std::printf("%u ", index);
  std::printf("on %s\n", device.id().c_str());
} catch (const hiptool::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
