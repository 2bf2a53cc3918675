// SPDX-License-Identifier: MIT
#include "reference/prove/observation.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hiptool::reference {

void wait_unless_cancelled(const StreamRef& stream, const CancelToken* cancel) {
  constexpr std::chrono::microseconds shortest{20};
  constexpr std::chrono::microseconds longest{1000};
  auto pause = shortest;
  while (!stream.is_done()) {
    if (cancel != nullptr) cancel->throw_if_cancelled("prove");
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
  if (cancel != nullptr) cancel->throw_if_cancelled("prove");
}

std::vector<double> read_values(const StreamRef& stream, const Tensor& values,
                                const CancelToken* cancel) {
  wait_unless_cancelled(stream, cancel);
  if (values.dtype() == DType::u32) {
    const std::vector<std::uint32_t> counts = values.to_host<std::uint32_t>(stream);
    return {counts.begin(), counts.end()};
  }
  const std::vector<float> numbers = values.to_host<float>(stream);
  return {numbers.begin(), numbers.end()};
}

}  // namespace hiptool::reference
