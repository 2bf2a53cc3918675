// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "base/text.hpp"
#include "machine/doctor/doctor.hpp"

namespace hiptool::machine {

using base::count_of;

/// Collects checks. Unknown checks of several devices with the same reason become one check without
/// a device, which lists them.
class CheckList {
 public:
  /// A check that was made, with any severity but `unknown`.
  void add(Check check);

  /// A check that could not be made, on `subject` ("amd:0"; empty: on the whole machine).
  void add_unknown(const std::string& id, const std::string& subject, const std::string& why,
                   const std::string& source, const std::string& fix);

  /// A check of something that the machine does not have: no hole in what was examined.
  void add_moot(const std::string& id, const std::string& subject, const std::string& why,
                const std::string& source, const std::string& fix);

  /// All of them in the order of check_ids(), worst first within an id.
  std::vector<Check> take();

 private:
  struct Unknown {
    Check check;  ///< `read` is the reason
    std::vector<std::string> subjects;
  };
  std::vector<Check> checks_;
  std::vector<Unknown> unknown_;
};

/// Groups of checks, each in a file of its own.
void examine_amd_nodes(const Evidence& evidence, CheckList& list);
void examine_binding(const Evidence& evidence, CheckList& list);
void examine_health(const Evidence& evidence, CheckList& list);
void examine_hidden(const Evidence& evidence, CheckList& list);
void examine_host(const Evidence& evidence, CheckList& list);
void examine_libraries(const Evidence& evidence, CheckList& list);
void examine_links(const Evidence& evidence, CheckList& list);
void examine_nvidia(const Evidence& evidence, CheckList& list);
void examine_peers(const Evidence& evidence, CheckList& list);
void examine_runtimes(const Evidence& evidence, CheckList& list);
void examine_variables(const Evidence& evidence, CheckList& list);

/// How a command of the vendor's tool names the GPU: " -i 0000:65:00.0".
std::string selection_for_tool(const DoctorGpu& gpu);

/// GPUs of one platform.
std::vector<const DoctorGpu*> gpus_of(const Evidence& evidence, Platform platform);

/// How that platform's driver answered; null if it was not queried.
const PlatformAnswer* answer_of(const Evidence& evidence, Platform platform);

/// Whether the platform's driver was queried and answered.
bool has_answered(const PlatformAnswer* answer);

/// Whether the platform's driver answered and can be used.
bool is_usable(const Evidence& evidence, Platform platform);

/// The value of a variable; empty if it is not set.
std::string variable(const Evidence& evidence, const char* name);

/// Adds `unknown` for all of the ids if the machine has no GPU of the platform, or no GPU at all
/// for an absent platform; true if so.
bool is_without(const Evidence& evidence, std::optional<Platform> platform, CheckList& list,
                const std::vector<std::string>& ids);

}  // namespace hiptool::machine
