// SPDX-License-Identifier: MIT
#include <array>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

void call_buffers(Hostile& hostile) {
  const Device& device = hostile.device;
  hostile.call("hiptool::Buffer::Buffer", [&] { const Buffer made(device, most); });
  hostile.call("hiptool::Buffer::Buffer", [&] {
    Buffer from(device, 16);
    const Buffer to = std::move(from);
    if (from.address() != nullptr || !from.is_empty()) throw std::logic_error("not empty");
    (void)from.device();
  });
  hostile.call("hiptool::Buffer::operator=", [&] {
    Buffer from(device, 16);
    Buffer to;
    to = std::move(from);
    move_to_itself(from);
    (void)from.view(0, 1);
  });
  hostile.call("hiptool::Buffer::address", [] { (void)Buffer().address(); });
  hostile.call("hiptool::Buffer::device", [] { (void)Buffer().device(); });
  hostile.call("hiptool::Buffer::view", [&] { (void)Buffer(device, 16).view(1, most); });
  hostile.call("hiptool::Buffer::view", [&] { (void)Buffer(device, 16).view(most, 1); });
  hostile.call("hiptool::Buffer::borrow_native",
               [&] { (void)Buffer::borrow_native(device, nullptr, 1); });
}

void call_copies(Hostile& hostile) {
  Buffer buffer(hostile.device, 64);
  Buffer elsewhere(hostile.other, 64);
  Buffer none;
  Buffer from(hostile.device, 64);
  const Buffer taken = std::move(from);
  std::array<std::byte, 65> bytes{};
  const Stream& stream = hostile.stream;
  for (Buffer* to : {&buffer, &elsewhere, &none, &from}) {
    for (const StreamRef& by : {StreamRef(stream), StreamRef(hostile.moved_stream)}) {
      hostile.call("hiptool::copy_h2d", [&] { copy_h2d(*to, std::span(bytes).first(64), by); });
      hostile.call("hiptool::copy_h2d", [&] { copy_h2d(*to, bytes, by); });
      hostile.call("hiptool::copy_d2h", [&] { copy_d2h(std::span(bytes).first(64), *to, by); });
      hostile.call("hiptool::copy_d2h", [&] { copy_d2h(bytes, *to, by); });
      hostile.call("hiptool::copy_d2d", [&] { copy_d2d(*to, buffer, by); });
      hostile.call("hiptool::copy_d2d", [&] { copy_d2d(*to, none, by); });
      hostile.call("hiptool::copy_d2d_2d", [&] {
        copy_d2d_2d(*to, {most, most}, buffer, {most, most}, most, most, by);
      });
      hostile.call("hiptool::copy_d2d_2d", [&] {
        copy_d2d_2d(*to, {0, 8}, buffer, {32, 8}, 8, 4, by);
      });
      hostile.call("hiptool::copy_peer", [&] { copy_peer(*to, buffer, by); });
      hostile.call("hiptool::copy_peer", [&] { copy_peer(*to, none, by); });
      hostile.call("hiptool::fill", [&] { fill(*to, std::byte{1}, by); });
      hostile.call("hiptool::fill", [&] { stream.synchronize(); });
    }
    hostile.call("hiptool::copy_h2d_and_wait", [&] { copy_h2d_and_wait(*to, bytes); });
    hostile.call("hiptool::copy_h2d_and_wait", [&] { copy_h2d_and_wait(*to, {}); });
    hostile.call("hiptool::copy_d2h_and_wait", [&] { copy_d2h_and_wait(bytes, *to); });
    hostile.call("hiptool::copy_d2h_and_wait", [&] { copy_d2h_and_wait({}, *to); });
  }
}

void call_arenas(Hostile& hostile) {
  const Device& device = hostile.device;
  hostile.call("hiptool::Arena::Arena", [&] { const Arena made(device, most); });
  hostile.call("hiptool::Arena::Arena", [] { const Arena made{Buffer()}; });
  hostile.call("hiptool::Arena::Arena", [&] {
    Arena made(Buffer(device, 1));
    (void)made.allocate(1);
  });
  Arena arena(device, 4096);
  Arena moved(device, 256);
  const Arena taken = std::move(moved);
  hostile.call("hiptool::Arena::operator=", [&] {
    Arena from(device, 256);
    Arena to(device, 256);
    to = std::move(from);
    move_to_itself(from);
    (void)from.counters();
  });
  for (Arena* each : {&arena, &moved}) {
    hostile.call("hiptool::Arena::allocate", [&] { (void)each->allocate(most); });
    hostile.call("hiptool::Arena::allocate", [&] { (void)each->allocate(16, 0); });
    hostile.call("hiptool::Arena::allocate", [&] { (void)each->allocate(16, huge); });
    hostile.call("hiptool::Arena::allocate_named", [&] { (void)each->allocate_named({}, 1); });
    hostile.call("hiptool::Arena::allocate_named",
                 [&] { (void)each->allocate_named("a", most - 1); });
    hostile.call("hiptool::Arena::find", [&] { (void)each->find({}); });
    hostile.call("hiptool::Arena::counters", [&] { (void)each->counters(); });
    hostile.call("hiptool::Arena::device", [&] { (void)each->device(); });
  }
  hostile.call("hiptool::ArenaCounters::fragmentation",
               [] { (void)ArenaCounters().fragmentation(); });
}

void call_allocators(Hostile& hostile) {
  const Device& device = hostile.device;
  hostile.call("hiptool::CachingAllocator::CachingAllocator",
               [&] { const CachingAllocator made(device, {.cache_limit_bytes = most}); });
  hostile.call("hiptool::CachingAllocator::CachingAllocator",
               [&] { const CachingAllocator made(device); });
  hostile.call("hiptool::CachingAllocator::CachingAllocator", [&] {
    CachingAllocator from(device);
    const CachingAllocator to = std::move(from);
    (void)from.statistics();
  });
  hostile.call("hiptool::CachingAllocator::operator=", [&] {
    CachingAllocator from(device);
    CachingAllocator to(device);
    to = std::move(from);
    move_to_itself(from);
    (void)from.device();
  });
  CachingAllocator allocator(device);
  CachingAllocator moved(device);
  const CachingAllocator taken = std::move(moved);
  for (CachingAllocator* each : {&allocator, &moved}) {
    const std::string name = "hiptool::CachingAllocator::";
    hostile.call(name + "allocate", [&] { (void)each->allocate(most, hostile.stream); });
    hostile.call(name + "allocate", [&] { (void)each->allocate(0, hostile.moved_stream); });
    hostile.call(name + "allocate", [&] { (void)each->allocate(16, hostile.moved_stream); });
    hostile.call(name + "allocate", [&] { (void)each->allocate(16, Stream(hostile.other)); });
    hostile.call(name + "record_use", [&] { each->record_use(Buffer(), hostile.stream); });
    hostile.call(name + "record_use",
                 [&] { each->record_use(Buffer(device, 16), hostile.stream); });
    hostile.call(name + "record_use", [&] {
      const Buffer buffer = each->allocate(16, hostile.stream);
      each->record_use(buffer, hostile.moved_stream);
    });
    hostile.call(name + "release_cached", [&] { each->release_cached(); });
    hostile.call(name + "statistics", [&] { (void)each->statistics(); });
    hostile.call(name + "device", [&] { (void)each->device(); });
    hostile.call(name + "cache_limit_bytes", [&] { (void)each->cache_limit_bytes(); });
  }
  hostile.call("hiptool::CachingAllocator::block_size",
               [] { (void)CachingAllocator::block_size(most); });
}

void call_host_memory(Hostile& hostile) {
  const Device& device = hostile.device;
  hostile.call("hiptool::HostMemory::HostMemory", [] { const HostMemory made(most); });
  hostile.call("hiptool::HostMemory::HostMemory", [] { const HostMemory made(1, 0); });
  hostile.call("hiptool::HostMemory::HostMemory",
               [] { const HostMemory made(16, static_cast<std::uint32_t>(four_billion)); });
  hostile.call("hiptool::HostMemory::mapped_bytes", [] {
    HostMemory from(16);
    const HostMemory to = std::move(from);
    (void)from.mapped_bytes();
  });
  hostile.call("hiptool::PinnedBuffer::PinnedBuffer",
               [&] { const PinnedBuffer made(device, most); });
  hostile.call("hiptool::PinnedBuffer::PinnedBuffer", [&] {
    const PinnedBuffer made(device, most - 1, PinnedBuffer::Method::registered);
  });
  hostile.call("hiptool::PinnedBuffer::PinnedBuffer",
               [&] { const PinnedBuffer made(device, 16, wrong<PinnedBuffer::Method>()); });
  hostile.call("hiptool::PinnedBuffer::PinnedBuffer", [&] {
    HostMemory from(16);
    const HostMemory to = std::move(from);
    PinnedBuffer made(device, std::move(from));
    const PinnedBuffer taken = std::move(made);
    if (!made.bytes().empty()) throw std::logic_error("not empty");
  });
  hostile.call("hiptool::RegisteredMemory::RegisteredMemory",
               [&] { const RegisteredMemory made(device, {}); });
  const std::array<std::byte, 16> bytes{};
  hostile.call("hiptool::RegisteredMemory::RegisteredMemory", [&] {
    const RegisteredMemory made(device, bytes, wrong<RegisteredMemory::Access>());
  });
}

}  // namespace

void call_memory(Hostile& hostile) {
  call_buffers(hostile);
  call_copies(hostile);
  call_arenas(hostile);
  call_allocators(hostile);
  call_host_memory(hostile);
}

}  // namespace hiptool::test
