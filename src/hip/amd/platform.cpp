// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "hip/amd/bound_runtime.hpp"
#include "hip/amd/library_search.hpp"
#include "hip/amd/no_device.hpp"
#include "hip/amd/runtime.hpp"
#include "hip/binding.hpp"
#include "hip/load_error.hpp"
#include "system/drivers.hpp"
#include "system/pci.hpp"

namespace hiptool::hip {
namespace amd {
namespace {

/// The runtime that this process uses. A second copy of it never goes well, so one in use is never
/// replaced; one that could not be used may be. Tables are never freed: devices outlive everything.
struct BoundRuntime {
  std::mutex mutex;
  std::string path;   // empty until a runtime was usable
  std::string named;  // by the status of the last binding, usable or not
  const Api* api = nullptr;
  std::set<std::string> opened;  // by this search, and so not the program's choice
  std::vector<std::unique_ptr<Api>> tables;
};

BoundRuntime& bound() {
  static BoundRuntime& runtime = *new BoundRuntime;
  return runtime;
}

void refuse(PlatformStatus& status, std::string reason, std::string hint) {
  status.reason = std::move(reason);
  status.hint = std::move(hint);
}

/// Libraries that were tried and why they failed. Names that were not found share one line.
class Attempts {
 public:
  void add_failure(const std::string& name, const std::string& sentence) {
    const LoadError kind = classify_load_error(name, sentence);
    if (kind == LoadError::not_found) {
      not_found_ += (not_found_.empty() ? "" : ", ") + name;
      return;
    }
    refused_.push_back(describe_attempt(name, sentence));
    if (!reason_.empty()) return;
    if (kind == LoadError::dependency_missing) {
      const std::string dependency = missing_dependency(sentence);
      reason_ =
          "the HIP runtime " + name + " is installed, its dependency " + dependency + " is missing";
      hint_ = "install " + dependency + " (part of ROCm)";
    } else if (needs_executable_stack(sentence)) {
      reason_ = "the HIP runtime needs an executable stack, which this system refuses: " +
                refused_.back();
      hint_ =
          "install a newer release of the runtime; or, for this one, clear the flag in its file "
          "with `patchelf --clear-execstack`, or set GLIBC_TUNABLES=glibc.rtld.execstack=2";
    } else {
      reason_ = "the HIP runtime could not be loaded: " + refused_.back();
      hint_ = "install ROCm's HIP runtime, or point HIPTOOL_HIP_LIBRARY at its libamdhip64";
    }
  }

  void add_missing_symbols(const std::string& path, const std::string& symbols) {
    refused_.push_back(path + ": lacks " + symbols);
    if (!reason_.empty()) return;
    reason_ = "the HIP runtime " + path + " lacks " + symbols;
    hint_ = "install a complete HIP runtime of version 5 or newer";
  }

  void add_unrecognised(const std::string& path, const std::string& version) {
    const std::string what = version.empty() ? "reports no version" : "reports version " + version;
    refused_.push_back(path + ": " + what + ", which is not recognised");
    if (!reason_.empty()) return;
    reason_ =
        "the HIP runtime " + path + " " + what +
        ", which hiptool does not recognise, and does not export hipGetDevicePropertiesR0600: " +
        "the layout of its structures is unknown";
    hint_ = "install a HIP runtime of version 5 or newer";
  }

  /// A runtime that works but has no device for this process; the search goes on.
  void add_unusable(const Binding& binding) {
    refused_.push_back(binding.status.library + ": " + binding.status.reason);
    if (unusable_.empty()) first_unusable_ = binding;
    unusable_.push_back(binding.status.library);
  }

  bool has_unusable() const { return !unusable_.empty(); }

  /// The first runtime, which is the newest, speaks for all; the others are named.
  Binding take_unusable() {
    PlatformStatus& status = first_unusable_.status;
    for (std::size_t i = 1; i < unusable_.size(); ++i) {
      status.reason += (i == 1 ? "; also tried: " : ", ") + unusable_[i];
    }
    return std::move(first_unusable_);
  }

  /// What to know where a runtime is used after newer ones were not usable.
  std::string note() const {
    std::string text;
    for (const std::string& path : unusable_) text += (text.empty() ? "" : ", ") + path;
    return text.empty() ? text : "tried before and not usable: " + text;
  }

  std::vector<std::string> list() const {
    std::vector<std::string> lines = refused_;
    if (!not_found_.empty()) lines.push_back("not found: " + not_found_);
    return lines;
  }

  void explain(PlatformStatus& status, const BindRequest& request) const {
    if (!reason_.empty()) return refuse(status, reason_, hint_);
    const std::string wanted = request.library.empty() ? "libamdhip64" : request.library;
    const std::string gpu = system::find_gpu(request.system_root, system::vendor_amd);
    if (gpu.empty()) {
      return refuse(status, wanted + " was not found and no AMD GPU is on the PCI bus", {});
    }
    refuse(status, wanted + " was not found, though there is an AMD GPU at " + gpu,
           "install ROCm's HIP runtime, or point HIPTOOL_HIP_LIBRARY at its libamdhip64");
  }

 private:
  std::string not_found_;
  std::vector<std::string> refused_;
  std::string reason_;
  std::string hint_;
  std::vector<std::string> unusable_;
  Binding first_unusable_;
};

std::string describe(const Api& api, hipError_t error) {
  const char* name = api.hipGetErrorName(error);
  return std::string(name != nullptr ? name : "unknown") + " (" + std::to_string(error) + ")";
}

std::string unknown_version_note(const std::string& version) {
  return (version.empty() ? "the HIP runtime reports no version"
                          : "HIP version " + version + " is not recognised") +
         std::string("; hiptool relies on the functions that it exports (HIP 6 or later)");
}

std::string newer_version_note(const std::string& version) {
  return "HIP version " + version + " is newer than this hiptool, which uses it as HIP 7";
}

bool means_no_device(hipError_t error) {
  return error == hipErrorNoDevice || error == hipErrorInvalidDevice;  // HIP 7 and HIP 5
}

/// "the HIP runtime /opt/rocm/lib/libamdhip64.so.7 (ROCm 10.0.0)".
std::string name_of_runtime(const PlatformStatus& status) {
  return "the HIP runtime " + status.library +
         (status.release.empty() ? "" : " (" + status.release + ")");
}

const char* get_variable(const char* name) { return std::getenv(name); }

/// Starts the runtime and fills in its devices or its error.
void start(const Api& api, PlatformStatus& status, const BindRequest& request) {
  hipError_t error = api.hipInit(0);
  if (error == hipSuccess) error = api.hipGetDeviceCount(&status.device_count);
  if (means_no_device(error) || (error == hipSuccess && status.device_count <= 0)) {
    status.device_count = 0;
    const system::DriverFinding cause = explain_no_device(request.system_root, get_variable);
    return refuse(status, name_of_runtime(status) + " reports no device: " + cause.reason,
                  cause.hint);
  }
  if (error != hipSuccess) {
    status.device_count = 0;
    const system::DriverFinding files = system::explain_amd(request.system_root);
    std::string hint = hint_of_override(get_variable);
    if (hint.empty()) hint = files.hint;
    if (hint.empty()) hint = "check the kernel log for messages of amdgpu";
    return refuse(status,
                  name_of_runtime(status) + " does not start: " + describe(api, error) +
                      (files.reason.empty() ? "" : ": " + files.reason),
                  std::move(hint));
  }
  status.usable = true;
}

/// True if the search ends with this library: it is usable, or no other one may be opened.
bool bind_library(const base::DynamicLibrary& library, const BindRequest& request,
                  Attempts& attempts, Binding& binding) {
  Binding found;
  PlatformStatus& status = found.status;
  status.platform = Platform::amd;
  status.driver_version = binding.status.driver_version;
  BoundRuntime& in_use = bound();
  if (!in_use.path.empty() && in_use.path != library.path()) {
    refuse(binding.status, "this process already uses " + in_use.path,
           "use another process for " + library.path());
    return true;
  }
  if (request.before_start) request.before_start(library.path());
  auto loaded = std::make_unique<Api>();
  const std::string missing = load_runtime(library, *loaded);
  if (!missing.empty()) {
    attempts.add_missing_symbols(library.path(), missing);
    return false;
  }
  int version = 0;
  if (loaded->hipRuntimeGetVersion(&version) != hipSuccess) version = 0;
  const Release release = identify_release(version, library);
  if (release == Release::unrecognised) {
    attempts.add_unrecognised(library.path(), format_version(version));
    return false;
  }
  status.library = library.path();
  status.runtime_version = format_version(version);
  if (const std::string number = rocm_release(library.path()); !number.empty()) {
    status.release = "ROCm " + number;
  }
  if (release == Release::newer) status.note = newer_version_note(status.runtime_version);
  if (release == Release::like_hip6) status.note = unknown_version_note(status.runtime_version);
  if (in_use.path.empty()) {
    adapt_runtime(*loaded, library);
    found.api = in_use.tables.emplace_back(std::move(loaded)).get();
  } else {
    found.api = in_use.api;
  }
  start(*found.api, status, request);
  if (!status.usable) {
    attempts.add_unusable(found);
    return false;
  }
  in_use.path = status.library;
  in_use.api = found.api;
  if (status.note.empty()) status.note = attempts.note();
  binding = std::move(found);
  return true;
}

bool try_library(const std::string& name, const BindRequest& request, Attempts& attempts,
                 Binding& binding) {
  std::string sentence;
  if (request.before_start) request.before_start(name);
  const auto library = base::DynamicLibrary::open(name, sentence);
  if (!library) {
    attempts.add_failure(name, sentence);
    return false;
  }
  bound().opened.insert(library->path());
  return bind_library(*library, request, attempts, binding);
}

/// Tries installed runtimes until one is usable. Bare names lead to files that were tried already,
/// unless the search found none.
bool search(const BindRequest& request, Attempts& attempts, Binding& binding) {
  for (const std::string& name : list_candidates(own_places(request.system_root))) {
    const bool is_bare = name.find('/') == std::string::npos;
    if (is_bare && attempts.has_unusable()) break;
    if (try_library(name, request, attempts, binding)) return true;
  }
  return false;
}

void bind(const BindRequest& request, Binding& binding) {
  binding.status.driver_version = system::amdgpu_driver_version(request.system_root);
  Attempts attempts;
  bool is_found = false;
  if (!request.library.empty()) {
    is_found = try_library(request.library, request, attempts, binding);
  } else {
    const auto mapped = find_mapped(bound().path);
    const bool is_of_program =
        mapped && (mapped->path() == bound().path || bound().opened.count(mapped->path()) == 0);
    if (is_of_program) is_found = bind_library(*mapped, request, attempts, binding);
    // Another one would be a second runtime next to the program's.
    const bool is_search_over = is_found || (is_of_program && attempts.has_unusable());
    if (!is_search_over) is_found = search(request, attempts, binding);
  }
  const std::vector<std::string> tried = attempts.list();
  if (!is_found && attempts.has_unusable()) {
    binding = attempts.take_unusable();
  } else if (!is_found) {
    attempts.explain(binding.status, request);
  }
  binding.status.tried = tried;
  bound().named = binding.status.library;
}

}  // namespace

std::string preferred_runtime() {
  const std::lock_guard lock(bound().mutex);
  return bound().path.empty() ? bound().named : bound().path;
}

}  // namespace amd

Binding bind_amd(const BindRequest& request) {
  Binding binding;
  binding.status.platform = Platform::amd;
  const std::lock_guard lock(amd::bound().mutex);
  amd::bind(request, binding);
  return binding;
}

}  // namespace hiptool::hip
