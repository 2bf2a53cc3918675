// SPDX-License-Identifier: MIT
/// Connections between GPUs: XGMI links, peer access, bridges, the IOMMU.
#include <algorithm>
#include <map>
#include <system_error>

#include "base/file.hpp"
#include "machine/doctor/list.hpp"
#include "machine/vendor_tools.hpp"
#include "system/kfd.hpp"
#include "system/pci_config.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;

void examine_xgmi(const Evidence& evidence, CheckList& list) {
  if (is_without(evidence, Platform::amd, list, {"xgmi"})) return;
  const std::string source = "io_links of /sys/class/kfd/kfd/topology/nodes";
  std::map<std::string, std::size_t> links;
  std::size_t most = 0;
  for (const system::KfdNode& node : system::read_kfd_nodes(evidence.root)) {
    if (!node.is_gpu) continue;
    const auto count = std::ranges::count_if(
        node.links, [](const system::KfdLink& link) { return link.type == system::KfdLink::xgmi; });
    links[node.bus_id] = static_cast<std::size_t>(count);
    most = std::max(most, links[node.bus_id]);
  }
  if (links.empty()) {
    list.add_unknown("xgmi", "", "KFD lists no GPU", source, "check with `amd-smi topology`");
    return;
  }
  if (most == 0) {
    list.add({"xgmi", Severity::info, "", "the GPUs have no XGMI links: PCIe connects them", source,
              "the same number on each GPU", ""});
    return;
  }
  std::string fewer;
  std::vector<std::string> fixes;
  for (const auto& [bus_id, count] : links) {
    if (count >= most) continue;
    fewer += (fewer.empty() ? "" : ", ") + bus_id + " " + std::to_string(count);
    const std::string which = selection_for_tool(Platform::amd, bus_id);
    fixes.push_back("check with `amd-smi xgmi" + which + "`; reset with `sudo amd-smi reset" +
                    which + " --gpureset`, reseat the module, or return it");
  }
  list.add({"xgmi", fewer.empty() ? Severity::pass : Severity::warn, "",
            count_of(most, "XGMI link") +
                (fewer.empty() ? " on each GPU" : " at most, but fewer on " + fewer),
            source, "the same number on each GPU",
            fewer.empty() ? "" : joined_fixes(fixes).front()});
}

void examine_p2p(const Evidence& evidence, CheckList& list) {
  if (evidence.peers.empty()) {
    list.add_moot("p2p", "", "no two GPUs of one platform are usable", "the runtimes",
                  "nothing with one GPU; else `hiptool devices --topology`");
    return;
  }
  std::string without;
  std::string wrong;
  std::string untried;
  for (const PeerAnswer& peer : evidence.peers) {
    const std::string pair = peer.from + " to " + peer.to;
    if (!peer.can_access) without += (without.empty() ? "" : ", ") + pair;
    if (peer.is_copy_right && !*peer.is_copy_right) wrong += (wrong.empty() ? "" : ", ") + pair;
    if (!peer.is_copy_right) untried += (untried.empty() ? "" : ", ") + pair;
  }
  const std::string source = "the runtime, and a copy that was read back";
  const std::string fix =
      "turn off ACS in the BIOS (`sudo lspci -vvv | grep ACSCtl`), boot with "
      "`iommu=pt`, and update the driver";
  if (!wrong.empty()) {
    list.add({"p2p", Severity::fail, "", "wrong bytes arrived: " + wrong, source,
              "the bytes that were sent", fix});
  }
  if (!without.empty()) {
    list.add({"p2p", Severity::info, "", "no peer access, copies go through the host: " + without,
              source, "peer access", fix});
  }
  if (!untried.empty()) {
    list.add_unknown("p2p", untried, "the copy could not be tried", source,
                     "check with `hiptool devices --doctor --verbose`");
  }
  if (wrong.empty() && without.empty() && untried.empty()) {
    list.add(
        {"p2p", Severity::pass, "",
         count_of(evidence.peers.size(), "pair") + " with peer access, all copied bytes correct",
         source, "peer access", ""});
  }
}

void examine_acs(const Evidence& evidence, CheckList& list) {
  const std::string fix =
      "on bare metal turn ACS off in the BIOS, or `sudo setpci -s BRIDGE ECAP_ACS+6.w=0000`";
  if (evidence.gpus.size() < 2) {
    list.add_moot("acs", "", "fewer than two GPUs found", "config of every bridge",
                  "nothing with one GPU; check with `sudo lspci -vvv | grep ACSCtl`");
    return;
  }
  std::string redirecting;
  bool is_any_unknown = false;
  std::size_t bridges = 0;
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (!gpu.pci) continue;
    const system::PciPath path = system::read_pci_path(evidence.root, gpu.pci->bus_id);
    for (std::size_t i = 1; i < path.hops.size(); ++i) {
      ++bridges;
      const std::string& bridge = path.hops[i].bus_id;
      const auto routing = system::read_peer_routing(evidence.root, bridge);
      is_any_unknown = is_any_unknown || routing == system::PeerRouting::unknown;
      if (routing != system::PeerRouting::redirected) continue;
      if (redirecting.find(bridge) != std::string::npos) continue;
      redirecting += (redirecting.empty() ? "" : ", ") + bridge;
    }
  }
  const std::string source = "config of every bridge";
  if (!redirecting.empty()) {
    list.add({"acs", Severity::warn, "",
              "bridges send peer copies through the processor: " + redirecting, source,
              "no redirection", fix});
  } else if (is_any_unknown || bridges == 0) {
    list.add_unknown("acs", "",
                     bridges == 0 ? "no bridge found above the GPUs"
                                  : "the bridges' registers can be read by root only",
                     source, "check with `sudo lspci -vvv | grep ACSCtl`");
  } else {
    list.add({"acs", Severity::pass, "",
              count_of(bridges, "bridge") + " forward peer copies directly", source,
              "no redirection", ""});
  }
}

void examine_iommu(const Evidence& evidence, CheckList& list) {
  std::string translating;
  std::size_t seen = 0;
  std::size_t unread = 0;
  for (const DoctorGpu& gpu : evidence.gpus) {
    if (!gpu.pci) continue;
    ++seen;
    std::error_code error;
    const fs::path group =
        fs::read_symlink(evidence.root / "sys/bus/pci/devices" / gpu.pci->bus_id / "iommu_group",
                         error)
            .filename();
    if (error) continue;
    const std::string type =
        base::read_small_file(evidence.root / "sys/kernel/iommu_groups" / group / "type");
    if (type.empty()) ++unread;
    if (type.rfind("DMA", 0) != 0) continue;
    translating += (translating.empty() ? "" : ", ") + gpu.name() + " " + type;
  }
  const std::string source = "/sys/kernel/iommu_groups/*/type";
  if (seen == 0 || unread > 0) {
    list.add_unknown("iommu", "",
                     seen == 0 ? "no GPU found on the PCI bus"
                               : "the kernel does not report the type of the IOMMU groups",
                     source, "check with `cat /proc/cmdline` and `sudo dmesg | grep -i iommu`");
    return;
  }
  if (translating.empty()) {
    list.add({"iommu", Severity::pass, "", "addresses of the GPUs are not translated", source,
              "no translation (iommu=pt, or off)", ""});
    return;
  }
  // Translation costs little with one GPU, but peer copies may be slow or wrong.
  list.add({"iommu", seen > 1 ? Severity::warn : Severity::info, "",
            "the IOMMU translates: " + translating, source, "no translation (iommu=pt, or off)",
            "boot with `iommu=pt`: add it to GRUB_CMDLINE_LINUX in /etc/default/grub, then "
            "`sudo update-grub`"});
}

}  // namespace

void examine_peers(const Evidence& evidence, CheckList& list) {
  examine_xgmi(evidence, list);
  examine_p2p(evidence, list);
  examine_acs(evidence, list);
  examine_iommu(evidence, list);
}

}  // namespace hiptool::machine
