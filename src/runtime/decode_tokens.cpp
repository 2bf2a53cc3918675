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

/// What the steps of one or several runtimes leave.
struct DecodedSteps {
  std::vector<std::uint64_t> digests;  // of the logits of each
  double time_s = 0;                   // of those with one token
  std::uint64_t timed = 0;
};

// Appends ids to result.ids until there are `count`: first one after the prompt.
void decode_steps(ModelRuntime& runtime, std::span<const std::uint32_t> prompt, std::uint64_t count,
                  const SamplingOptions& sampling, const CancelToken& cancel, DecodedTokens& result,
                  DecodedSteps& steps) {
  const Backend& backend = runtime.backend();
  // A token may take seconds on a processor, where layers are slow enough to be waited for.
  if (backend.device().is_host_memory()) {
    runtime.observe([&](const DecoderStage& stage) {
      if (stage.name == "output") wait_for(stage.stream, cancel);
    });
  }
  KernelTimer timer(backend.stream());
  bool is_slow = true;
  const std::size_t first = result.ids.size();
  while (result.ids.size() < count) {
    cancel.throw_if_cancelled("decode");
    const auto start = DecodeClock::now();
    const bool is_first = result.ids.size() == first;
    if (result.ids.size() == first + 1) timer.start();
    const Tensor logits = is_first ? feed_prompt(runtime, prompt, cancel)
                                   : runtime.decode_step(std::span(result.ids).last(1));
    if (is_slow) wait_for(backend.stream(), cancel);
    const std::vector<float> values = logits.to_host<float>(backend.stream());
    is_slow = seconds_since(start) > longest_wait_s;
    steps.digests.push_back(base::xxh3_64(values.data(), values.size() * sizeof(float)));
    result.ids.push_back(sample_token(values, sampling, runtime.position() - 1));
    if (result.on_id) result.on_id();
  }
  if (count > first + 1) {
    timer.stop();
    steps.time_s += timer.elapsed_s();
    steps.timed += count - first - 1;
  }
  backend.synchronize();
  runtime.observe({});
}

void summarise(const DecodedSteps& steps, DecodedTokens& result) {
  if (steps.timed > 0) result.step_time_s = steps.time_s / static_cast<double>(steps.timed);
  result.logits_digest =
      base::xxh3_64(steps.digests.data(), steps.digests.size() * sizeof(std::uint64_t));
}

}  // namespace

void decode_tokens(ModelRuntime& runtime, std::span<const std::uint32_t> prompt,
                   std::uint64_t count, const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result) {
  DecodedSteps steps;
  decode_steps(runtime, prompt, count, sampling, cancel, result, steps);
  summarise(steps, result);
}

void decode_tokens(const MakeRuntime& make_runtime, const RopeSpec& rope,
                   std::span<const std::uint32_t> prompt, std::uint64_t count,
                   const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result) {
  const std::uint64_t all = prompt.size() + count;
  const std::uint64_t original = rope.original_context;
  // The last id is not fed, so that of the first ids that many come from short sequences.
  const bool begins_short = rope.scaling == RopeScaling::longrope && prompt.size() <= original;
  const std::uint64_t of_short =
      begins_short ? std::min<std::uint64_t>(count, original - prompt.size() + 1) : count;
  DecodedSteps steps;
  {
    ModelRuntime runtime = make_runtime(begins_short ? std::min(all, original) : all);
    decode_steps(runtime, prompt, of_short, sampling, cancel, result, steps);
  }
  if (of_short < count) {
    std::vector<std::uint32_t> fed(prompt.begin(), prompt.end());
    fed.insert(fed.end(), result.ids.begin(), result.ids.end());
    ModelRuntime runtime = make_runtime(all);
    decode_steps(runtime, fed, count, sampling, cancel, result, steps);
  }
  summarise(steps, result);
}

std::vector<std::uint32_t> default_prompt(std::uint64_t vocabulary) {
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < 8; ++i) {
    ids.push_back(static_cast<std::uint32_t>((7 * i * i + 3 * i + 1) % vocabulary));
  }
  return ids;
}

}  // namespace hiptool::runtime
