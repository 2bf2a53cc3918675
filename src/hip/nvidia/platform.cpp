// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "hip/binding.hpp"
#include "hip/load_error.hpp"
#include "hip/nvidia/calls.hpp"
#include "hip/nvidia/cuda.hpp"
#include "hip/nvidia/driver.hpp"
#include "hip/nvidia/driver_files.hpp"
#include "hip/nvidia/errors.hpp"
#include "system/drivers.hpp"
#include "system/pci.hpp"

namespace hiptool::hip {
namespace nvidia {
namespace {

using system::DriverFinding;

std::string no_device_hint(bool hides_devices) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr || hides_devices) {
    return "check what nvidia-smi lists, and in a container that it was given the GPU";
  }
  return "CUDA_VISIBLE_DEVICES is set to \"" + std::string(visible) +
         "\" and may hide the devices: unset it";
}

/// Appends the finding from files to the driver's; its hint replaces the general one.
DriverFinding with_files(std::string reason, std::string hint, const std::filesystem::path& root) {
  const DriverFinding files = system::explain_nvidia(root);
  if (!files.reason.empty()) reason += ": " + files.reason;
  if (!files.hint.empty()) hint = files.hint;
  return {std::move(reason), std::move(hint)};
}

// Why there is no driver library in any place of the search, derived from files.
DriverFinding explain_not_found(const std::string& library, const std::filesystem::path& root) {
  const std::string not_found = library + " was not found";
  const std::string version = system::nvidia_driver_version(root);
  if (!version.empty()) {
    return {not_found + ", though the NVIDIA kernel driver " + version + " is loaded",
            "install the driver's user libraries of version " + version +
                "; in a container, use the NVIDIA container runtime"};
  }
  const std::string gpu = system::find_gpu(root, system::vendor_nvidia);
  if (gpu.empty()) {
    return {not_found + " and no NVIDIA GPU is on the PCI bus", {}};
  }
  return with_files(not_found + ", though there is an NVIDIA GPU at " + gpu,
                    "install the NVIDIA driver", root);
}

// Why there is no driver library, derived from files; `sentence` is the loader's message.
DriverFinding explain_load_failure(const std::string& library, const std::string& sentence,
                                   const std::filesystem::path& root) {
  const LoadError kind = classify_load_error(library, sentence);
  if (kind == LoadError::dependency_missing) {
    return {
        library + " is installed, its dependency " + missing_dependency(sentence) + " is missing",
        "install " + missing_dependency(sentence)};
  }
  if (kind == LoadError::refused) {
    return {library + " could not be loaded: " + sentence,
            "install the NVIDIA driver's libraries for this machine"};
  }
  return explain_not_found(library, root);
}

// Why a bound driver cannot be used; `result` is what cuInit or counting its devices returned.
DriverFinding explain_init_failure(CUresult result, const std::string& library,
                                   const BindRequest& request) {
  const std::filesystem::path root = request.system_root;
  const std::string failed = "cuInit failed with " + describe(result);
  switch (result) {
    case CUDA_ERROR_STUB_LIBRARY:
      return {failed + ": " + library + " is the CUDA toolkit's stub for linking, not a driver",
              "install the NVIDIA driver, and take the toolkit's stubs folder out of the library "
              "search path"};
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: {
      const std::string version = system::nvidia_driver_version(root);
      return {failed + ": " + library + " and the loaded kernel driver" +
                  (version.empty() ? "" : " " + version) + " are of different versions",
              "reboot, or reload the nvidia kernel modules; in a container, restart it"};
    }
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return {failed + ": the system is not ready",
              "start the service nvidia-fabricmanager and wait until it is up"};
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return {failed + ": the forward compatibility library does not support this GPU",
              "take the CUDA compat folder out of the library search path"};
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return {failed + ": the device is busy or in a mode that forbids use",
              "check the compute mode and the processes that nvidia-smi lists"};
    case CUDA_ERROR_NO_DEVICE:
      return with_files(failed, no_device_hint(request.hides_devices), root);
    case CUDA_ERROR_OPERATING_SYSTEM:
      return with_files(failed, "check that /dev/nvidiactl and /dev/nvidia0 can be opened", root);
    case CUDA_ERROR_UNKNOWN:
      return with_files(failed,
                        "check that /dev/nvidia-uvm exists: load the module nvidia-uvm, or pass "
                        "the device into the container",
                        root);
    default: return with_files(failed, "check the kernel log for messages of the driver", root);
  }
}

// The driver works and lists no device.
DriverFinding explain_no_device(const BindRequest& request) {
  return with_files("the NVIDIA driver lists no device", no_device_hint(request.hides_devices),
                    request.system_root);
}

std::vector<std::string> list_candidates(const BindRequest& request) {
  if (!request.library.empty()) return {request.library};
  return list_names_to_open(own_places(request.system_root), driver_name);
}

/// The driver opens its compiler of PTX by name, which the loader cannot find in a folder that it
/// does not search, unless the compiler is mapped already.
void open_compiler_beside(const std::string& driver) {
  const std::filesystem::path file =
      std::filesystem::path(driver).parent_path() / "libnvidia-ptxjitcompiler.so.1";
  std::string ignored;
  if (base::is_there(file)) base::DynamicLibrary::open(file.string(), ignored);
}

const Api& table() {
  static const Api api = [] {
    Api filled = make_unsupported_api();
    fill_devices(filled);
    fill_memory(filled);
    fill_copies(filled);
    fill_streams(filled);
    fill_modules(filled);
    fill_graphs(filled);
    return filled;
  }();
  return api;
}

/// The table's functions share one driver, so a driver in use is never replaced; one that could
/// not be used may be.
struct BoundDriver {
  std::mutex mutex;
  std::string path;  // empty until a driver was usable
};

BoundDriver& bound() {
  static BoundDriver& driver = *new BoundDriver;
  return driver;
}

void refuse(PlatformStatus& status, DriverFinding finding) {
  status.reason = std::move(finding.reason);
  status.hint = std::move(finding.hint);
}

std::string driver_api_version() {
  int version = 0;
  if (cuda().cuDriverGetVersion(&version) != CUDA_SUCCESS || version <= 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Starts the driver and fills in its devices or its error; cuda() has its functions already.
void start(PlatformStatus& status, const BindRequest& request) {
  status.runtime_version = driver_api_version();
  CUresult result = cuda().cuInit(0);
  if (result == CUDA_SUCCESS) result = list_devices();
  if (result != CUDA_SUCCESS) {
    return refuse(status, explain_init_failure(result, status.library, request));
  }
  status.device_count = device_count();
  status.usable = status.device_count > 0;
  if (!status.usable) refuse(status, explain_no_device(request));
}

/// True if the search ends with this library, usable or not; false leads to the next candidate.
/// `has_found` is whether an earlier one was there.
bool try_library(const std::string& name, const BindRequest& request, bool& has_found,
                 Binding& binding) {
  PlatformStatus& status = binding.status;
  std::string sentence;
  if (request.before_start) request.before_start(name);
  const auto library = base::DynamicLibrary::open(name, sentence);
  if (!library) {
    status.tried.push_back(describe_attempt(name, sentence));
    // A file that exists and cannot be loaded explains more than a missing name.
    const bool is_there = classify_load_error(name, sentence) != LoadError::not_found;
    if (status.reason.empty() || (is_there && !has_found)) {
      refuse(status, explain_load_failure(name, sentence, request.system_root));
    }
    has_found = has_found || is_there;
    return false;
  }
  if (request.before_start) request.before_start(library->path());
  if (name.find('/') != std::string::npos) open_compiler_beside(library->path());
  CudaDriver driver{};
  const std::string missing = load_driver(*library, driver);
  if (!missing.empty()) {
    status.tried.push_back(library->path() + ": lacks " + missing);
    refuse(status, {library->path() + " lacks " + missing,
                    "update the NVIDIA driver, or point HIPTOOL_CUDA_LIBRARY at its libcuda.so.1"});
    return false;
  }
  BoundDriver& in_use = bound();
  if (!in_use.path.empty() && in_use.path != library->path()) {
    refuse(status, {"this process already uses " + in_use.path,
                    "use another process for " + library->path()});
    return true;
  }
  status.reason.clear();
  status.hint.clear();
  status.library = library->path();
  binding.api = &table();
  if (!in_use.path.empty()) {
    status.runtime_version = driver_api_version();
    status.device_count = device_count();
    status.usable = true;
    return true;
  }
  cuda() = driver;
  start(status, request);
  if (status.usable) in_use.path = library->path();
  return true;
}

}  // namespace
}  // namespace nvidia

Binding bind_nvidia(const BindRequest& request) {
  Binding binding;
  binding.status.platform = Platform::nvidia;
  const std::lock_guard lock(nvidia::bound().mutex);
  binding.status.driver_version = system::nvidia_driver_version(request.system_root);
  const std::vector<std::string> names = nvidia::list_candidates(request);
  bool has_found = false;
  for (const std::string& name : names) {
    if (nvidia::try_library(name, request, has_found, binding)) break;
  }
  if (names.empty()) {
    nvidia::refuse(binding.status,
                   nvidia::explain_not_found(nvidia::driver_name, request.system_root));
  }
  return binding;
}

}  // namespace hiptool::hip
