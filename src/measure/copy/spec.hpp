// SPDX-License-Identifier: MIT
/// The measurements of bench-copy: each has one rate or latency, and routes that are copied at the
/// same time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/device.hpp"

namespace hiptool::measure {

enum class CopyKind {
  h2d,
  d2h,
  d2d,    ///< within one device
  bidir,  ///< h2d and d2h at once
  p2p_read,
  p2p_write,
  p2p_bidir,
  h2d_all,
  d2h_all,
  one_to_all,
  all_to_one,
  all_to_all,
};

/// Kinds of host memory.
enum class HostKind { pinned, pageable, registered, managed };

enum class CopyEngine {
  copy,   ///< the runtime's copy calls: a copy engine (DMA) on GPUs
  kernel  ///< a kernel that reads and writes
};

/// Names on the command line and in JSON: "p2p-read", "pinned", "copy".
std::string_view to_string(CopyKind kind) noexcept;
std::string_view to_string(HostKind kind) noexcept;
std::string_view to_string(CopyEngine engine) noexcept;
std::optional<CopyKind> parse_copy_kind(std::string_view text) noexcept;
std::optional<HostKind> parse_host_kind(std::string_view text) noexcept;
std::optional<CopyEngine> parse_copy_engine(std::string_view text) noexcept;

/// All names, in the order of the enums.
std::vector<std::string> copy_kind_names();
std::vector<std::string> host_kind_names();
std::vector<std::string> copy_engine_names();

bool uses_host(CopyKind kind) noexcept;
/// Between devices: at least two are needed.
bool uses_peers(CopyKind kind) noexcept;

/// What else is copied while the first copy of a measurement is timed, twice as much so that it
/// lasts longer.
enum class Beside {
  nothing,
  other_way,         ///< the other direction of the same device
  others,            ///< the same direction of all other devices
  others_both_ways,  ///< the other direction, and both of all other devices
};

/// Whether one kernel on each device copies both ways: half of its warps, and of the bytes, one way
/// and half the other. Two kernels would take turns on the processors of the device.
constexpr bool is_split(CopyEngine engine, Beside beside) noexcept {
  return engine == CopyEngine::kernel &&
         (beside == Beside::other_way || beside == Beside::others_both_ways);
}
/// Its copies are multiples of this: a warp's 64 lanes of 16 bytes in each direction.
inline constexpr std::uint64_t split_bytes = 2048;

struct CopySpec {
  CopyKind kind = CopyKind::h2d;
  std::optional<HostKind> memory;  ///< absent without host memory
  CopyEngine engine = CopyEngine::copy;
  std::uint64_t size_bytes = 0;  ///< of each copy; if it is split, of both ways together
  /// One device for h2d, d2h, d2d, bidir; source and destination for p2p; all for the others, the
  /// one of one-to-all and all-to-one first; alongside others the measured one first.
  std::vector<Device> devices;
  bool reads = false;       ///< between several devices: the receiving side does the copy
  bool is_latency = false;  ///< the time of one copy and the wait for it, not a rate
  std::optional<int> node;  ///< NUMA node of the host memory; absent: not chosen
  /// Of h2d and d2h: the first device's copy is rated while these run, too.
  Beside beside = Beside::nothing;
  /// Of p2p-bidir: the rate is the sum of the rates of both copies, not of the time of both.
  bool sums_copies = false;
  /// A latency: a kernel follows a chain of addresses through the memory; the time of a step.
  bool is_chase = false;

  bool is_split() const noexcept { return measure::is_split(engine, beside); }
  /// What a copy of the measurement transfers: the second and later ones beside it twice as much,
  /// but the same, half of the size, if one kernel does both.
  std::uint64_t bytes_of(std::size_t route) const noexcept {
    if (is_split()) return size_bytes / 2;
    return beside != Beside::nothing && route > 0 ? 2 * size_bytes : size_bytes;
  }
};

/// One copy: source and destination (absent: the host), and the device of its stream.
struct CopyRoute {
  std::optional<Device> source;
  std::optional<Device> destination;
  Device executor;
};

/// The copies of a measurement, which run at the same time. If they are split, the second of each
/// two is the other way of the first.
std::vector<CopyRoute> routes_of(const CopySpec& spec);

/// "h2d.pinned.copy.256MiB@nvidia:0", the same in every run.
std::string id_of(const CopySpec& spec);

/// "host", "host:1" with a NUMA node, "nvidia:0", "nvidia:0,nvidia:1".
std::string source_of(const CopySpec& spec);
std::string destination_of(const CopySpec& spec);

/// Whether each part of "h2d.pinned" is a word of the measurement's id: kind, memory, engine, size
/// (in any form that --size takes), "read", "latency", "node0" or a device.
bool is_selected(const CopySpec& spec, std::string_view selector);

}  // namespace hiptool::measure
