// SPDX-License-Identifier: MIT
#include "hip/cpu/fiber.hpp"

#include <sys/mman.h>

#include <new>

namespace hiptool::hip::cpu {
namespace {

/// The address sanitizer's frames are larger.
constexpr std::size_t stack_bytes = (has_address_sanitizer ? 256 : 64) * 1024;
/// One mapping for many stacks: the system allows a process only so many mappings.
constexpr std::size_t stacks_per_mapping = 32;
/// Below the lowest stack, so that the worst overflow ends in a fault.
constexpr std::size_t guard_bytes = 64 * 1024;
constexpr std::size_t mapping_bytes = guard_bytes + stacks_per_mapping * stack_bytes;

}  // namespace

void Fiber::start(FiberContext::Entry body, void* argument) {
  body_ = body;
  argument_ = argument;
  watch_.starts(stack_, bytes_);
  context_.prepare(stack_, bytes_, &Fiber::begin, this);
}

void Fiber::begin(void* self) {
  Fiber& fiber = *static_cast<Fiber*>(self);
  fiber.watch_.first_entered();
  fiber.body_(fiber.argument_);
}

void Fiber::enter() {
  watch_.before_enter();
  context_.enter();
  watch_.after_enter();
}

void Fiber::leave() {
  watch_.before_leave(false);
  context_.leave();
  watch_.after_leave();
}

void Fiber::leave_for_good() {
  watch_.before_leave(true);
  context_.leave();
}

Fibers::~Fibers() {
  for (void* const mapping : mappings_) munmap(mapping, mapping_bytes);
}

void Fibers::grow() {
  mappings_.reserve(mappings_.size() + 1);
  void* const mapping = mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mappings_.push_back(mapping);
  mprotect(mapping, guard_bytes, PROT_NONE);
  std::byte* const first = static_cast<std::byte*>(mapping) + guard_bytes;
  for (std::size_t stack = 0; stack < stacks_per_mapping; ++stack) {
    fibers_.emplace_back(first + stack * stack_bytes, stack_bytes);
  }
}

}  // namespace hiptool::hip::cpu
