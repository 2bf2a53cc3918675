// SPDX-License-Identifier: MIT
#include "fakes/cuda/faulty_kernels.hpp"

#include <hiptool_cpu_half.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/common/settings.hpp"

// Shared with the kernels, which have these types without a namespace.
using std::uint32_t;
using std::uint64_t;
#include <hiptool_exchange.h>
#include <hiptool_rows.h>

namespace hiptool::fake {
namespace {

using hiptool_cpu::HalfFormat;
using hiptool_ops::Operands;
using hiptool_ops::Reduction;

template <class Argument>
Argument& argument(void** arguments, std::size_t index) {
  return *static_cast<Argument*>(arguments[index]);
}

/// Queues a function that takes the place of a kernel.
CUresult queue(CUstream stream, std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  const auto call = [](void* data) {
    const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()>*>(data));
    (*own)();
  };
  return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, call,
                       owned.release());
}

/// Each element of a packed operation of two tensors by a function of the host.
template <class Number, class Function>
CUresult queue_binary(CUstream stream, void** arguments, Function function) {
  const auto count = argument<std::uint64_t>(arguments, 1);
  const auto* const a = argument<const Number*>(arguments, 2);
  const auto* const b = argument<const Number*>(arguments, 3);
  auto* const out = argument<Number*>(arguments, 4);
  return queue(stream, [=] { std::transform(a, a + count, b, out, function); });
}

template <unsigned operands>
std::array<std::uint64_t, operands> places_of(const Operands<operands>& all, std::uint64_t index) {
  std::array<std::uint64_t, operands> places{};
  for (unsigned axis = 0; axis < all.axes; ++axis) {
    for (unsigned k = 0; k < operands; ++k) {
      places[k] += index % all.dims[axis] * all.strides[k][axis];
    }
    index /= all.dims[axis];
  }
  return places;
}

/// One sum after the other, each element added in halves.
void sum_in_halves(const Reduction& all, const std::uint16_t* in, void* out) {
  for (std::uint64_t result = 0; result < all.kept.count; ++result) {
    const auto kept = places_of(all.kept, result);
    for (std::uint64_t chunk = 0; chunk < all.chunks; ++chunk) {
      const std::uint64_t begin = chunk * all.chunk_length;
      const std::uint64_t end = std::min(all.length, begin + all.chunk_length);
      std::uint16_t sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint16_t element = in[kept[0] + places_of(all.reduced, i)[0]];
        sum = HalfFormat::narrow(HalfFormat::widen(sum) + HalfFormat::widen(element));
      }
      const std::uint64_t place = kept[1] + chunk;
      if (all.result == hiptool_ops::SumResult::f32) {
        static_cast<float*>(out)[place] = HalfFormat::widen(sum);
      } else {
        static_cast<std::uint16_t*>(out)[place] = sum;
      }
    }
  }
}

CUresult launch_with_long_stride(void** arguments, const LaunchKernel& launch) {
  auto operands = argument<Operands<3>>(arguments, 1);
  ++operands.strides[0][operands.axes - 1];
  operands.packed &= ~1U;  // its pieces are not aligned any more
  void* changed[] = {arguments[0], &operands, arguments[2], arguments[3], arguments[4]};
  return launch(changed);
}

CUresult launch_without_tail(void** arguments, const LaunchKernel& launch) {
  std::uint64_t count = argument<std::uint64_t>(arguments, 1) / 8 * 8;
  void* changed[] = {arguments[0], &count, arguments[2], arguments[3], arguments[4]};
  return launch(changed);
}

CUresult launch_swapped(void** arguments, const LaunchKernel& launch) {
  void* changed[] = {arguments[0], arguments[1], arguments[3], arguments[2], arguments[4]};
  return launch(changed);
}

// ---- kernels that wait for others

std::atomic_ref<std::uint32_t> word_at(std::uint64_t address, std::uint64_t index) {
  return std::atomic_ref(reinterpret_cast<std::uint32_t*>(address)[index]);
}

/// False once the host says stop.
bool wait_for_word(std::atomic_ref<std::uint32_t> word, std::uint32_t wanted,
                   std::atomic_ref<std::uint32_t> stop) {
  while (word.load() != wanted) {
    if (stop.load() != 0) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The steps of the ring of one block, as the protocol of kernels/exchange.hip has them.
class DroppingRing {
 public:
  DroppingRing(const hiptool_exchange::Work& work, unsigned blocks, unsigned block)
      : work_(work),
        blocks_(blocks),
        block_(block),
        next_((work.rank + 1) % work.ranks),
        previous_((work.rank + work.ranks - 1) % work.ranks),
        last_(2 * work.ranks - 2),
        begin_(4 * (work.chunk_units * block / blocks)),
        end_(4 * (work.chunk_units * (block + 1) / blocks)) {}

  bool run(std::uint32_t round, bool is_first) {
    for (std::uint32_t step = 0; step <= last_; ++step) {
      const bool has_come = step == 0 || wait(flag(work_.rank, step - 1), round);
      const bool may_send =
          step == last_ || is_first || wait(flag(work_.rank, last_ + step), round - 1);
      if (!has_come || !may_send) return false;
      move(step, round);
      if (step < last_) flag(next_, step).store(round);
      if (step > 0) flag(previous_, last_ + step - 1).store(round);
    }
    return true;
  }

 private:
  std::uint64_t table(std::uint32_t rank, std::uint32_t column) const {
    return reinterpret_cast<const std::uint64_t*>(
        work_.table)[rank * hiptool_exchange::units_per_row + column];
  }
  std::atomic_ref<std::uint32_t> flag(std::uint32_t rank, std::uint32_t number) const {
    return word_at(table(rank, 1),
                   (std::uint64_t{number} * blocks_ + block_) * hiptool_exchange::words_per_flag);
  }
  bool wait(std::atomic_ref<std::uint32_t> word, std::uint32_t wanted) const {
    return wait_for_word(word, wanted, word_at(work_.stop, 0));
  }
  void move(std::uint32_t step, std::uint32_t round) const {
    constexpr std::uint64_t dropped_words = 16;
    const std::uint64_t chunk_words = 4 * work_.chunk_units;
    const std::uint32_t chunk = (work_.rank + 2 * work_.ranks - step) % work_.ranks;
    const auto* const input =
        reinterpret_cast<const std::uint32_t*>(work_.input) + chunk * chunk_words;
    auto* const output = reinterpret_cast<std::uint32_t*>(work_.output) + chunk * chunk_words;
    const auto* const got = reinterpret_cast<const std::uint32_t*>(table(work_.rank, 0)) +
                            std::uint64_t{step == 0 ? 0 : step - 1} * chunk_words;
    auto* const sent = reinterpret_cast<std::uint32_t*>(table(next_, 0)) + step * chunk_words;
    for (std::uint64_t i = begin_; i < end_; ++i) {
      std::uint32_t value = step < work_.ranks ? input[i] + round : 0;
      if (step > 0) value += got[i];
      if (step + 1 >= work_.ranks) output[i] = 3 * output[i] + value;
      if (step < last_ && i + dropped_words < chunk_words) sent[i] = value;
    }
  }

  const hiptool_exchange::Work& work_;
  std::uint32_t blocks_;
  std::uint32_t block_;
  std::uint32_t next_;
  std::uint32_t previous_;
  std::uint32_t last_;
  std::uint64_t begin_;
  std::uint64_t end_;
};

void send_around_dropping(const hiptool_exchange::Work& work, unsigned blocks) {
  for (unsigned block = 0; block < blocks; ++block) {
    DroppingRing ring(work, blocks, block);
    for (std::uint32_t round = 0; round < work.rounds; ++round) {
      if (!ring.run(work.first_round + round, round == 0)) return;
    }
  }
}

std::uint32_t pattern_at(std::uint64_t index, std::uint32_t seed) {
  auto x = static_cast<std::uint32_t>(index) * 0x9E3779B1U + seed * 0xC2B2AE3DU;
  x = (x ^ x >> 15) * 0x85EBCA77U;
  x = (x ^ x >> 13) * 0xC2B2AE3DU;
  return x ^ x >> 16;
}

/// The turns of kernels/coherence.hip by a device that keeps a line in its cache.
void take_stale_turns(const hiptool_exchange::Turns& work, unsigned blocks) {
  using hiptool_exchange::words_per_line;
  constexpr std::uint64_t stale_line = 65;  // bytes 4160 to 4223
  constexpr std::uint64_t group_words = 4 * words_per_line;
  auto* const memory = reinterpret_cast<std::uint32_t*>(work.memory);
  auto* const reports = reinterpret_cast<std::uint32_t*>(work.reports);
  for (unsigned block = 0; block < blocks; ++block) {
    const std::uint64_t turns =
        work.turns + std::uint64_t{block} * hiptool_exchange::words_per_turn * 4;
    std::vector<std::uint32_t> kept(words_per_line);
    for (std::uint32_t round = 1; round <= work.rounds; ++round) {
      if (!wait_for_word(word_at(turns, 0), round, word_at(turns, 2 * words_per_line))) return;
      for (std::uint64_t group = work.groups * block / blocks;
           group < work.groups * (block + 1) / blocks; ++group) {
        for (std::uint64_t word = 0; word < words_per_line; ++word) {
          const std::uint64_t at = group * group_words + round % 2 * words_per_line + word;
          const std::uint64_t own = at + 2 * words_per_line;
          std::uint32_t got = std::atomic_ref(memory[at]).load();
          if (at / words_per_line == stale_line) {
            if (round > 2) got = kept[word];
            if (round == 1) kept[word] = got;
          }
          std::atomic_ref(memory[own]).store(pattern_at(own, ~work.seed + round));
          const std::uint32_t expected = pattern_at(at, work.seed + round);
          if (got == expected || reports[0]++ != 0) continue;
          reports[1] = static_cast<std::uint32_t>(at);
          reports[2] = round;
          reports[3] = expected;
          reports[4] = got;
        }
      }
      word_at(turns, words_per_line).store(round);
    }
  }
}

}  // namespace

CUresult launch_faulty(const std::string& kernel, CUstream stream, unsigned blocks,
                       void** arguments, const LaunchKernel& launch) {
  const std::string wanted = text_from("FAKE_CUDA_FAULTY_KERNEL", "");
  const auto colon = wanted.find(':');
  if (arguments == nullptr || wanted.substr(0, colon) != kernel) return launch(arguments);
  const std::string fault = wanted.substr(colon + 1);
  if (fault == "stride") return launch_with_long_stride(arguments, launch);
  if (fault == "tail") return launch_without_tail(arguments, launch);
  if (fault == "swapped") return launch_swapped(arguments, launch);
  if (fault == "nan") {
    return queue_binary<float>(stream, arguments, [](float x, float y) { return std::fmin(x, y); });
  }
  if (fault == "zero") {
    return queue_binary<std::int32_t>(stream, arguments, [](std::int32_t x, std::int32_t y) {
      return y == 0 ? -1 : static_cast<std::int32_t>(std::int64_t{x} / y);
    });
  }
  if (fault == "halves") {
    const auto all = argument<Reduction>(arguments, 0);
    const auto* const in = argument<const std::uint16_t*>(arguments, 1);
    void* const out = argument<void*>(arguments, 3);
    return queue(stream, [=] { sum_in_halves(all, in, out); });
  }
  if (kernel == "hiptool_coherence_turns") {
    const auto work = argument<hiptool_exchange::Turns>(arguments, 0);
    if (fault == "deaf") return queue(stream, [] {});
    return queue(stream, [=] { take_stale_turns(work, blocks); });
  }
  const auto work = argument<hiptool_exchange::Work>(arguments, 0);
  if (work.rank != 1) return launch(arguments);
  if (fault == "silent") return queue(stream, [] {});
  if (fault == "dropped") return queue(stream, [=] { send_around_dropping(work, blocks); });
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace hiptool::fake
