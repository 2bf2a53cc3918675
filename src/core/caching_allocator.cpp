// SPDX-License-Identifier: MIT
#include "hiptool/caching_allocator.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"

namespace hiptool {
namespace {

constexpr std::size_t smallest_block_bytes = 512;
constexpr std::size_t largest_rounded_bytes = 32u << 20;
constexpr std::uint64_t default_limit_divisor = 8;

// A stream that uses a block, and the mark of the end of that use.
struct Use {
  StreamRef stream;
  Event event;

  explicit Use(const StreamRef& on) : stream(on), event(on.device(), Event::Kind::ordering) {}
};

struct Block {
  Buffer memory;
  std::vector<Use> uses;  // never empty; the first one is the stream it was allocated for
};

// By size, and among equals the one that was freed first comes first. Blocks travel as nodes, so
// that freeing one takes no host memory and cannot fail.
using Blocks = std::multimap<std::size_t, Block>;

bool is_ready_for(const Block& block, const StreamRef& stream) {
  return std::ranges::all_of(
      block.uses, [&](const Use& use) { return use.stream == stream || use.event.is_done(); });
}

// Makes the block one of this stream. The wait matters although it is the same stream: the handle
// may belong to a later one, made after the block's own stream was destroyed.
void take_over(Block& block, const StreamRef& stream) {
  for (const Use& use : block.uses) {
    if (use.stream == stream && !use.event.is_done()) stream.wait(use.event);
  }
  block.uses.erase(std::next(block.uses.begin()), block.uses.end());
  block.uses.front().stream = stream;
}

bool record_uses(Block& block) noexcept {
  try {
    for (Use& use : block.uses) use.event.record(use.stream);
    return true;
  } catch (const Error& error) {
    core::state_of(block.memory.device()).note(error.operation(), error.what());
    return false;
  } catch (...) {
    return false;
  }
}

void require_device(const Device& device, const StreamRef& stream, const char* operation) {
  if (stream.device() == device) return;
  throw Error(ErrorCode::invalid_argument, operation,
              "the allocator is on " + device.id() + ", the stream on " + stream.device().id());
}

}  // namespace

struct CachingAllocator::State {
  struct Lease;

  const Device device;
  const std::uint64_t limit_bytes;
  mutable std::mutex mutex;  // guards the members below
  Blocks cached;
  std::map<std::uintptr_t, Lease*> used;  // by address
  Statistics statistics;
  bool is_closed = false;

  State(const Device& on, std::uint64_t limit) : device(on), limit_bytes(limit) {}

  Blocks::node_type take_cached(std::size_t size_bytes, const StreamRef& stream);
  Blocks::node_type make_block(std::size_t size_bytes, const StreamRef& stream);
  Buffer allocate_memory(std::size_t size_bytes);
  void hand_out(Lease& lease, Blocks::node_type node);
  void give_back(Blocks::node_type node) noexcept;
  std::uint64_t release_cached();
};

// A block in use; the owner of its Buffers.
struct CachingAllocator::State::Lease {
  std::shared_ptr<State> state;
  Blocks::node_type node;

  std::size_t size_bytes = 0;

  explicit Lease(std::shared_ptr<State> of) : state(std::move(of)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (node) state->give_back(std::move(node));
  }
};

Blocks::node_type CachingAllocator::State::take_cached(std::size_t size_bytes,
                                                       const StreamRef& stream) {
  const std::lock_guard lock(mutex);
  const auto [first, last] = cached.equal_range(size_bytes);
  const auto found = std::find_if(
      first, last, [&](const auto& entry) { return is_ready_for(entry.second, stream); });
  if (found == last) {
    ++statistics.misses;
    return {};
  }
  ++statistics.hits;
  statistics.cached_bytes -= size_bytes;
  --statistics.cached_blocks;
  return cached.extract(found);
}

Blocks::node_type CachingAllocator::State::make_block(std::size_t size_bytes,
                                                      const StreamRef& stream) {
  Block block;
  block.uses.emplace_back(stream);
  block.memory = allocate_memory(size_bytes);
  Blocks one;
  one.emplace(size_bytes, std::move(block));
  return one.extract(one.begin());
}

Buffer CachingAllocator::State::allocate_memory(std::size_t size_bytes) {
  try {
    return Buffer(device, size_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  release_cached();
  {
    const std::lock_guard lock(mutex);
    ++statistics.recoveries;
  }
  return Buffer(device, size_bytes);
}

void CachingAllocator::State::hand_out(Lease& lease, Blocks::node_type node) {
  const std::lock_guard lock(mutex);
  used.emplace(reinterpret_cast<std::uintptr_t>(node.mapped().memory.address()), &lease);
  statistics.used_bytes += node.key();
  ++statistics.used_blocks;
  lease.size_bytes = node.key();
  lease.node = std::move(node);
}

void CachingAllocator::State::give_back(Blocks::node_type node) noexcept {
  // Without marks the end of the block's use is unknown; the runtime's own free waits for it.
  const bool is_marked = record_uses(node.mapped());
  const std::size_t size_bytes = node.key();
  Blocks surplus;  // freed after the lock is, because that waits for the device
  const std::lock_guard lock(mutex);
  used.erase(reinterpret_cast<std::uintptr_t>(node.mapped().memory.address()));
  statistics.used_bytes -= size_bytes;
  --statistics.used_blocks;
  if (is_closed || !is_marked) {
    surplus.insert(std::move(node));
    return;
  }
  cached.insert(std::move(node));
  statistics.cached_bytes += size_bytes;
  ++statistics.cached_blocks;
  while (statistics.cached_bytes > limit_bytes) {
    const auto largest = std::prev(cached.end());
    statistics.cached_bytes -= largest->first;
    --statistics.cached_blocks;
    ++statistics.evictions;
    surplus.insert(cached.extract(largest));
  }
}

std::uint64_t CachingAllocator::State::release_cached() {
  Blocks released;
  const std::lock_guard lock(mutex);
  released.swap(cached);
  statistics.cached_blocks = 0;
  return std::exchange(statistics.cached_bytes, 0);
}

CachingAllocator::CachingAllocator(const Device& device) : CachingAllocator(device, Options{}) {}

CachingAllocator::CachingAllocator(const Device& device, Options options)
    : state_(std::make_shared<State>(device,
                                     options.cache_limit_bytes
                                         ? *options.cache_limit_bytes
                                         : device.memory().total_bytes / default_limit_divisor)) {}

CachingAllocator::~CachingAllocator() { close(); }

CachingAllocator::CachingAllocator(CachingAllocator&&) noexcept = default;

CachingAllocator& CachingAllocator::operator=(CachingAllocator&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
  }
  return *this;
}

void CachingAllocator::close() noexcept {
  if (!state_) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  state_->release_cached();
}

CachingAllocator::State& CachingAllocator::state() const {
  if (state_) return *state_;
  throw Error(ErrorCode::invalid_argument, "use allocator", "the allocator was moved from");
}

Buffer CachingAllocator::allocate(std::size_t size_bytes, const StreamRef& stream) {
  require_device(state().device, stream, "allocate");
  static_cast<void>(core::native_of(stream));
  if (size_bytes == 0) return Buffer(state().device, 0);
  const std::size_t block_bytes = block_size(size_bytes);
  auto node = state().take_cached(block_bytes, stream);
  if (node) {
    take_over(node.mapped(), stream);
  } else {
    node = state().make_block(block_bytes, stream);
  }
  void* address = node.mapped().memory.address();
  const auto lease = std::make_shared<State::Lease>(state_);
  state().hand_out(*lease, std::move(node));
  return Buffer::borrow_native(state().device, address, size_bytes, lease);
}

void CachingAllocator::record_use(const Buffer& buffer, const StreamRef& stream) {
  require_device(state().device, stream, "record use");
  static_cast<void>(core::native_of(stream));
  if (buffer.is_empty()) return;
  Use use(stream);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.address());
  const std::lock_guard lock(state().mutex);
  auto entry = state().used.upper_bound(address);
  const bool is_above_first = entry != state().used.begin();
  if (is_above_first) --entry;
  if (!is_above_first || address - entry->first >= entry->second->size_bytes) {
    throw Error(ErrorCode::invalid_argument, "record use",
                "the buffer is not one of this allocator");
  }
  std::vector<Use>& uses = entry->second->node.mapped().uses;
  const bool is_known =
      std::ranges::any_of(uses, [&](const Use& other) { return other.stream == stream; });
  if (!is_known) uses.push_back(std::move(use));
}

std::uint64_t CachingAllocator::release_cached() { return state().release_cached(); }

CachingAllocator::Statistics CachingAllocator::statistics() const {
  const std::lock_guard lock(state().mutex);
  return state().statistics;
}

const Device& CachingAllocator::device() const { return state().device; }

std::uint64_t CachingAllocator::cache_limit_bytes() const { return state().limit_bytes; }

std::size_t CachingAllocator::block_size(std::size_t size_bytes) noexcept {
  if (size_bytes <= smallest_block_bytes) return smallest_block_bytes;
  if (size_bytes > largest_rounded_bytes) return size_bytes;
  const std::size_t step = std::bit_floor(size_bytes) / 8;
  return (size_bytes + step - 1) / step * step;
}

}  // namespace hiptool
