// SPDX-License-Identifier: MIT
/// Faults of GPUs that their drivers write to the kernel's log, by the catalogues of the vendors.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/codes.hpp"
#include "machine/severity.hpp"

namespace hiptool::machine {

/// A message of amdgpu that reports a fault; see amdgpu_messages.def.
struct AmdgpuMessage {
  const char* code = "";
  Severity severity = Severity::warn;
  Action action = Action::none;
  const char* pattern = "";  ///< that the message contains; `*` is any text
  const char* text = "";
  const char* advice = "";
};

/// The first pattern that a message contains counts.
const std::vector<AmdgpuMessage>& amdgpu_messages();

/// The code of a message of amdgpu.
CodeInfo code_of(const AmdgpuMessage& message);

/// A message of the kernel's log about a fault of a GPU.
struct KernelEvent {
  std::string code;
  Severity severity = Severity::warn;
  std::string bus_id;           ///< "0000:65:00.0"; empty where the message does not name a GPU
  std::string what;             ///< "Xid 79", or the pattern's code without "HT-"
  std::string text;             ///< "the GPU fell off the bus"
  std::string fix;              ///< what to do
  std::string message;          ///< as the kernel wrote it
  std::optional<int> xid = {};  ///< its number
};

/// The event of a message; absent for any other message. Xids are written as "NVRM: Xid
/// (PCI:0000:65:00): 79, pid='<unknown>', ...", messages of amdgpu as "amdgpu 0000:c1:00.0: ...".
std::optional<KernelEvent> find_event(const std::string& message);

}  // namespace hiptool::machine
