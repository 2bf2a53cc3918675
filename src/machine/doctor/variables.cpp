// SPDX-License-Identifier: MIT
/// Variables of the vendors' runtimes that change measurements.
#include <array>

#include "machine/doctor/list.hpp"
#include "system/kfd.hpp"

namespace hiptool::machine {
namespace {

struct Trap {
  const char* name;
  const char* harmless;  ///< the value without effect; empty: none
};

// HIP and ROCr: environment variables of the ROCm documentation; CUDA: Programming Guide, J.
constexpr std::array traps{
    Trap{"HSA_ENABLE_SDMA", "1"},
    Trap{"AMD_SERIALIZE_KERNEL", "0"},
    Trap{"AMD_SERIALIZE_COPY", "0"},
    Trap{"HIP_LAUNCH_BLOCKING", "0"},
    Trap{"CUDA_LAUNCH_BLOCKING", "0"},
    Trap{"AMD_LOG_LEVEL", "0"},
    Trap{"HSAKMT_DEBUG_LEVEL", "0"},
    Trap{"HSA_TOOLS_LIB", ""},
    Trap{"ROCP_TOOL_LIBRARIES", ""},
    Trap{"CUDA_INJECTION64_PATH", ""},
    Trap{"CUDA_DEVICE_WAITS_ON_EXCEPTION", "0"},
    Trap{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0"},
};

void examine_traps(const Evidence& evidence, CheckList& list) {
  std::string set;
  std::string names;
  for (const Trap& trap : traps) {
    const std::string value = variable(evidence, trap.name);
    if (value.empty() || value == trap.harmless) continue;
    set += (set.empty() ? "" : ", ") + std::string(trap.name) + "=" + value;
    names += " " + std::string(trap.name);
  }
  if (set.empty()) {
    list.add({"env-trap", Severity::pass, "", "none of the variables that slow work down is set",
              "environment", "not set", ""});
    return;
  }
  list.add({"env-trap", Severity::warn, "", set, "environment",
            "not set: they slow copies or kernels down", "`unset" + names + "`"});
}

void examine_queues(const Evidence& evidence, CheckList& list) {
  struct Limit {
    const char* name;
    int usual;  ///< the default of the runtime
  };
  bool is_low = false;
  for (const Limit limit :
       {Limit{"GPU_MAX_HW_QUEUES", 4}, Limit{"CUDA_DEVICE_MAX_CONNECTIONS", 8}}) {
    const std::string text = variable(evidence, limit.name);
    const auto count = base::parse_number<int>(text);
    if (text.empty() || (count && *count >= limit.usual)) continue;
    is_low = true;
    list.add({"queues", Severity::warn, "", std::string(limit.name) + "=" + text, "environment",
              "not set, or at least " + std::to_string(limit.usual) +
                  ": with fewer queues parallel copies wait for each other",
              "`unset " + std::string(limit.name) + "`"});
  }
  if (is_low) return;
  list.add({"queues", Severity::pass, "", "the number of hardware queues is not lowered",
            "environment", "GPU_MAX_HW_QUEUES and CUDA_DEVICE_MAX_CONNECTIONS not set", ""});
}

void examine_override(const Evidence& evidence, CheckList& list) {
  const std::string value = variable(evidence, "HSA_OVERRIDE_GFX_VERSION");
  if (value.empty()) {
    list.add({"gfx-override", Severity::pass, "", "HSA_OVERRIDE_GFX_VERSION is not set",
              "environment", "not set", ""});
    return;
  }
  std::string real;
  for (const system::KfdNode& node : system::read_kfd_nodes(evidence.root)) {
    if (!node.arch.empty()) real += (real.empty() ? "" : ", ") + node.arch;
  }
  const bool is_amd = !gpus_of(evidence, Platform::amd).empty();
  list.add(
      {"gfx-override", is_amd ? Severity::warn : Severity::info, "",
       "HSA_OVERRIDE_GFX_VERSION=" + value + (real.empty() ? "" : " while the hardware is " + real),
       "environment, gfx_target_version of the KFD topology",
       "not set: the architecture that the runtime names is not the hardware's",
       "`unset HSA_OVERRIDE_GFX_VERSION`"});
}

}  // namespace

void examine_variables(const Evidence& evidence, CheckList& list) {
  examine_traps(evidence, list);
  examine_queues(evidence, list);
  examine_override(evidence, list);
}

}  // namespace hiptool::machine
