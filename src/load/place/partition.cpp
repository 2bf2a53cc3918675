// SPDX-License-Identifier: MIT
#include "load/place/partition.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "load/place/layer_name.hpp"
#include "load/place/memory.hpp"
#include "load/place/search.hpp"

namespace hiptool::load {
namespace {

using Sections = std::map<LayerName, TensorGroup>;

std::vector<std::uint32_t> file_order(std::span<const TensorInfo> tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Adds the tensors to their sections; layers from this number on count as before the layers.
GroupedTensors group_by_section(std::span<const TensorInfo> tensors, Sections& sections,
                                std::uint64_t end_of_layers) {
  std::vector<LayerName> names;
  for (const TensorInfo& tensor : tensors) {
    LayerName name = read_layer_name(tensor.name);
    if (name.section == Section::layer && name.layer >= end_of_layers) name = {};
    sections[name] += group_of(tensor);
    names.push_back(name);
  }
  GroupedTensors grouped{{}, file_order(tensors)};
  std::ranges::stable_sort(grouped.order, [&](std::uint32_t left, std::uint32_t right) {
    return names[left] < names[right];
  });
  for (const auto& entry : sections) grouped.groups.push_back(entry.second);
  return grouped;
}

using Ends = std::vector<std::size_t>;

/// The sizes of all runs; a run is [begin, end) of the groups' numbers.
class RunSizes {
 public:
  explicit RunSizes(std::span<const TensorGroup> groups) {
    for (const TensorGroup& group : groups) before_.push_back(before_.back() + group.size_bytes());
  }

  std::size_t groups() const { return before_.size() - 1; }
  std::uint64_t all_bytes() const { return before_.back(); }
  std::uint64_t bytes_before(std::size_t group) const { return before_[group]; }

  // The farthest end of a run of no more bytes.
  std::size_t farthest_end(std::size_t begin, std::uint64_t most_bytes) const {
    const std::uint64_t before = before_[begin];
    const std::uint64_t limit = most_bytes > UINT64_MAX - before ? UINT64_MAX : before + most_bytes;
    return index_of(std::ranges::upper_bound(before_, limit)) - 1;
  }

  // The farthest begin of a run that ends there.
  std::size_t farthest_begin(std::size_t end, std::uint64_t most_bytes) const {
    const std::uint64_t limit = before_[end] - std::min(before_[end], most_bytes);
    return index_of(std::ranges::lower_bound(before_, limit));
  }

  // The end with the number of bytes before it that is closest to this one; of two the later one.
  std::size_t closest_end(std::uint64_t wanted_bytes) const {
    const auto past = std::ranges::upper_bound(before_, wanted_bytes);
    if (past == before_.end()) return groups();
    const bool is_nearer = *past - wanted_bytes <= wanted_bytes - *std::prev(past);
    return index_of(is_nearer ? past : std::prev(past));
  }

  Ends fill(std::span<const std::uint64_t> most_bytes) const {
    Ends ends;
    for (const std::uint64_t most : most_bytes) {
      ends.push_back(farthest_end(ends.empty() ? 0 : ends.back(), most));
    }
    return ends;
  }

 private:
  std::size_t index_of(std::vector<std::uint64_t>::const_iterator sum) const {
    return static_cast<std::size_t>(sum - before_.begin());
  }

  std::vector<std::uint64_t> before_{0};  // bytes of all groups before each, and of all
};

// Each device gets its part of the rest, as far as it and the devices after it hold theirs, and one
// group at least, which may be small.
Ends balance(const RunSizes& sizes, std::span<const std::uint64_t> most_bytes) {
  const std::size_t devices = most_bytes.size();
  Ends least(devices + 1, sizes.groups());
  for (std::size_t device = devices; device-- > 0;) {
    least[device] = sizes.farthest_begin(least[device + 1], most_bytes[device]);
  }
  Ends ends;
  std::size_t begin = 0;
  for (std::size_t device = 0; device < devices; ++device) {
    const std::uint64_t before = sizes.bytes_before(begin);
    const std::uint64_t wanted = before + (sizes.all_bytes() - before) / (devices - device);
    const std::size_t most_end = sizes.farthest_end(begin, most_bytes[device]);
    const std::size_t least_end = std::max(least[device + 1], std::min(begin + 1, most_end));
    // One group at least for each device after this one, if there are as many.
    const std::size_t kept = std::min(sizes.groups(), devices - device - 1);
    const std::size_t last_end = std::clamp(sizes.groups() - kept, least_end, most_end);
    begin = std::clamp(sizes.closest_end(wanted), least_end, last_end);
    ends.push_back(begin);
  }
  return ends;
}

std::vector<TensorGroup> sum_runs(std::span<const TensorGroup> groups, const Ends& ends) {
  std::vector<TensorGroup> sums;
  std::size_t group = 0;
  for (const std::size_t end : ends) {
    TensorGroup& sum = sums.emplace_back();
    for (; group < end; ++group) sum += groups[group];
  }
  return sums;
}

}  // namespace

TensorGroup& TensorGroup::operator+=(const TensorGroup& other) {
  tensors += other.tensors;
  tensor_bytes += other.tensor_bytes;
  weights_bytes += other.weights_bytes;
  kv_cache_bytes += other.kv_cache_bytes;
  state_bytes += other.state_bytes;
  return *this;
}

TensorGroup group_of(const TensorInfo& tensor) {
  // Cannot overflow: each size was checked against its file.
  const std::uint64_t aligned_bytes = (tensor.size_bytes + tensor_alignment_bytes - 1) /
                                      tensor_alignment_bytes * tensor_alignment_bytes;
  return {1, tensor.size_bytes, aligned_bytes, 0, 0};
}

GroupedTensors group_by_tensor(std::span<const TensorInfo> tensors) {
  GroupedTensors grouped{{}, file_order(tensors)};
  for (const TensorInfo& tensor : tensors) grouped.groups.push_back(group_of(tensor));
  return grouped;
}

GroupedTensors group_by_layer(std::span<const TensorInfo> tensors) {
  Sections sections;
  GroupedTensors grouped = group_by_section(tensors, sections, UINT64_MAX);
  auto& groups = grouped.groups;
  const bool has_before = sections.contains({Section::before_layers});
  const bool has_after = sections.contains({Section::after_layers});
  if (groups.size() == std::size_t{has_before} + std::size_t{has_after}) return {};
  if (has_before) {
    groups[1] += groups[0];
    groups.erase(groups.begin());
  }
  if (has_after) {
    *(groups.end() - 2) += groups.back();
    groups.pop_back();
  }
  return grouped;
}

GroupedTensors group_with_cache(std::span<const TensorInfo> tensors,
                                std::span<const LayerBytes> layer_bytes) {
  Sections sections{{{Section::before_layers}, {}}, {{Section::after_layers}, {}}};
  for (std::size_t i = 0; i < layer_bytes.size(); ++i) {
    TensorGroup& group = sections[{Section::layer, i}];
    group.kv_cache_bytes = layer_bytes[i].kv_cache;
    group.state_bytes = layer_bytes[i].state;
  }
  return group_by_section(tensors, sections, layer_bytes.size());
}

std::vector<TensorGroup> cut_evenly(std::span<const TensorGroup> groups,
                                    std::span<const std::uint64_t> most_bytes) {
  const RunSizes sizes(groups);
  Ends ends = sizes.fill(most_bytes);
  if (ends.back() < groups.size()) {
    ends.back() = groups.size();
    return sum_runs(groups, ends);
  }
  const auto limited_to = [&](std::uint64_t limit) {
    std::vector<std::uint64_t> most(most_bytes.begin(), most_bytes.end());
    for (std::uint64_t& bytes : most) bytes = std::min(bytes, limit);
    return most;
  };
  const std::uint64_t too_small = largest(sizes.all_bytes(), [&](std::uint64_t limit) {
    return sizes.fill(limited_to(limit)).back() < groups.size();
  });
  return sum_runs(groups, balance(sizes, limited_to(too_small + 1)));
}

std::vector<TensorGroup> cut_by_proportions(std::span<const TensorGroup> groups,
                                            std::span<const double> proportions) {
  const RunSizes sizes(groups);
  const double whole = std::accumulate(proportions.begin(), proportions.end(), 0.0);
  const auto bytes = static_cast<double>(sizes.all_bytes());
  Ends ends;
  double reached = 0;
  for (const double part : proportions) {
    reached += part;
    const auto wanted = static_cast<std::uint64_t>(bytes * std::min(1.0, reached / whole));
    ends.push_back(sizes.closest_end(wanted));
  }
  ends.back() = groups.size();
  return sum_runs(groups, ends);
}

std::vector<TensorGroup> cut_to_equal_shares(std::span<const TensorGroup> groups,
                                             std::span<const DeviceMemory> memory) {
  constexpr int halvings = 30;
  const RunSizes sizes(groups);
  const auto fill_to = [&](double share) { return sizes.fill(most_bytes(memory, share)); };
  double low = 0;
  double high = 1;
  for (int step = 0; step < halvings; ++step) {
    const double middle = (low + high) / 2;
    const bool holds_all = sizes.bytes_before(fill_to(middle).back()) == sizes.all_bytes();
    (holds_all ? high : low) = middle;
  }
  return sum_runs(groups, fill_to(high));
}

std::vector<TensorGroup> fill(std::span<const TensorGroup> groups,
                              std::span<const DeviceMemory> memory) {
  Ends ends = RunSizes(groups).fill(most_bytes(memory));
  ends.push_back(groups.size());
  return sum_runs(groups, ends);
}

}  // namespace hiptool::load
