// SPDX-License-Identifier: MIT
#include "runtime/decode_tokens.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include "base/xxh3.hpp"
#include "hiptool/event.hpp"

namespace hiptool::runtime {

namespace {

using DecodeClock = std::chrono::steady_clock;

// People see an answer to Ctrl-C within half a second.
constexpr double longest_wait_s = 0.1;

double seconds_since(DecodeClock::time_point start) {
  return std::chrono::duration<double>(DecodeClock::now() - start).count();
}

void wait_for(const StreamRef& stream, const CancelToken& cancel) {
  auto pause = std::chrono::microseconds(20);
  while (!stream.is_done()) {
    cancel.throw_if_cancelled("decode");
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
  cancel.throw_if_cancelled("decode");
}

// In pieces that take about as long as one may wait, which gives the same bits.
Tensor feed_prompt(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                   const CancelToken& cancel) {
  constexpr std::size_t most = 128;
  std::size_t piece = 1;
  for (std::size_t at = 0;;) {
    const auto start = DecodeClock::now();
    const std::size_t count = std::min(piece, prompt.size() - at);
    const Tensor logits = runtime.decode_step(prompt.subspan(at, count));
    wait_for(runtime.backend().stream(), cancel);
    at += count;
    if (at == prompt.size()) return logits;
    if (seconds_since(start) < longest_wait_s / 2) piece = std::min(2 * piece, most);
    if (seconds_since(start) > longest_wait_s) piece = std::max<std::size_t>(piece / 2, 1);
  }
}

}  // namespace

void decode_tokens(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                   std::uint64_t count, const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result) {
  const Backend& backend = runtime.backend();
  runtime.observe([&](const DecoderStage& stage) {
    // A token may take seconds on a processor, where layers are slow enough to be waited for.
    if (stage.stream.device().is_host_memory() && stage.name == "output") {
      wait_for(stage.stream, cancel);
    }
  });
  std::vector<std::uint64_t> digests;
  KernelTimer timer(backend.stream());
  bool is_slow = true;
  while (result.ids.size() < count) {
    cancel.throw_if_cancelled("decode");
    const auto start = DecodeClock::now();
    if (result.ids.size() == 1) timer.start();
    const Tensor logits = result.ids.empty() ? feed_prompt(runtime, prompt, cancel)
                                             : runtime.decode_step(std::span(result.ids).last(1));
    if (is_slow) wait_for(backend.stream(), cancel);
    const std::vector<float> values = logits.to_host<float>(backend.stream());
    is_slow = seconds_since(start) > longest_wait_s;
    digests.push_back(base::xxh3_64(values.data(), values.size() * sizeof(float)));
    result.ids.push_back(sample_token(values, sampling, runtime.position() - 1));
  }
  if (count > 1) {
    timer.stop();
    result.step_time_s = timer.elapsed_s() / static_cast<double>(count - 1);
  }
  backend.synchronize();
  runtime.observe({});
  result.logits_digest = base::xxh3_64(digests.data(), digests.size() * sizeof(std::uint64_t));
}

std::vector<std::uint32_t> default_prompt(std::uint64_t vocabulary) {
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < 8; ++i) {
    ids.push_back(static_cast<std::uint32_t>((7 * i * i + 3 * i + 1) % vocabulary));
  }
  return ids;
}

}  // namespace hiptool::runtime
