// SPDX-License-Identifier: MIT
/// GPU models with public figures: what vendors state, and what others measured and published.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::measure {

/// Rates of one direction, in bytes or operations per second; 0 without a public source.
/// docs/peaks.md names the source of each, and a test compares the two.
struct Board {
  Platform platform;
  /// Of NVIDIA the whole name that the driver reports, less "NVIDIA "; of AMD whole words of it.
  std::string_view name;
  double memory;        ///< its peak bandwidth, by the vendor
  double link;          ///< PCI Express after line coding, by the vendor
  double peer;          ///< to one other GPU, by the vendor
  double link_seen;     ///< published measurements or thresholds of copies from or to the host
  double peer_seen;     ///< the same of copies to another GPU
  double product_seen;  ///< the same of large products of f16 and bf16 by the vendor's libraries
  std::uint64_t
      compute_units;  ///< of the whole GPU, which partitions have fewer of; 0: not checked
};

/// The board that a device is, or is a part of; null if it is not listed.
const Board* find_board(Platform platform, std::string_view device_name);

/// What a published rate is for.
enum class RateKind { memory, link, peer, product };

/// What healthy devices of a model reach at least.
struct PublishedRate {
  double per_s = 0;          ///< bytes, or operations of a product
  bool is_measured = false;  ///< else the vendor's figure

  /// A rate below it is refused. Healthy GPUs reach 0.76 to 0.95 of what vendors state for memory
  /// and links, and measurements of one kind of machine differ by a tenth.
  double least_per_s() const { return (is_measured ? 0.85 : 0.7) * per_s; }
};

/// A published measurement, else the vendor's figure. Absent for models that are not listed,
/// partitions of a GPU (MIG, CPX, virtual functions with fewer units), and kinds without a source.
std::optional<PublishedRate> published_rate(Platform platform, const DeviceInfo& info,
                                            RateKind kind);

/// One NVLink in one direction, by the architecture ("sm_90"); absent if it is not published.
std::optional<double> nvlink_bytes_per_s(std::string_view arch);

}  // namespace hiptool::measure
