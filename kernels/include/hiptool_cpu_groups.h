// SPDX-License-Identifier: MIT
/// Cooperative groups for kernel sources of the user on the processor, as <cooperative_groups.h> of
/// CUDA and <hip/hip_cooperative_groups.h> of HIP have them: blocks, tiles of up to a warp,
/// coalesced threads, reductions and scans. Names are the vendors' own. Reductions combine the
/// members in the order of their ranks, so that every member gets the same bits.
#pragma once
#include "hiptool_cpu_user.h"

namespace cooperative_groups {

/// Threads of a block: all of them, or lanes of one warp.
class thread_group {
 public:
  thread_group() = default;

  unsigned size() const {
    return lanes_ == 0 ? hiptool_cpu::block_threads()
                       : static_cast<unsigned>(__builtin_popcountll(lanes_));
  }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    if (lanes_ == 0) return hiptool_cpu::thread_rank();
    return static_cast<unsigned>(
        __builtin_popcountll(lanes_ & ((std::uint64_t{1} << hiptool_cpu::lane()) - 1)));
  }
  void sync(int line = __builtin_LINE()) const {
    if (lanes_ == 0) {
      hiptool_cpu::wait_at_barrier(line);
    } else {
      hiptool_cpu::exchange(0, hiptool_cpu::lane(), line);
    }
  }
  static constexpr bool is_valid() { return true; }

  /// The lanes of its warp; 0 for a whole block.
  std::uint64_t hiptool_lanes() const { return lanes_; }

 protected:
  explicit thread_group(std::uint64_t lanes) : lanes_(lanes) {}

 private:
  std::uint64_t lanes_ = 0;
};

class thread_block : public thread_group {
 public:
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }

/// All blocks at once. The processor runs them one after the other, so that this_grid() is declared
/// only: a kernel that calls it does not link.
class grid_group {
 public:
  void sync() const;
  bool is_valid() const;
  unsigned long long size() const;
  unsigned long long num_threads() const;
  unsigned long long thread_rank() const;
};
grid_group this_grid();

/// Lanes of one warp, which can exchange values.
class hiptool_warp_group : public thread_group {
 public:
  template <class Value>
  Value shfl(Value value, unsigned rank, int line = __builtin_LINE()) const {
    return hiptool_cpu::exchange_any(value, lane_of(rank % size()), line);
  }
  template <class Value>
  Value shfl_up(Value value, unsigned delta, int line = __builtin_LINE()) const {
    const unsigned own = thread_rank();
    return hiptool_cpu::exchange_any(value, lane_of(delta <= own ? own - delta : own), line);
  }
  template <class Value>
  Value shfl_down(Value value, unsigned delta, int line = __builtin_LINE()) const {
    const unsigned own = thread_rank();
    return hiptool_cpu::exchange_any(value, lane_of(delta < size() - own ? own + delta : own),
                                     line);
  }
  template <class Value>
  Value shfl_xor(Value value, unsigned mask, int line = __builtin_LINE()) const {
    const unsigned source = thread_rank() ^ mask;
    return hiptool_cpu::exchange_any(value, lane_of(source < size() ? source : thread_rank()),
                                     line);
  }

  /// A bit for each rank.
  unsigned long long ballot(int vote, int line = __builtin_LINE()) const {
    const std::uint64_t votes = hiptool_cpu::ballot(vote != 0, line);
    std::uint64_t ranks = 0;
    for (unsigned rank = 0; rank < size(); ++rank) {
      if ((votes >> lane_of(rank) & 1) != 0) ranks |= std::uint64_t{1} << rank;
    }
    return ranks;
  }
  int any(int vote, int line = __builtin_LINE()) const { return ballot(vote, line) != 0; }
  int all(int vote, int line = __builtin_LINE()) const { return ballot(vote == 0, line) == 0; }
  template <class Value>
  unsigned long long match_any(Value value, int line = __builtin_LINE()) const {
    std::uint64_t ranks = 0;
    for (unsigned rank = 0; rank < size(); ++rank) {
      if (shfl(value, rank, line) == value) ranks |= std::uint64_t{1} << rank;
    }
    return ranks;
  }

  unsigned lane_of(unsigned rank) const {
    std::uint64_t left = hiptool_lanes();
    while (rank-- > 0) left &= left - 1;
    return static_cast<unsigned>(__builtin_ctzll(left));
  }
  /// Its members that are at this line: of a tile some may be missing where the block ends.
  std::uint64_t hiptool_present(int line) const {
    return hiptool_cpu::ballot(true, line) & hiptool_lanes();
  }

 protected:
  using thread_group::thread_group;
};

template <unsigned Size, class Parent = void>
class thread_block_tile : public hiptool_warp_group {
 public:
  static_assert((Size & (Size - 1)) == 0 && Size >= 1 && Size <= 32,
                "on the processor a tile is a power of two of at most 32 threads");
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& other)
      : hiptool_warp_group(other.hiptool_lanes()),
        rank_(other.meta_group_rank()),
        count_(other.meta_group_size()) {}
  explicit thread_block_tile(const thread_group& parent)
      : hiptool_warp_group(((std::uint64_t{1} << Size) - 1)
                           << hiptool_cpu::first_lane(hiptool_cpu::lane(), Size)),
        rank_(parent.thread_rank() / Size),
        count_((parent.size() + Size - 1) / Size) {}

  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return count_; }

 private:
  unsigned rank_;
  unsigned count_;
};

class coalesced_group : public hiptool_warp_group {
 public:
  explicit coalesced_group(std::uint64_t lanes) : hiptool_warp_group(lanes) {}
  static constexpr unsigned meta_group_rank() { return 0; }
  static constexpr unsigned meta_group_size() { return 1; }
};

inline coalesced_group coalesced_threads(int line = __builtin_LINE()) {
  return coalesced_group(hiptool_cpu::ballot(true, line));
}

template <unsigned Size>
thread_block_tile<Size> tiled_partition(const thread_group& parent) {
  return thread_block_tile<Size>(parent);
}

/// Of a power of two of at most 32 threads.
inline thread_group tiled_partition(const thread_group&, unsigned size) {
  const int width = static_cast<int>(size);
  return coalesced_group(((std::uint64_t{1} << size) - 1)
                         << hiptool_cpu::first_lane(hiptool_cpu::lane(), width));
}

template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, int line = __builtin_LINE()) {
  const std::uint64_t present = group.hiptool_present(line);
  std::uint64_t same = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    if (hiptool_cpu::exchange_any(label, lane, line) == label) same |= std::uint64_t{1} << lane;
  }
  return coalesced_group(same);
}

template <class Group>
coalesced_group binary_partition(const Group& group, bool side, int line = __builtin_LINE()) {
  return labeled_partition(group, side ? 1 : 0, line);
}

template <class Group>
void sync(const Group& group, int line = __builtin_LINE()) {
  group.sync(line);
}

// Operations of reduce() and the scans.
template <class Value>
struct plus {
  Value operator()(Value left, Value right) const { return left + right; }
};
template <class Value>
struct less {
  Value operator()(Value left, Value right) const { return right < left ? right : left; }
};
template <class Value>
struct greater {
  Value operator()(Value left, Value right) const { return left < right ? right : left; }
};
template <class Value>
struct bit_and {
  Value operator()(Value left, Value right) const { return left & right; }
};
template <class Value>
struct bit_or {
  Value operator()(Value left, Value right) const { return left | right; }
};
template <class Value>
struct bit_xor {
  Value operator()(Value left, Value right) const { return left ^ right; }
};

template <class Group, class Value, class Operation>
Value reduce(const Group& group, Value value, Operation combine, int line = __builtin_LINE()) {
  const std::uint64_t present = group.hiptool_present(line);
  bool is_first = true;
  Value all = value;
  for (unsigned lane = 0; lane < 64; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const Value one = hiptool_cpu::exchange_any(value, lane, line);
    all = is_first ? one : combine(all, one);
    is_first = false;
  }
  return all;
}

/// Of the members before this one, and of this one if `includes_own`; Value{} if there are none.
template <class Group, class Value, class Operation>
Value hiptool_scan(const Group& group, Value value, Operation combine, bool includes_own,
                   int line) {
  const std::uint64_t present = group.hiptool_present(line);
  const unsigned own = hiptool_cpu::lane();
  bool is_first = true;
  Value all{};
  for (unsigned lane = 0; lane < 64; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const Value one = hiptool_cpu::exchange_any(value, lane, line);
    if (lane > own || (lane == own && !includes_own)) continue;
    all = is_first ? one : combine(all, one);
    is_first = false;
  }
  return all;
}

template <class Group, class Value, class Operation = plus<Value>>
Value inclusive_scan(const Group& group, Value value, Operation combine = {},
                     int line = __builtin_LINE()) {
  return hiptool_scan(group, value, combine, true, line);
}

template <class Group, class Value, class Operation = plus<Value>>
Value exclusive_scan(const Group& group, Value value, Operation combine = {},
                     int line = __builtin_LINE()) {
  return hiptool_scan(group, value, combine, false, line);
}

}  // namespace cooperative_groups
