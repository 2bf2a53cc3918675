// SPDX-License-Identifier: MIT
/// The arguments of a user's kernel on a device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/stream.hpp"
#include "user_kernel/arguments.hpp"

namespace hiptool::user_kernel {

/// Bytes that a kernel changed in the 4096 bytes before and after a buffer.
struct OutsideWrite {
  std::size_t argument = 0;
  std::uint64_t before_bytes = 0;
  std::uint64_t behind_bytes = 0;
};

/// The first contents of a buffer: the given ones, or poison, whose bytes depend on the seed, the
/// place and the repeat. Every byte of an odd repeat is the complement of the byte before
/// it, so no value that a kernel writes in both can be the poison of both.
std::vector<std::byte> initial_contents(const KernelArgument& argument, std::uint64_t seed,
                                        std::uint64_t repeat);

/// The buffers of one run, with guards before and after each, and the argument values of a launch.
class DeviceArguments {
 public:
  /// Allocates and fills; `given` must outlive this. Blocks.
  DeviceArguments(const Device& device, const std::vector<KernelArgument>& given,
                  const StreamRef& stream, std::uint64_t seed, std::uint64_t repeat);
  DeviceArguments(const DeviceArguments&) = delete;
  DeviceArguments& operator=(const DeviceArguments&) = delete;

  /// Gives all buffers and guards their first contents. Blocks.
  void fill() const;
  /// Blocks.
  std::vector<std::byte> read(std::size_t argument) const { return read(buffer(argument)); }
  /// Counts the changed bytes of the guards. Blocks.
  std::vector<OutsideWrite> find_outside_writes() const;
  /// What a buffer that begins with poison was filled with.
  std::span<const std::byte> contents(std::size_t argument) const;
  std::span<void* const> addresses() const { return addresses_; }

 private:
  Buffer before(std::size_t i) const;
  Buffer buffer(std::size_t i) const;
  Buffer behind(std::size_t i) const;
  std::vector<std::byte> read(const Buffer& from) const;
  std::uint64_t changed_bytes(const std::vector<std::byte>& read_back) const;

  /// The largest alignment of a type that kernels take.
  struct alignas(16) Aligned {
    std::byte bytes[16];
  };

  const std::vector<KernelArgument>& given_;
  StreamRef stream_;
  std::vector<std::byte> guard_;
  std::vector<std::vector<Aligned>> values_;
  std::vector<Buffer> guarded_;
  std::vector<void*> addresses_;
  std::vector<std::vector<std::byte>> poison_;  ///< empty: the contents are the given ones
};

}  // namespace hiptool::user_kernel
