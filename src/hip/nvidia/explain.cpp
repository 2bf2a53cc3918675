// SPDX-License-Identifier: MIT
#include "hip/nvidia/explain.hpp"

#include <cstdlib>

#include "hip/load_error.hpp"
#include "hip/nvidia/errors.hpp"
#include "system/pci.hpp"

namespace hiptool::hip::nvidia {
namespace {

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

}  // namespace

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

DriverFinding explain_no_device(const BindRequest& request) {
  return with_files("the NVIDIA driver lists no device", no_device_hint(request.hides_devices),
                    request.system_root);
}

}  // namespace hiptool::hip::nvidia
