// SPDX-License-Identifier: MIT
#include "load/place/partition.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "load/place/layer_name.hpp"

namespace hiptool::load {
namespace {

std::uint64_t aligned(std::uint64_t size_bytes) {
  // Cannot overflow: each size was checked against its file.
  return (size_bytes + tensor_alignment_bytes - 1) / tensor_alignment_bytes *
         tensor_alignment_bytes;
}

void append(Unit& unit, const Unit& more) {
  unit.tensors.insert(unit.tensors.end(), more.tensors.begin(), more.tensors.end());
  unit.size_bytes += more.size_bytes;
}

// The number of the sum that is closest to the wanted one; of two, the later one.
std::size_t closest(const std::vector<std::uint64_t>& sums, std::uint64_t wanted) {
  const auto past = std::upper_bound(sums.begin(), sums.end(), wanted);
  if (past == sums.begin()) return 0;
  if (past == sums.end()) return sums.size() - 1;
  const bool is_nearer = *past - wanted <= wanted - *std::prev(past);
  return static_cast<std::size_t>((is_nearer ? past : std::prev(past)) - sums.begin());
}

std::vector<std::uint64_t> sums_of(std::span<const Unit> units) {
  std::vector<std::uint64_t> sums{0};
  for (const Unit& unit : units) sums.push_back(sums.back() + unit.size_bytes);
  return sums;
}

/// Finds cuts between units; runs are [begin, end) of their numbers.
class Cutter {
 public:
  Cutter(std::span<const Unit> units, std::span<const std::uint64_t> most_bytes)
      : most_bytes_(most_bytes.begin(), most_bytes.end()), before_(sums_of(units)) {}

  std::vector<std::size_t> cut() {
    if (!fits(before_.back())) return fill();
    std::uint64_t low = 0;
    std::uint64_t high = before_.back();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (fits(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return balance(high);
  }

 private:
  std::size_t units() const { return before_.size() - 1; }
  std::uint64_t most(std::size_t device, std::uint64_t limit) const {
    return std::min(most_bytes_[device], limit);
  }

  // The farthest end of a run that the device holds.
  std::size_t farthest(std::size_t begin, std::uint64_t most) const {
    const std::uint64_t limit =
        most > UINT64_MAX - before_[begin] ? UINT64_MAX : before_[begin] + most;
    const auto past = std::upper_bound(before_.begin(), before_.end(), limit);
    return static_cast<std::size_t>(past - before_.begin()) - 1;
  }

  // The same to the other side: where the longest run begins that ends there.
  std::size_t nearest(std::size_t end, std::uint64_t most) const {
    const std::uint64_t limit = before_[end] - std::min(before_[end], most);
    const auto first = std::lower_bound(before_.begin(), before_.end(), limit);
    return static_cast<std::size_t>(first - before_.begin());
  }

  bool fits(std::uint64_t limit) const {
    std::size_t begin = 0;
    for (std::size_t device = 0; device < most_bytes_.size(); ++device) {
      begin = farthest(begin, most(device, limit));
    }
    return begin == units();
  }

  std::vector<std::size_t> fill() const {
    std::vector<std::size_t> ends;
    for (const std::uint64_t most : most_bytes_) {
      ends.push_back(farthest(ends.empty() ? 0 : ends.back(), most));
    }
    ends.back() = units();
    return ends;
  }

  // Each device gets its part of what is left, as far as it and the devices behind it hold theirs,
  // and one unit at least, which need not be worth much.
  std::vector<std::size_t> balance(std::uint64_t limit) const {
    const std::size_t devices = most_bytes_.size();
    std::vector<std::size_t> least(devices + 1, units());
    for (std::size_t device = devices; device-- > 0;) {
      least[device] = nearest(least[device + 1], most(device, limit));
    }
    std::vector<std::size_t> ends;
    std::size_t begin = 0;
    for (std::size_t device = 0; device < devices; ++device) {
      const std::uint64_t left = before_.back() - before_[begin];
      const std::uint64_t wanted = before_[begin] + left / (devices - device);
      const std::size_t most_end = farthest(begin, most(device, limit));
      const std::size_t least_end = std::max(least[device + 1], std::min(begin + 1, most_end));
      // One unit at least for each device behind, if there are as many.
      const std::size_t kept = std::min(units(), devices - device - 1);
      const std::size_t last_end = std::clamp(units() - kept, least_end, most_end);
      begin = std::clamp(closest(before_, wanted), least_end, last_end);
      ends.push_back(begin);
    }
    return ends;
  }

  std::vector<std::uint64_t> most_bytes_;
  std::vector<std::uint64_t> before_;  // bytes of all units before each, and of all
};

}  // namespace

std::vector<Unit> tensor_units(const ModelFile& model) {
  std::vector<Unit> units;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    units.push_back({{index++}, aligned(tensor.size_bytes)});
  }
  return units;
}

std::vector<Unit> layer_units(const ModelFile& model) {
  Unit before;
  Unit behind;
  std::map<std::uint64_t, Unit> layers;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    const LayerName name = read_layer_name(tensor.name);
    const Unit part{{index++}, aligned(tensor.size_bytes)};
    switch (name.section) {
      case Section::before_layers: append(before, part); break;
      case Section::layer: append(layers[name.layer], part); break;
      case Section::behind_layers: append(behind, part); break;
    }
  }
  if (layers.empty()) return {};
  append(layers.begin()->second, before);
  append(layers.rbegin()->second, behind);
  std::vector<Unit> units;
  for (auto& [number, unit] : layers) {
    static_cast<void>(number);
    std::sort(unit.tensors.begin(), unit.tensors.end());
    units.push_back(std::move(unit));
  }
  return units;
}

std::vector<std::size_t> cut_evenly(std::span<const Unit> units,
                                    std::span<const std::uint64_t> most_bytes) {
  return Cutter(units, most_bytes).cut();
}

std::vector<std::size_t> cut_by_shares(std::span<const Unit> units,
                                       std::span<const double> shares) {
  const std::vector<std::uint64_t> before = sums_of(units);
  const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
  const auto bytes = static_cast<double>(before.back());
  std::vector<std::size_t> ends;
  double reached = 0;
  for (const double share : shares) {
    reached += share;
    const auto wanted = static_cast<std::uint64_t>(bytes * std::min(1.0, reached / whole));
    const std::size_t end = closest(before, wanted);
    ends.push_back(ends.empty() ? end : std::max(end, ends.back()));
  }
  ends.back() = units.size();
  return ends;
}

}  // namespace hiptool::load
