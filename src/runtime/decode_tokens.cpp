// SPDX-License-Identifier: MIT
#include "runtime/decode_tokens.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

#include "base/xxh3.hpp"
#include "hiptool/event.hpp"
#include "runtime/steps_ahead.hpp"

namespace hiptool::runtime {

namespace {

using DecodeClock = std::chrono::steady_clock;

// People see an answer to Ctrl-C within half a second.
constexpr double longest_wait_s = 0.1;

double seconds_since(DecodeClock::time_point start) {
  return std::chrono::duration<double>(DecodeClock::now() - start).count();
}

/// For a stream or an event.
template <class Work>
void wait_for(const Work& work, const CancelToken& cancel) {
  auto pause = std::chrono::microseconds(20);
  while (!work.is_done()) {
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

/// What is asked of the steps of a runtime: ids until there are `count`.
struct Request {
  std::span<const std::uint32_t> prompt;
  std::uint64_t count;
  const SamplingOptions& sampling;
  const CancelToken& cancel;
  StepOrder order;
};

void add_id(std::span<const float> logits, const SamplingOptions& sampling, std::uint64_t draw,
            DecodedTokens& result, DecodedSteps& steps) {
  steps.digests.push_back(base::xxh3_64(logits.data(), logits.size_bytes()));
  result.ids.push_back(sample_token(logits, sampling, draw));
  if (result.on_id) result.on_id();
}

/// Time from a step to the last one. The first step is the prompt's, and the second one loads the
/// kernels of single tokens, so it counts only where there are no others.
class StepTimer {
 public:
  StepTimer(const StreamRef& stream, std::uint64_t count)
      : timer_(stream), count_(count), untimed_(count > 2 ? 2 : 1) {}
  /// Before each step: those that were queued before it.
  void before(std::uint64_t steps) {
    if (steps == untimed_) timer_.start();
  }
  /// Once the last one is queued.
  void add_to(DecodedSteps& steps) {
    if (count_ <= untimed_) return;
    timer_.stop();
    steps.time_s += timer_.elapsed_s();
    steps.timed += count_ - untimed_;
  }

 private:
  KernelTimer timer_;
  std::uint64_t count_;
  std::uint64_t untimed_;
};

void decode_one_by_one(ModelRuntime& runtime, const Request& request, DecodedTokens& result,
                       DecodedSteps& steps) {
  const Backend& backend = runtime.backend();
  // A token may take seconds on a processor, where layers are slow enough to be waited for.
  if (backend.device().is_host_memory()) {
    runtime.observe([&cancel = request.cancel](const DecoderStage& stage) {
      if (stage.name == "output") wait_for(stage.stream, cancel);
    });
  }
  const std::size_t first = result.ids.size();
  StepTimer timer(backend.stream(), request.count - first);
  bool is_slow = true;
  while (result.ids.size() < request.count) {
    request.cancel.throw_if_cancelled("decode");
    const auto start = DecodeClock::now();
    const bool is_first = result.ids.size() == first;
    timer.before(result.ids.size() - first);
    const Tensor logits = is_first ? feed_prompt(runtime, request.prompt, request.cancel)
                                   : runtime.decode_step(std::span(result.ids).last(1));
    if (is_slow) wait_for(backend.stream(), request.cancel);
    const std::vector<float> values = logits.to_host<float>(backend.stream());
    is_slow = seconds_since(start) > longest_wait_s;
    add_id(values, request.sampling, runtime.position() - 1, result, steps);
  }
  timer.add_to(steps);
}

void decode_ahead(ModelRuntime& runtime, const Request& request, DecodedTokens& result,
                  DecodedSteps& steps) {
  const bool is_automatic = request.order == StepOrder::automatic;
  StepsAhead ahead(runtime);
  const std::size_t first = result.ids.size();
  StepTimer timer(runtime.backend().stream(), request.count - first);
  const auto queue_step = [&] {
    request.cancel.throw_if_cancelled("decode");
    timer.before(result.ids.size() - first + ahead.unread());
    ahead.queue_step();
  };
  // A slow step has little to gain, and two of them would delay the answer to Ctrl-C.
  bool is_slow = is_automatic;
  while (result.ids.size() < request.count) {
    request.cancel.throw_if_cancelled("decode");
    const auto start = DecodeClock::now();
    if (result.ids.size() == first) {
      ahead.add_prompt(feed_prompt(runtime, request.prompt, request.cancel));
    } else if (ahead.unread() == 0) {
      queue_step();
    }
    std::exception_ptr failure;  // of the step after the one that is read, whose id is right
    if (!is_slow && result.ids.size() + 1 < request.count) {
      try {
        queue_step();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    if (is_slow) wait_for(ahead.next_copy(), request.cancel);
    ahead.next_copy().synchronize();
    const std::span<const float> logits = ahead.read(result.ids.empty() ? 0 : result.ids.back());
    is_slow = is_automatic && seconds_since(start) > longest_wait_s;
    add_id(logits, request.sampling, 0, result, steps);  // greedy: there is no draw
    if (failure) std::rethrow_exception(failure);
  }
  timer.add_to(steps);
}

bool is_decoded_ahead(const ModelRuntime& runtime, const Request& request) {
  if (request.order != StepOrder::automatic) return request.order == StepOrder::ahead;
  return request.sampling.temperature == 0 && !runtime.backend().device().is_host_memory() &&
         StepsAhead::is_possible(runtime);
}

void decode_steps(ModelRuntime& runtime, const Request& request, DecodedTokens& result,
                  DecodedSteps& steps) {
  if (is_decoded_ahead(runtime, request)) {
    decode_ahead(runtime, request, result, steps);
  } else {
    decode_one_by_one(runtime, request, result, steps);
  }
  runtime.backend().synchronize();
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
                   DecodedTokens& result, StepOrder order) {
  DecodedSteps steps;
  decode_steps(runtime, {prompt, count, sampling, cancel, order}, result, steps);
  summarise(steps, result);
}

void decode_tokens(const MakeRuntime& make_runtime, const RopeSpec& rope,
                   std::span<const std::uint32_t> prompt, std::uint64_t count,
                   const SamplingOptions& sampling, const CancelToken& cancel,
                   DecodedTokens& result, StepOrder order) {
  const std::uint64_t all = prompt.size() + count;
  const std::uint64_t original = rope.original_context;
  // The last id is not fed, so one id more comes from short sequences.
  const bool begins_short = rope.scaling == RopeScaling::longrope && prompt.size() <= original;
  const std::uint64_t of_short =
      begins_short ? std::min<std::uint64_t>(count, original - prompt.size() + 1) : count;
  DecodedSteps steps;
  {
    ModelRuntime runtime = make_runtime(begins_short ? std::min(all, original) : all);
    decode_steps(runtime, {prompt, of_short, sampling, cancel, order}, result, steps);
  }
  if (of_short < count) {
    std::vector<std::uint32_t> fed(prompt.begin(), prompt.end());
    fed.insert(fed.end(), result.ids.begin(), result.ids.end());
    ModelRuntime runtime = make_runtime(all);
    decode_steps(runtime, {fed, count, sampling, cancel, order}, result, steps);
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
