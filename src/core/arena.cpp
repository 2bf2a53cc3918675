// SPDX-License-Identifier: MIT
#include "hiptool/arena.hpp"

#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "base/units.hpp"
#include "core/free_ranges.hpp"
#include "hiptool/error.hpp"

namespace hiptool {
namespace {

// The next multiple of 256; on overflow the largest number, which no device has.
std::size_t padded_size(std::size_t size_bytes) noexcept {
  constexpr std::size_t padding = Arena::minimum_alignment_bytes;
  if (size_bytes > std::numeric_limits<std::size_t>::max() - (padding - 1)) {
    return std::numeric_limits<std::size_t>::max();
  }
  return (size_bytes + padding - 1) / padding * padding;
}

static_assert(Arena::minimum_alignment_bytes == core::FreeRanges::granule_bytes);

// The part of a buffer between the first and the last multiple of the granule.
Buffer aligned_part(const Buffer& memory) {
  if (memory.is_empty()) return memory;
  constexpr std::size_t granule = core::FreeRanges::granule_bytes;
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(memory.address()) % granule;
  const std::size_t front = beyond == 0 ? 0 : granule - beyond;
  if (front >= memory.size_bytes()) return memory.view(0, 0);
  return memory.view(front, (memory.size_bytes() - front) / granule * granule);
}

const Buffer& require_device(const Buffer& memory) {
  if (!memory.has_device()) {
    throw Error(ErrorCode::invalid_argument, "make arena", "the buffer is on no device");
  }
  return memory;
}

}  // namespace

double ArenaCounters::fragmentation() const noexcept {
  if (free_bytes == 0) return 0;
  return 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes);
}

struct Arena::State {
  const Buffer memory;
  mutable std::mutex mutex;  // guards the members below
  core::FreeRanges ranges;
  std::map<std::string, std::weak_ptr<Slice>, std::less<>> names;
  std::size_t requested_bytes = 0;
  std::size_t padded_bytes = 0;
  std::size_t slice_count = 0;

  explicit State(Buffer aligned)
      : memory(std::move(aligned)),
        ranges(reinterpret_cast<std::uintptr_t>(memory.address()), memory.size_bytes()) {}
};

// A range that is given back with this object; the owner of a slice's Buffers.
struct Arena::Slice {
  std::shared_ptr<State> state;
  std::string name;
  std::size_t offset = 0;
  std::size_t requested_bytes = 0;
  std::size_t padded_bytes = 0;
  bool is_counted = false;

  Slice(std::shared_ptr<State> of, std::string called, std::size_t size_bytes)
      : state(std::move(of)), name(std::move(called)), requested_bytes(size_bytes) {}
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
  ~Slice() {
    const std::lock_guard lock(state->mutex);
    if (!name.empty()) forget_name();
    if (padded_bytes > 0) state->ranges.give_back(offset);
    state->padded_bytes -= padded_bytes;
    if (!is_counted) return;
    state->requested_bytes -= requested_bytes;
    --state->slice_count;
  }

 private:
  // Another slice may have got the name after the last Buffer on this one went.
  void forget_name() {
    const auto entry = state->names.find(name);
    if (entry != state->names.end() && entry->second.expired()) state->names.erase(entry);
  }
};

Arena::Arena(const Device& device, std::size_t capacity_bytes)
    : Arena(Buffer(device, padded_size(capacity_bytes))) {}

Arena::Arena(const Buffer& memory)
    : state_(std::make_shared<State>(aligned_part(require_device(memory)))) {}

Arena::State& Arena::state() const {
  if (state_) return *state_;
  throw Error(ErrorCode::invalid_argument, "use arena", "the arena was moved from");
}

Arena::~Arena() = default;
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;

Buffer Arena::to_buffer(const std::shared_ptr<Slice>& slice) {
  const Buffer& memory = slice->state->memory;
  void* address = slice->padded_bytes == 0
                      ? nullptr
                      : static_cast<std::byte*>(memory.address()) + slice->offset;
  return Buffer::borrow_native(memory.device(), address, slice->requested_bytes, slice);
}

Buffer Arena::allocate(std::size_t size_bytes, std::size_t alignment_bytes) {
  return allocate_slice({}, size_bytes, alignment_bytes);
}

Buffer Arena::allocate_named(std::string name, std::size_t size_bytes,
                             std::size_t alignment_bytes) {
  if (name.empty()) {
    throw Error(ErrorCode::invalid_argument, "allocate from arena",
                "the name of a slice must not be empty");
  }
  return allocate_slice(std::move(name), size_bytes, alignment_bytes);
}

Buffer Arena::allocate_slice(std::string name, std::size_t size_bytes,
                             std::size_t alignment_bytes) {
  if (alignment_bytes < minimum_alignment_bytes || !std::has_single_bit(alignment_bytes)) {
    throw Error(ErrorCode::invalid_argument, "allocate from arena",
                "an alignment of " + std::to_string(alignment_bytes) +
                    " bytes is not a power of two of at least 256");
  }
  // Made before the lock is taken, so that a failure gives everything back after it is released.
  static_cast<void>(state());
  const auto slice = std::make_shared<Slice>(state_, std::move(name), size_bytes);
  {
    const std::lock_guard lock(state().mutex);
    if (!slice->name.empty()) {
      std::weak_ptr<Slice>& known = state().names[slice->name];
      if (!known.expired()) {
        throw Error(ErrorCode::invalid_argument, "allocate from arena",
                    "a slice named '" + slice->name + "' already exists");
      }
      known = slice;
    }
    if (size_bytes > 0) place(*slice, alignment_bytes);
    state().requested_bytes += size_bytes;
    ++state().slice_count;
    slice->is_counted = true;
  }
  return to_buffer(slice);
}

void Arena::place(Slice& slice, std::size_t alignment_bytes) {
  const std::size_t padded_bytes = padded_size(slice.requested_bytes);
  const auto offset = state().ranges.take(padded_bytes, alignment_bytes);
  if (!offset) {
    throw Error(
        ErrorCode::out_of_memory, "allocate from arena",
        format_size(slice.requested_bytes) + " do not fit the arena of " +
            format_size(state().memory.size_bytes()) + " on " + state().memory.device().id() +
            ": " + format_size(state().memory.size_bytes() - state().padded_bytes) + " are free, " +
            format_size(state().ranges.largest_bytes()) + " of them contiguous",
        "let other slices go, or make the arena larger");
  }
  slice.offset = *offset;
  slice.padded_bytes = padded_bytes;
  state().padded_bytes += padded_bytes;
}

Buffer Arena::find(std::string_view name) const {
  std::shared_ptr<Slice> slice;
  {
    const std::lock_guard lock(state().mutex);
    const auto entry = state().names.find(name);
    if (entry != state().names.end()) slice = entry->second.lock();
  }
  if (!slice) {
    throw Error(ErrorCode::not_found, "find slice",
                "the arena has no slice named '" + std::string(name) + "'");
  }
  return to_buffer(slice);
}

ArenaCounters Arena::counters() const {
  const std::lock_guard lock(state().mutex);
  ArenaCounters counters;
  counters.capacity_bytes = state().memory.size_bytes();
  counters.requested_bytes = state().requested_bytes;
  counters.padded_bytes = state().padded_bytes;
  counters.free_bytes = counters.capacity_bytes - counters.padded_bytes;
  counters.largest_free_bytes = state().ranges.largest_bytes();
  counters.slice_count = state().slice_count;
  counters.fragment_count = state().ranges.count();
  return counters;
}

const Device& Arena::device() const { return state().memory.device(); }

}  // namespace hiptool
