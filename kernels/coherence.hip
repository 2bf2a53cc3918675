// SPDX-License-Identifier: MIT
// A kernel that reads and writes host memory at the same time as the host, and reports the words
// that it read wrong.
#include "hiptool_signals.h"

#include "hiptool_exchange.h"

using namespace hiptool_device;
using namespace hiptool_exchange;

namespace {

// As in pattern.hip, for the low half of an index.
inline __device__ uint32_t word_at(uint64_t index, uint32_t seed) {
  return mix_bits(static_cast<uint32_t>(index) * 0x9E3779B1U + seed * 0xC2B2AE3DU);
}

}  // namespace

// In round k the host's lines of parity k % 2 hold the words of seed + k, and the kernel writes the
// words of ~seed + k to its own lines.
extern "C" __global__ void __launch_bounds__(256) hiptool_coherence_turns(Turns work) {
  uint32_t* const memory = reinterpret_cast<uint32_t*>(work.memory);
  uint32_t* const turns = reinterpret_cast<uint32_t*>(work.turns) + blockIdx.x * words_per_turn;
  uint32_t* const reports = reinterpret_cast<uint32_t*>(work.reports);
  uint32_t* const shared = reinterpret_cast<uint32_t*>(dynamic_shared());
  const uint64_t begin = work.groups * blockIdx.x / gridDim.x;
  const uint64_t end = work.groups * (blockIdx.x + 1) / gridDim.x;
  for (uint32_t round = 1; round <= work.rounds; ++round) {
    if (!block_spins_until(turns, round, turns + 2 * words_per_line, work.most_spins, shared))
      return;
    const uint64_t words = (end - begin) * words_per_line;
#pragma unroll 1
    for (uint64_t i = threadIdx.x; i < words; i += blockDim.x) {
      const uint64_t group = begin + i / words_per_line;
      const uint64_t first_line = group * lines_per_group + round % 2;
      const uint64_t theirs = first_line * words_per_line + i % words_per_line;
      const uint64_t own = theirs + 2 * words_per_line;
      const uint32_t expected = word_at(theirs, work.seed + round);
      const uint32_t got = memory[theirs];
      memory[own] = word_at(own, ~work.seed + round);
      if (got == expected || atomicAdd(&reports[0], 1U) != 0) continue;
      reports[1] = static_cast<uint32_t>(theirs);
      reports[2] = round;
      reports[3] = expected;
      reports[4] = got;
    }
    block_signals(turns + words_per_line, round, nullptr, 0);
  }
}

HIPTOOL_EXPORT(hiptool_coherence_turns);
