// SPDX-License-Identifier: MIT
#include "system/aer.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "system/pci_path.hpp"

namespace hiptool::system {
namespace {

/// The number after "TOTAL_ERR_COR " and the like.
std::optional<std::uint64_t> total_of(const std::filesystem::path& file, std::string_view total) {
  const std::string text = base::read_small_file(file);
  const auto at = text.find(total);
  if (at == std::string::npos) return {};
  const auto start = at + total.size() + 1;
  if (start > text.size()) return {};
  return base::parse_number<std::uint64_t>(
      std::string_view(text).substr(start, text.find('\n', start) - start));
}

}  // namespace

std::vector<AerCounts> read_aer(const std::filesystem::path& root, std::string_view bus_id) {
  std::vector<AerCounts> counts;
  for (const PciPath::Hop& hop : read_pci_path(root, bus_id).hops) {
    const std::filesystem::path folder = root / "sys/bus/pci/devices" / hop.bus_id;
    AerCounts one{hop.bus_id, total_of(folder / "aer_dev_correctable", "TOTAL_ERR_COR"), {}};
    const auto fatal = total_of(folder / "aer_dev_fatal", "TOTAL_ERR_FATAL");
    const auto nonfatal = total_of(folder / "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
    if (fatal || nonfatal) one.uncorrected = fatal.value_or(0) + nonfatal.value_or(0);
    if (one.corrected || one.uncorrected) counts.push_back(std::move(one));
  }
  return counts;
}

}  // namespace hiptool::system
