// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "measure/copy/pattern_words.hpp"

namespace hiptool::measure {

/// Kernels of bench-copy on one device, loaded before anything is timed, and a stream to check
/// data.
class DeviceTools {
 public:
  /// Starts the device and loads the kernels. Blocks. A kernel without an image or compiler is
  /// absent; other failures are thrown.
  explicit DeviceTools(const Device& device);

  const Device& device() const noexcept { return device_; }

  /// Fills device memory with the pattern, and waits. Without a kernel the host does it.
  void write(const Buffer& buffer, std::uint32_t seed);
  /// Compares device memory with the pattern, and waits.
  WrongWords check(const Buffer& buffer, std::uint32_t seed);

  /// The same for one half of what copy_both_ways() copied: the odd stretches, or the even ones.
  WrongWords check_half(const Buffer& buffer, std::uint32_t seed, bool is_odd);

  /// Absent if the build has no image for the device and none can be compiled.
  const std::optional<Kernel>& gate() const noexcept { return gate_; }
  /// Queues a copy by kernel. Throws Error(unsupported) with the reason if the kernel is absent.
  void copy(std::byte* destination, const std::byte* source, std::size_t size_bytes,
            const StreamRef& stream) const;
  /// The same copy `passes` times by one kernel, as nvbandwidth's do, without a gap between them.
  /// Where size or addresses are not multiples of 16, by a kernel for each pass. Throws as copy()
  /// does.
  void copy_passes(std::byte* destination, const std::byte* source, std::size_t size_bytes,
                   std::uint32_t passes, const StreamRef& stream) const;
  /// Queues one kernel of which half of the warps copy even stretches from `here` to `there`, and
  /// half odd ones back, each from `shift_bytes` behind its place, `passes` times before the next.
  /// Size and shift are multiples of split_bytes. Throws as copy() does.
  void copy_both_ways(std::byte* here, std::byte* there, std::size_t size_bytes,
                      std::size_t shift_bytes, std::uint32_t passes, const StreamRef& stream) const;
  /// A warp's 16 bytes for each lane.
  std::size_t stretch_bytes() const noexcept { return std::size_t{lanes_} * 16; }
  /// Throws as copy() does.
  void require_copy() const;
  void require_copy_both_ways() const;

 private:
  std::optional<Kernel> find(const Backend& backend, const char* name);
  std::uint32_t blocks_for(std::uint64_t count) const;
  template <class... Arguments>
  WrongWords run_check(const Kernel& kernel, const Buffer& buffer, std::uint64_t count,
                       const Arguments&... arguments);
  void require(const std::optional<Kernel>& kernel) const;
  void write_by_host(const Buffer& buffer, std::uint32_t seed) const;
  WrongWords check_by_host(const Buffer& buffer, std::uint32_t seed) const;

  Device device_;
  std::uint64_t compute_units_ = 1;
  std::uint32_t lanes_ = 32;  // of a warp
  std::string missing_;       ///< why kernels are absent
  std::optional<Kernel> write_, check_, check_half_, copy_16_, copy_1_, copy_16_passes_,
      copy_both_ways_, gate_;
  Stream stream_;
  Buffer result_;
  PinnedBuffer host_result_;
};

/// The tools of each device, created at their first use.
class ToolBox {
 public:
  DeviceTools& of(const Device& device);

 private:
  std::map<std::string, std::unique_ptr<DeviceTools>> tools_;
};

}  // namespace hiptool::measure
