// SPDX-License-Identifier: MIT
#include "machine/kernel_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "machine/xids.hpp"
#include "system/pci.hpp"

namespace hiptool::machine {
namespace {

std::optional<KernelEvent> xid_event(const std::string& message) {
  constexpr std::string_view start = "NVRM: Xid (";
  const auto at = message.find(start);
  if (at == std::string::npos) return {};
  const auto close = message.find("): ", at);
  if (close == std::string::npos) return {};
  int number = 0;
  const char* const first = message.data() + close + 3;
  if (std::from_chars(first, message.data() + message.size(), number).ec != std::errc{}) return {};
  std::string place = message.substr(at + start.size(), close - at - start.size());
  if (place.starts_with("PCI:")) place.erase(0, 4);
  const Xid* const known = find_xid(number);
  KernelEvent event;
  event.code = code_of_xid(number);
  event.severity = known != nullptr ? known->severity : Severity::warn;
  event.bus_id = system::normalize_bus_id(place + ".0");
  event.what = fmt::format("Xid {}", number);
  event.text = known != nullptr ? known->text : "not in this catalogue";
  event.fix = known != nullptr ? fix_of(*known, event.bus_id)
                               : "look the number up in NVIDIA's catalogue of Xid errors";
  event.message = message;
  event.xid = number;
  return event;
}

/// The bus id after the first "amdgpu ", as the kernel writes the name of a device.
std::string amdgpu_bus_id(const std::string& message) {
  constexpr std::string_view driver = "amdgpu ";
  constexpr std::size_t id_letters = 12;  // "0000:c1:00.0"
  const auto at = message.find(driver);
  if (at == std::string::npos) return {};
  return system::normalize_bus_id(message.substr(at + driver.size(), id_letters));
}

/// Whether the parts of the pattern between `*` are in the text, in their order.
bool has_pattern(std::string_view text, std::string_view pattern) {
  for (;;) {
    const std::size_t end = std::min(pattern.find('*'), pattern.size());
    const std::size_t at = text.find(pattern.substr(0, end));
    if (at == std::string_view::npos) return false;
    if (end == pattern.size()) return true;
    text.remove_prefix(at + end);
    pattern.remove_prefix(end + 1);
  }
}

std::optional<KernelEvent> amdgpu_event(const std::string& message) {
  if (message.find("amdgpu") == std::string::npos) return {};
  const auto& known = amdgpu_messages();
  const auto found = std::ranges::find_if(
      known, [&message](const AmdgpuMessage& one) { return has_pattern(message, one.pattern); });
  if (found == known.end()) return {};
  KernelEvent event;
  event.code = found->code;
  event.severity = found->severity;
  event.bus_id = amdgpu_bus_id(message);
  event.what = event.code.substr(3);
  event.text = found->text;
  event.fix = found->advice;
  event.message = message;
  return event;
}

}  // namespace

const std::vector<AmdgpuMessage>& amdgpu_messages() {
  static const std::vector<AmdgpuMessage> messages{
#define AMDGPU(code, severity, action, pattern, text, advice) \
  {code, Severity::severity, Action::action, pattern, text, advice},
#include "machine/amdgpu_messages.def"
#undef AMDGPU
  };
  return messages;
}

CodeInfo code_of(const AmdgpuMessage& message) {
  return {message.code, message.action, fmt::format("amdgpu: {}", message.text),
          fmt::format("The driver amdgpu wrote \"{}\" to the kernel's log.", message.pattern),
          message.advice};
}

std::optional<KernelEvent> find_event(const std::string& message) {
  if (auto event = xid_event(message)) return event;
  return amdgpu_event(message);
}

}  // namespace hiptool::machine
