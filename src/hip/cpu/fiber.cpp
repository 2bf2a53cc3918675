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
/// Tops of stacks at distances of a power of two would all need the same few lines of each cache.
/// They are spread over this range, each an odd number of lines further than the one before.
constexpr std::size_t spread_bytes = 64 * 1024;
constexpr std::size_t spread_step_bytes = 65 * 64;
constexpr std::size_t slot_bytes = guard_bytes + stack_bytes + spread_bytes;
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
    if (mprotect(start, stack_bytes + spread_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  }
  return true;
}

}  // namespace

std::size_t fiber_stack_bytes() noexcept { return stack_bytes; }

void Fiber::start(FiberContext::Entry body, void* argument) {
  body_ = body;
  argument_ = argument;
  watch_.starts(stack_, bytes_);
  context_.prepare(stack_, bytes_, &Fiber::begin, this);
}

void Fiber::begin(void* self) {
  Fiber& fiber = *static_cast<Fiber*>(self);
  fiber.watch_.after_switch();
  fiber.body_(fiber.argument_);
}

void Fiber::switch_to(Fiber& other) {
  watch_.before_switch(other.watch_);
  context_.switch_to(other.context_);
  watch_.after_switch();
}

void Fiber::park(Fiber& other) {
  is_parked_ = true;
  switch_to(other);
  is_parked_ = false;
}

Fibers::~Fibers() {
  for (Fiber& fiber : fibers_) {
    if (fiber.is_parked()) fiber.end();
  }
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
    const std::size_t bytes = stack_bytes + fibers_.size() * spread_step_bytes % spread_bytes;
    known_stacks_.emplace_back(first, bytes);
    fibers_.emplace_back(first, bytes);
  }
}

}  // namespace hiptool::hip::cpu
