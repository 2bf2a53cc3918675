// SPDX-License-Identifier: MIT
#include "measure/copy/plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/units.hpp"

namespace hiptool::measure {
namespace {

using Devices = std::vector<Device>;

bool is_beside_others(const CopyTemplate& what) {
  return what.beside == Beside::others || what.beside == Beside::others_both_ways;
}

bool takes_all(const CopyTemplate& what) {
  return what.kind == CopyKind::h2d_all || what.kind == CopyKind::d2h_all ||
         what.kind == CopyKind::all_to_all;
}

bool is_pairwise(CopyKind kind) {
  return kind == CopyKind::p2p_read || kind == CopyKind::p2p_write || kind == CopyKind::p2p_bidir;
}

Devices with_first(const Devices& group, std::size_t first) {
  Devices devices{group[first]};
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i != first) devices.push_back(group[i]);
  }
  return devices;
}

// The devices of each copy of a template on the devices of one platform.
std::vector<Devices> device_sets(const CopyTemplate& what, const Devices& group) {
  std::vector<Devices> sets;
  const bool needs_two = takes_all(what) || uses_peers(what.kind);
  if (takes_all(what) || (needs_two && group.size() < 2)) return {group};
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_pairwise(what.kind)) {
      const std::size_t start = what.kind == CopyKind::p2p_bidir ? i + 1 : 0;
      for (std::size_t j = start; j < group.size(); ++j) {
        if (j != i) sets.push_back({group[i], group[j]});
      }
    } else if (uses_peers(what.kind) || is_beside_others(what)) {
      sets.push_back(with_first(group, i));
    } else {
      sets.push_back({group[i]});
    }
  }
  return sets;
}

std::string reason_to_skip(const CopyTemplate& what, const CopySpec& spec,
                           const CopyRequest& request, const HostNode* node) {
  std::string conflict = conflict_of(spec.kind, spec.memory, spec.engine);
  if (!conflict.empty()) return conflict;
  if (spec.is_split() && spec.size_bytes % split_bytes != 0) {
    return "one kernel copies both ways, by whole warps: the size must be a multiple of " +
           format_size(split_bytes);
  }
  const Device& device = spec.devices.front();
  if (wants_several(what) && spec.devices.size() < 2) {
    return "needs two devices, " + device.id() + " is the only one chosen";
  }
  if (spec.memory == HostKind::managed && device.platform() != Platform::cpu &&
      !request.allows_managed) {
    return "pages of managed memory migrate on GPUs; add it with --memory managed";
  }
  if (node != nullptr && !node->is_usable) {
    return "no CPU of NUMA node " + std::to_string(node->number) + " may be used here";
  }
  return {};
}

// Adds a copy for each memory, node and size.
void add_specs(const CopyTemplate& what, const Devices& devices, const CopyRequest& request,
               std::vector<PlannedCopy>& specs) {
  const bool has_host = uses_host(what.kind);
  std::vector<std::optional<HostKind>> memories{std::nullopt};
  if (has_host) memories.assign(request.memories.begin(), request.memories.end());
  std::vector<const HostNode*> nodes{nullptr};
  if (has_host && !request.nodes.empty()) {
    nodes.clear();
    for (const HostNode& node : request.nodes) nodes.push_back(&node);
  }
  std::vector<std::uint64_t> sizes = request.sizes;
  if (what.is_latency) sizes = {what.is_chase ? chase_bytes : latency_bytes};
  for (const auto& memory : memories) {
    for (const HostNode* node : nodes) {
      for (const std::uint64_t size : sizes) {
        PlannedCopy planned;
        planned.spec = {what.kind,   memory,           what.engine,     size,
                        devices,     what.reads,       what.is_latency, {},
                        what.beside, what.sums_copies, what.is_chase};
        if (node != nullptr) planned.spec.node = node->number;
        planned.skip_reason = reason_to_skip(what, planned.spec, request, node);
        specs.push_back(std::move(planned));
      }
    }
  }
}

using enum CopyKind;

struct Testcase {
  std::string_view name;  // without _ce or _sm if both exist
  CopyTemplate what;
  CopyTemplate by_kernel = what;
};

constexpr CopyTemplate plain(CopyKind kind) { return {kind, CopyEngine::copy, false, false}; }
constexpr CopyTemplate reading(CopyKind kind) { return {kind, CopyEngine::copy, true, false}; }
constexpr CopyTemplate chase(CopyKind kind) {
  CopyTemplate what{kind, CopyEngine::kernel, false, true};
  what.is_chase = true;
  return what;
}
constexpr CopyTemplate beside(CopyKind kind, Beside others) {
  CopyTemplate what = plain(kind);
  what.beside = others;
  return what;
}
constexpr CopyTemplate both_ways(bool reads) {
  CopyTemplate what{p2p_bidir, CopyEngine::copy, reads, false};
  what.sums_copies = true;
  return what;
}

constexpr std::array by_either_engine{
    Testcase{"host_to_device_memcpy", plain(h2d)},
    Testcase{"device_to_host_memcpy", plain(d2h)},
    Testcase{"host_to_device_bidirectional_memcpy", beside(h2d, Beside::other_way)},
    Testcase{"device_to_host_bidirectional_memcpy", beside(d2h, Beside::other_way)},
    Testcase{"device_to_device_memcpy_read", plain(p2p_read)},
    Testcase{"device_to_device_memcpy_write", plain(p2p_write)},
    Testcase{"device_to_device_bidirectional_memcpy_read", both_ways(true)},
    Testcase{"device_to_device_bidirectional_memcpy_write", both_ways(false)},
    Testcase{"all_to_host_memcpy", beside(d2h, Beside::others)},
    Testcase{"all_to_host_bidirectional_memcpy", beside(d2h, Beside::others_both_ways)},
    Testcase{"host_to_all_memcpy", beside(h2d, Beside::others)},
    Testcase{"host_to_all_bidirectional_memcpy", beside(h2d, Beside::others_both_ways)},
    Testcase{"all_to_one_write", plain(all_to_one)},
    // Its reading cases exchange source and destination: all read from one, and one from all. Those
    // by a kernel launch it on the source, which writes.
    Testcase{"all_to_one_read", reading(one_to_all), plain(one_to_all)},
    Testcase{"one_to_all_write", plain(one_to_all)},
    Testcase{"one_to_all_read", reading(all_to_one), plain(all_to_one)},
};

constexpr std::array others{
    Testcase{"host_device_latency_sm", chase(h2d)},
    Testcase{"device_to_device_latency_sm", chase(p2p_read)},
    Testcase{"device_local_copy", plain(d2d)},
};

}  // namespace

bool wants_several(const CopyTemplate& what) {
  return takes_all(what) || uses_peers(what.kind) || is_beside_others(what);
}

std::string conflict_of(CopyKind kind, std::optional<HostKind> memory, CopyEngine engine) {
  if (uses_host(kind) && memory == HostKind::pageable && engine == CopyEngine::kernel) {
    return "a kernel cannot reach pageable memory";
  }
  return {};
}

std::vector<PlannedCopy> plan_copies(const CopyRequest& request) {
  std::map<Platform, Devices> groups;
  for (const Device& device : request.devices) groups[device.platform()].push_back(device);
  std::vector<PlannedCopy> specs;
  for (const CopyTemplate& what : request.templates) {
    for (const auto& [platform, group] : groups) {
      for (const Devices& devices : device_sets(what, group)) {
        add_specs(what, devices, request, specs);
      }
    }
  }
  // A copy that several templates request is measured once.
  std::set<std::string> ids;
  std::erase_if(specs,
                [&](const PlannedCopy& spec) { return !ids.insert(id_of(spec.spec)).second; });
  return specs;
}

std::vector<std::string> testcase_names() {
  std::vector<std::string> names;
  for (const char* engine : {"_ce", "_sm"}) {
    for (const Testcase& test : by_either_engine) names.push_back(std::string(test.name) + engine);
  }
  for (const Testcase& test : others) names.emplace_back(test.name);
  return names;
}

std::vector<CopyTemplate> testcase_templates(std::string_view name) {
  for (const Testcase& test : others) {
    if (test.name == name) return {test.what};
  }
  for (const Testcase& test : by_either_engine) {
    if (name.substr(0, test.name.size()) != test.name) continue;
    const std::string_view engine = name.substr(test.name.size());
    if (engine != "_ce" && engine != "_sm") continue;
    CopyTemplate what = engine == "_sm" ? test.by_kernel : test.what;
    what.engine = engine == "_sm" ? CopyEngine::kernel : CopyEngine::copy;
    return {what};
  }
  return {};
}

}  // namespace hiptool::measure
