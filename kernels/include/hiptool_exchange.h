// SPDX-License-Identifier: MIT
// The work of kernels that exchange data with kernels of other devices or with the host; both
// include it. The types of 32 and 64 bits come from <hip/hip_runtime.h> there and from <cstdint>
// here.
#pragma once

namespace hiptool_exchange {

constexpr uint32_t words_per_flag = 16;   // 64 bytes: no two flags share a line
constexpr uint32_t words_per_report = 4;  // of a block
constexpr uint32_t units_per_row = 2;     // of the table of ranks: inbox, flags

// Every rank has an inbox with a slot for each step (ring) or each rank (all to all), and flags:
// for each slot and block first whether data has arrived, then whether the sent data was taken.
struct Work {
  uint64_t input;    // ranks * chunk_units of 16 bytes
  uint64_t output;   // the same
  uint64_t table;    // inbox and flags of each rank, two addresses a rank
  uint64_t stop;     // a word of the host: not 0 ends all waiting
  uint64_t reports;  // words_per_report a block: 1 + step, the awaited rank, round, 1: taken
  uint64_t chunk_units;
  uint64_t most_spins;
  uint32_t rank;
  uint32_t ranks;
  uint32_t rounds;
  uint32_t first_round;  // above 0 and above the rounds of earlier launches
};

// What the host and a kernel write into the same memory alternately. A group has four lines of 64
// bytes: one of the host and one of the kernel for even rounds, and two more for odd rounds, so
// that the lines of the host and of the kernel are next to each other.
constexpr uint32_t words_per_line = 16;
constexpr uint32_t lines_per_group = 4;
constexpr uint32_t words_per_turn = 48;  // of a block: the host's round, the kernel's, stop; in
                                         // lines of their own
struct Turns {
  uint64_t memory;   // groups of lines
  uint64_t turns;    // words_per_turn a block
  uint64_t reports;  // of all blocks: wrong words; of the first index, round, expected, got
  uint64_t groups;
  uint64_t most_spins;
  uint32_t rounds;
  uint32_t seed;
};

}  // namespace hiptool_exchange
