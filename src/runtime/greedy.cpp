// SPDX-License-Identifier: MIT
#include "runtime/greedy.hpp"

#include "base/xxh3.hpp"
#include "hiptool/event.hpp"

namespace hiptool::runtime {

DecodedTokens decode_tokens(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                            std::uint64_t count, const SamplingOptions& sampling,
                            const CancelToken* cancel) {
  const Backend& backend = runtime.backend();
  DecodedTokens result;
  std::vector<std::uint64_t> digests;
  std::span<const std::uint32_t> next = prompt;
  KernelTimer timer(backend.stream());
  while (result.ids.size() < count) {
    if (cancel != nullptr) cancel->throw_if_cancelled("decode");
    if (result.ids.size() == 1) timer.start();
    const Tensor logits = runtime.decode_step(next);
    const std::vector<float> values = logits.to_host<float>(backend.stream());
    digests.push_back(base::xxh3_64(values.data(), values.size() * sizeof(float)));
    result.ids.push_back(sample_token(values, sampling, runtime.position() - 1));
    next = std::span(result.ids).last(1);
  }
  if (count > 1) {
    timer.stop();
    result.step_time_s = timer.elapsed_s() / static_cast<double>(count - 1);
  }
  backend.synchronize();
  result.logits_digest = base::xxh3_64(digests.data(), digests.size() * sizeof(std::uint64_t));
  return result;
}

std::vector<std::uint32_t> default_prompt(std::uint64_t vocabulary) {
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < 8; ++i) {
    ids.push_back(static_cast<std::uint32_t>((7 * i * i + 3 * i + 1) % vocabulary));
  }
  return ids;
}

}  // namespace hiptool::runtime
