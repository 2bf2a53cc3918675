// SPDX-License-Identifier: MIT
#include "machine/xids.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/vendor_tools.hpp"

namespace hiptool::machine {

const std::vector<Xid>& all_xids() {
  static const std::vector<Xid> xids{
#define XID(number, severity, action, text) {number, Severity::severity, Action::action, text},
#include "machine/xids.def"
#undef XID
  };
  return xids;
}

const Xid* find_xid(int number) {
  const auto& xids = all_xids();
  const auto found =
      std::ranges::find_if(xids, [number](const Xid& one) { return one.number == number; });
  return found == xids.end() ? nullptr : &*found;
}

std::string fix_of(const Xid& xid, const std::string& bus_id) {
  switch (xid.action) {
    case Action::none: return "see the messages of the program that ran on the GPU";
    case Action::retry: return "restart the program that ran on the GPU";
    case Action::config:
      return "see NVIDIA's catalogue of Xid errors and `sudo dmesg | grep -i xid`";
    case Action::reset_gpu:
      return fmt::format(
          "stop the processes on the GPU and reset it: `sudo nvidia-smi{} --gpu-reset`; return the "
          "card if it comes back",
          selection_for_tool(Platform::nvidia, bus_id));
    case Action::reboot:
      return "check power, seating and cooling of the card, then restart the machine";
    case Action::replace: return "return the card";
  }
  return {};
}

CodeInfo code_of(const Xid& xid) {
  return {fmt::format("HT-XID-{}", xid.number), xid.action,
          fmt::format("Xid {}: {}", xid.number, xid.text),
          fmt::format("NVIDIA's driver wrote an Xid {} to the kernel's log.", xid.number),
          fix_of(xid)};
}

}  // namespace hiptool::machine
