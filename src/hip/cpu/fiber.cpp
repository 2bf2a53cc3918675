// SPDX-License-Identifier: MIT
#include "hip/cpu/fiber.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace hiptool::hip::cpu {
namespace {

/// The address sanitizer's frames are larger.
constexpr std::size_t stack_bytes = (has_address_sanitizer ? 256 : 64) * 1024;
/// Below each stack, so that an overflow ends in a fault instead of in the stack of another. Larger
/// than most frames, which may skip the bytes between.
constexpr std::size_t guard_bytes = 64 * 1024;
constexpr std::size_t slot_bytes = guard_bytes + stack_bytes;
constexpr std::size_t stacks_per_mapping = 32;
constexpr std::size_t mapping_bytes = stacks_per_mapping * slot_bytes;

/// A guard divides a mapping, and the system limits their number in a process (65 530 by
/// default). Beyond a fourth of them stacks share the guard of the lowest of their mapping.
constexpr std::size_t most_guards = 8192;
std::atomic<std::size_t> guard_count{0};

bool take_guards() {
  if (guard_count.fetch_add(stacks_per_mapping) + stacks_per_mapping <= most_guards) return true;
  guard_count.fetch_sub(stacks_per_mapping);
  return false;
}

bool open_each_stack(std::byte* mapping) {
  for (std::size_t stack = 0; stack < stacks_per_mapping; ++stack) {
    std::byte* const start = mapping + stack * slot_bytes + guard_bytes;
    if (mprotect(start, stack_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  }
  return true;
}

}  // namespace

std::size_t fiber_stack_bytes() noexcept { return stack_bytes; }

void Fiber::start(FiberContext::Entry body, void* argument) {
  body_ = body;
  argument_ = argument;
  is_left_for_good_ = false;
  watch_.starts(stack_, bytes_);
  context_.prepare(stack_, bytes_, &Fiber::begin, this);
}

void Fiber::begin(void* self) {
  Fiber& fiber = *static_cast<Fiber*>(self);
  fiber.watch_.after_switch();
  fiber.body_(fiber.argument_);
}

void Fiber::switch_to(Fiber& other) {
  watch_.before_switch(other.watch_, false);
  context_.switch_to(other.context_);
  watch_.after_switch();
}

void Fiber::switch_for_good(Fiber& other) {
  is_left_for_good_ = true;
  watch_.before_switch(other.watch_, true);
  context_.switch_to(other.context_);
}

Fibers::~Fibers() {
  for (const Mapping& mapping : mappings_) {
    munmap(mapping.start, mapping_bytes);
    if (mapping.guards_each) guard_count.fetch_sub(stacks_per_mapping);
  }
}

bool Fibers::is_in_guard(const void* address) const noexcept {
  for (const Mapping& mapping : mappings_) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(mapping.start);
    if (offset < mapping_bytes) return offset % slot_bytes < guard_bytes;
  }
  return false;
}

void Fibers::grow() {
  mappings_.reserve(mappings_.size() + 1);
  void* const memory =
      mmap(nullptr, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(memory);
  mappings_.push_back({start, take_guards()});
  if (!mappings_.back().guards_each || !open_each_stack(start)) {
    if (mprotect(start + guard_bytes, mapping_bytes - guard_bytes, PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
  }
  for (std::size_t stack = 0; stack < stacks_per_mapping; ++stack) {
    std::byte* const first = start + stack * slot_bytes + guard_bytes;
    known_stacks_.emplace_back(first, stack_bytes);
    fibers_.emplace_back(first, stack_bytes);
  }
}

}  // namespace hiptool::hip::cpu
