// SPDX-License-Identifier: MIT
// Kernels that stay on their devices and exchange data through each other's memory. Block b of a
// device works with block b of the others only, on its part of every chunk, so that no device-wide
// barrier is needed. Data differs from round to round, and every round counts in the output: out =
// 3 out + received.
#include "hiptool_signals.h"

#include "hiptool_exchange.h"

using namespace hiptool_device;
using namespace hiptool_exchange;

namespace {

template <class Value>
inline __device__ Value* at_address(uint64_t address) {
  return reinterpret_cast<Value*>(address);
}

inline __device__ uint4 plus(uint4 a, uint4 b) {
  return make_unit(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
inline __device__ uint4 plus(uint4 a, uint32_t b) {
  return make_unit(a.x + b, a.y + b, a.z + b, a.w + b);
}
inline __device__ uint4 folded(uint4 out, uint4 value) {
  return make_unit(3 * out.x + value.x, 3 * out.y + value.y, 3 * out.z + value.z,
                   3 * out.w + value.w);
}

class Exchange {
 public:
  __device__ Exchange(const Work& work, uint32_t slots)
      : work_(work),
        slots_(slots),
        begin_(work.chunk_units * blockIdx.x / gridDim.x),
        end_(work.chunk_units * (blockIdx.x + 1) / gridDim.x) {}

  __device__ uint64_t begin() const { return begin_ + threadIdx.x; }
  __device__ uint64_t end() const { return end_; }
  const __device__ uint4* input(uint32_t chunk) const {
    return at_address<const uint4>(work_.input) + chunk * work_.chunk_units;
  }
  __device__ uint4* output(uint32_t chunk) const {
    return at_address<uint4>(work_.output) + chunk * work_.chunk_units;
  }
  __device__ uint4* slot(uint32_t rank, uint32_t number) const {
    return at_address<uint4>(table(rank, 0)) + number * work_.chunk_units;
  }
  __device__ uint32_t* arrival(uint32_t rank, uint32_t number) const { return flag(rank, number); }
  __device__ uint32_t* taken(uint32_t rank, uint32_t number) const {
    return flag(rank, slots_ + number);
  }

  // False if it did not arrive; the block must then end.
  __device__ bool wait(const uint32_t* word, uint32_t wanted, uint32_t step, uint32_t peer,
                       bool is_taken) const {
    uint32_t* const shared = reinterpret_cast<uint32_t*>(dynamic_shared());
    if (block_spins_until(word, wanted, at_address<const uint32_t>(work_.stop), work_.most_spins,
                          shared))
      return true;
    if (threadIdx.x == 0) {
      uint32_t* const report = at_address<uint32_t>(work_.reports) + blockIdx.x * words_per_report;
      report[0] = step + 1;
      report[1] = peer;
      report[2] = wanted;
      report[3] = is_taken ? 1 : 0;
    }
    return false;
  }

 private:
  __device__ uint64_t table(uint32_t rank, uint32_t column) const {
    return at_address<const uint64_t>(work_.table)[rank * units_per_row + column];
  }
  __device__ uint32_t* flag(uint32_t rank, uint32_t number) const {
    return at_address<uint32_t>(table(rank, 1)) +
           (number * gridDim.x + blockIdx.x) * words_per_flag;
  }

  const Work& work_;
  uint32_t slots_;
  uint64_t begin_;
  uint64_t end_;
};

}  // namespace

// All-reduce of sums: each step sends one chunk to the next rank, first partial sums, then whole
// ones. The chunk that a rank receives in a step is the one that it sends in the step after.
extern "C" __global__ void __launch_bounds__(256) hiptool_exchange_ring(Work work) {
  const uint32_t ranks = work.ranks;
  const uint32_t last = 2 * ranks - 2;
  const uint32_t next = (work.rank + 1) % ranks;
  const uint32_t previous = (work.rank + ranks - 1) % ranks;
  const Exchange exchange(work, last);
  for (uint32_t round = 0; round < work.rounds; ++round) {
    const uint32_t number = work.first_round + round;
    for (uint32_t step = 0; step <= last; ++step) {
      const bool receives = step > 0;
      const bool sends = step < last;
      if (receives &&
          !exchange.wait(exchange.arrival(work.rank, step - 1), number, step - 1, previous, false))
        return;
      if (sends && round > 0 &&
          !exchange.wait(exchange.taken(work.rank, step), number - 1, step, next, true))
        return;
      const uint32_t chunk = (work.rank + 2 * ranks - step) % ranks;
      const uint4* const input = exchange.input(chunk);
      const uint4* const got = exchange.slot(work.rank, receives ? step - 1 : 0);
      uint4* const output = exchange.output(chunk);
      uint4* const sent = exchange.slot(next, sends ? step : 0);
#pragma unroll 1
      for (uint64_t i = exchange.begin(); i < exchange.end(); i += blockDim.x) {
        uint4 value = make_unit(0, 0, 0, 0);
        if (step < ranks) value = plus(input[i], number);
        if (receives) value = plus(value, got[i]);
        if (step + 1 >= ranks) output[i] = folded(output[i], value);
        if (sends) sent[i] = value;
      }
      block_signals(sends ? exchange.arrival(next, step) : nullptr, number,
                    receives ? exchange.taken(previous, step - 1) : nullptr, number);
    }
  }
}

// Every rank sends every other one a chunk of its own.
extern "C" __global__ void __launch_bounds__(256) hiptool_exchange_all(Work work) {
  const uint32_t ranks = work.ranks;
  const Exchange exchange(work, ranks);
  for (uint32_t round = 0; round < work.rounds; ++round) {
    const uint32_t number = work.first_round + round;
    for (uint32_t step = 0; step < ranks; ++step) {
      const uint32_t peer = (work.rank + step) % ranks;
      const bool is_own = step == 0;
      if (!is_own && round > 0 &&
          !exchange.wait(exchange.taken(work.rank, peer), number - 1, step, peer, true))
        return;
      const uint4* const input = exchange.input(peer);
      uint4* const sent = exchange.slot(peer, work.rank);
      uint4* const output = exchange.output(peer);
#pragma unroll 1
      for (uint64_t i = exchange.begin(); i < exchange.end(); i += blockDim.x) {
        const uint4 value = plus(input[i], number);
        if (is_own) {
          output[i] = folded(output[i], value);
        } else {
          sent[i] = value;
        }
      }
      if (!is_own) block_signals(exchange.arrival(peer, work.rank), number, nullptr, 0);
    }
    for (uint32_t step = 1; step < ranks; ++step) {
      const uint32_t peer = (work.rank + ranks - step) % ranks;
      if (!exchange.wait(exchange.arrival(work.rank, peer), number, step, peer, false)) return;
      const uint4* const got = exchange.slot(work.rank, peer);
      uint4* const output = exchange.output(peer);
#pragma unroll 1
      for (uint64_t i = exchange.begin(); i < exchange.end(); i += blockDim.x) {
        output[i] = folded(output[i], got[i]);
      }
      block_signals(nullptr, 0, exchange.taken(peer, work.rank), number);
    }
  }
}

HIPTOOL_EXPORT(hiptool_exchange_ring);
HIPTOOL_EXPORT(hiptool_exchange_all);
