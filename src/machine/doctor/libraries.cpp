// SPDX-License-Identifier: MIT
/// Which of the vendors' BLAS and DNN libraries can be used, and whether they have kernels for the
/// GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/contains.hpp"
#include "machine/doctor/list.hpp"

namespace hiptool::machine {
namespace {

constexpr double slow_load_s = 5;
const char* const no_need = "hiptool's own kernels need none of these libraries";

// "gfx90a" of "gfx90a:sramecc+:xnack-".
std::string plain_target(const std::string& arch) { return arch.substr(0, arch.find(':')); }

void judge_library(const Evidence& evidence, const LibraryAnswer& library, CheckList& list) {
  const std::string name =
      library.version.empty() ? library.name : library.name + " " + library.version;
  if (library.was_given_up || library.load_s > slow_load_s) {
    list.add({"libraries", Severity::warn, "",
              name + (library.was_given_up ? " did not load within " : " took ") +
                  fmt::format("{:.1f} s", library.load_s) +
                  (library.was_given_up ? "" : " to load"),
              library.path.empty() ? "the process that loaded it" : library.path,
              "to be loaded within seconds",
              "programs that use it start so late: move it to a faster disk" +
                  std::string(library.was_given_up ? ", or wait longer with --timeout" : "")});
    if (library.was_given_up) return;
  }
  if (!library.reason.empty()) {
    const bool is_refused = !library.path.empty();
    // "no rocBLAS was found" is a whole sentence, "/lib/librocblas.so.6 was not loaded" is not.
    const bool is_named = library.reason.find(" " + library.name) != std::string::npos;
    list.add({"libraries", is_refused ? Severity::warn : Severity::info, "",
              is_named ? library.reason : library.name + " cannot be used: " + library.reason,
              is_refused ? library.path : "the dynamic linker, folders of the runtime", "",
              is_refused ? "install the " + library.name + " of the runtime's release" : no_need});
    return;
  }
  std::string without;
  for (const DoctorGpu* gpu : gpus_of(evidence, library.platform)) {
    const std::string target = plain_target(gpu->info.arch);
    if (target.empty() || library.targets.empty()) continue;
    if (base::contains(library.targets, target)) {
      continue;
    }
    without += (without.empty() ? "" : ", ") + target + " (" + gpu->name() + ")";
  }
  if (without.empty()) {
    list.add({"libraries", Severity::info, "", name + ": " + library.path, library.path, "", ""});
    return;
  }
  std::string targets;
  for (const std::string& target : library.targets) {
    targets += (targets.empty() ? "" : " ") + target;
  }
  list.add({"libraries", Severity::warn, "",
            name + " has no kernels for " + without + " in it: " + library.path,
            "files TensileLibrary_* next to the library: " + targets,
            "kernels for each GPU; without them the library ends the program",
            "install a " + library.name + " that is built for the GPU, or compute without it"});
}

}  // namespace

void examine_libraries(const Evidence& evidence, CheckList& list) {
  for (const LibraryAnswer& library : evidence.libraries) judge_library(evidence, library, list);
  for (const PlatformAnswer& answer : evidence.platforms) {
    const Platform platform = answer.status.platform;
    const bool is_known = std::ranges::any_of(
        evidence.libraries,
        [&](const LibraryAnswer& library) { return library.platform == platform; });
    if (is_known) continue;
    list.add_unknown("libraries", std::string(to_string(platform)),
                     "BLAS and DNN libraries were not loaded: no runtime answered",
                     "the dynamic linker", no_need);
  }
  if (!evidence.platforms.empty() || !evidence.libraries.empty()) return;
  list.add_unknown("libraries", "", "BLAS and DNN libraries were not loaded", "the dynamic linker",
                   "run `hiptool devices --doctor`");
}

}  // namespace hiptool::machine
