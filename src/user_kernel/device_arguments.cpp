// SPDX-License-Identifier: MIT
#include "user_kernel/device_arguments.hpp"

#include <algorithm>
#include <cstring>

#include "hiptool/copy.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr std::size_t guard_bytes = 4096;  // a multiple of every alignment of memory

/// The contents before and after each buffer. No two consecutive bytes are equal, so that hardly
/// any write leaves them unchanged.
std::vector<std::byte> make_guard() {
  std::vector<std::byte> guard(guard_bytes);
  for (std::size_t i = 0; i < guard.size(); ++i) guard[i] = static_cast<std::byte>(0xa5 + 37 * i);
  return guard;
}

/// splitmix64 (Steele, Lea and Flood 2014) of a place.
std::uint64_t poison_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::vector<std::byte> initial_contents(const KernelArgument& argument, std::uint64_t seed,
                                        std::uint64_t repeat) {
  if (!argument.is_poison) return argument.bytes;
  std::vector<std::byte> bytes(argument.bytes.size());
  const std::uint64_t flipped = repeat % 2 == 0 ? 0 : ~std::uint64_t{0};
  const std::uint64_t own = poison_word(seed, repeat / 2);
  for (std::size_t start = 0; start < bytes.size(); start += sizeof(std::uint64_t)) {
    const std::uint64_t word = poison_word(own, start) ^ flipped;
    std::memcpy(bytes.data() + start, &word, std::min(sizeof(word), bytes.size() - start));
  }
  return bytes;
}

DeviceArguments::DeviceArguments(const Device& device, const std::vector<KernelArgument>& given,
                                 const StreamRef& stream, std::uint64_t seed, std::uint64_t repeat)
    : given_(given),
      stream_(stream),
      guard_(make_guard()),
      values_(given.size()),
      guarded_(given.size()),
      poison_(given.size()) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_buffer) {
      if (given[i].is_poison) poison_[i] = initial_contents(given[i], seed, repeat);
      guarded_[i] = Buffer(device, given[i].bytes.size() + 2 * guard_bytes);
      void* const address = buffer(i).address();
      values_[i].resize(1);
      std::memcpy(values_[i].data(), &address, sizeof(address));
    } else {
      values_[i].resize((given[i].bytes.size() + sizeof(Aligned) - 1) / sizeof(Aligned));
      std::memcpy(values_[i].data(), given[i].bytes.data(), given[i].bytes.size());
    }
    addresses_.push_back(values_[i].data());
  }
  fill();
}

void DeviceArguments::fill() const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (!given_[i].is_buffer) continue;
    copy_h2d(before(i), guard_, stream_);
    copy_h2d(buffer(i), contents(i), stream_);
    copy_h2d(behind(i), guard_, stream_);
  }
  stream_.synchronize();
}

std::span<const std::byte> DeviceArguments::contents(std::size_t argument) const {
  return given_[argument].is_poison ? poison_[argument] : given_[argument].bytes;
}

std::vector<OutsideWrite> DeviceArguments::find_outside_writes() const {
  std::vector<OutsideWrite> found;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (!given_[i].is_buffer) continue;
    OutsideWrite write;
    write.argument = i;
    write.before_bytes = changed_bytes(read(before(i)));
    write.behind_bytes = changed_bytes(read(behind(i)));
    if (write.before_bytes + write.behind_bytes > 0) found.push_back(write);
  }
  return found;
}

Buffer DeviceArguments::before(std::size_t i) const { return guarded_[i].view(0, guard_bytes); }
Buffer DeviceArguments::buffer(std::size_t i) const {
  return guarded_[i].view(guard_bytes, given_[i].bytes.size());
}
Buffer DeviceArguments::behind(std::size_t i) const {
  return guarded_[i].view(guard_bytes + given_[i].bytes.size(), guard_bytes);
}

std::vector<std::byte> DeviceArguments::read(const Buffer& from) const {
  std::vector<std::byte> bytes(from.size_bytes());
  copy_d2h(bytes, from, stream_);
  stream_.synchronize();
  return bytes;
}

std::uint64_t DeviceArguments::changed_bytes(const std::vector<std::byte>& read_back) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < guard_.size(); ++i) count += read_back[i] != guard_[i] ? 1u : 0u;
  return count;
}

}  // namespace hiptool::user_kernel
