// SPDX-License-Identifier: MIT
#include "hip/error_names.hpp"

#include <algorithm>
#include <array>

namespace hiptool::hip {
namespace {

struct ErrorEntry {
  int number;
  const char* name;
  const char* text;
};

/// Every number of HIP 5.0 to 7.2, in rising order: more than the table's own calls return, because
/// runtimes and drivers return more.
constexpr std::array error_entries{
    ErrorEntry{0, "hipSuccess", "no error"},
    ErrorEntry{1, "hipErrorInvalidValue", "an argument is not acceptable"},
    ErrorEntry{2, "hipErrorOutOfMemory", "there is not enough memory for the request"},
    ErrorEntry{3, "hipErrorNotInitialized", "the runtime is not initialized"},
    ErrorEntry{4, "hipErrorDeinitialized", "the runtime is shutting down"},
    ErrorEntry{5, "hipErrorProfilerDisabled", "profiling is disabled"},
    ErrorEntry{6, "hipErrorProfilerNotInitialized", "the profiler is not initialized"},
    ErrorEntry{7, "hipErrorProfilerAlreadyStarted", "the profiler was started already"},
    ErrorEntry{8, "hipErrorProfilerAlreadyStopped", "the profiler was stopped already"},
    ErrorEntry{9, "hipErrorInvalidConfiguration",
               "the launch configuration exceeds what the device can run"},
    ErrorEntry{12, "hipErrorInvalidPitchValue", "the pitch is not acceptable"},
    ErrorEntry{13, "hipErrorInvalidSymbol", "the device symbol is not valid"},
    ErrorEntry{17, "hipErrorInvalidDevicePointer", "the device pointer is not valid"},
    ErrorEntry{21, "hipErrorInvalidMemcpyDirection", "the direction of the copy is not valid"},
    ErrorEntry{35, "hipErrorInsufficientDriver", "the driver is too old for this runtime"},
    ErrorEntry{52, "hipErrorMissingConfiguration", "the launch has no configuration"},
    ErrorEntry{53, "hipErrorPriorLaunchFailure", "an earlier launch failed"},
    ErrorEntry{98, "hipErrorInvalidDeviceFunction", "the kernel does not exist for this device"},
    ErrorEntry{100, "hipErrorNoDevice", "there is no usable device"},
    ErrorEntry{101, "hipErrorInvalidDevice", "the device number is out of range"},
    ErrorEntry{200, "hipErrorInvalidImage", "the code object is not valid"},
    ErrorEntry{201, "hipErrorInvalidContext", "the thread has no valid context"},
    ErrorEntry{202, "hipErrorContextAlreadyCurrent", "the context is current already"},
    ErrorEntry{205, "hipErrorMapFailed", "mapping failed"},
    ErrorEntry{206, "hipErrorUnmapFailed", "unmapping failed"},
    ErrorEntry{207, "hipErrorArrayIsMapped", "the array is mapped"},
    ErrorEntry{208, "hipErrorAlreadyMapped", "the resource is mapped already"},
    ErrorEntry{209, "hipErrorNoBinaryForGpu", "the code object holds nothing for this device"},
    ErrorEntry{210, "hipErrorAlreadyAcquired", "the resource was acquired already"},
    ErrorEntry{211, "hipErrorNotMapped", "the resource is not mapped"},
    ErrorEntry{212, "hipErrorNotMappedAsArray", "the resource is not mapped as an array"},
    ErrorEntry{213, "hipErrorNotMappedAsPointer", "the resource is not mapped as a pointer"},
    ErrorEntry{214, "hipErrorECCNotCorrectable", "a memory error could not be corrected"},
    ErrorEntry{215, "hipErrorUnsupportedLimit", "the device does not support this limit"},
    ErrorEntry{216, "hipErrorContextAlreadyInUse", "the context is bound to another thread"},
    ErrorEntry{217, "hipErrorPeerAccessUnsupported",
               "the devices cannot access each other's memory"},
    ErrorEntry{218, "hipErrorInvalidKernelFile", "the kernel's source or assembly is not valid"},
    ErrorEntry{219, "hipErrorInvalidGraphicsContext", "the graphics context is not valid"},
    ErrorEntry{300, "hipErrorInvalidSource", "the source is not valid"},
    ErrorEntry{301, "hipErrorFileNotFound", "the file was not found"},
    ErrorEntry{302, "hipErrorSharedObjectSymbolNotFound",
               "a symbol is missing in a shared library"},
    ErrorEntry{303, "hipErrorSharedObjectInitFailed", "a shared library could not be initialized"},
    ErrorEntry{304, "hipErrorOperatingSystem", "a call of the operating system failed"},
    ErrorEntry{400, "hipErrorInvalidHandle", "the handle is not valid"},
    ErrorEntry{401, "hipErrorIllegalState", "the resource is in a state that does not allow this"},
    ErrorEntry{500, "hipErrorNotFound", "the name or object was not found"},
    ErrorEntry{600, "hipErrorNotReady", "the work is not done yet"},
    ErrorEntry{700, "hipErrorIllegalAddress", "a kernel or copy touched an illegal address"},
    ErrorEntry{701, "hipErrorLaunchOutOfResources",
               "the launch needs more resources than the device has"},
    ErrorEntry{702, "hipErrorLaunchTimeOut", "the kernel ran for too long and was ended"},
    ErrorEntry{704, "hipErrorPeerAccessAlreadyEnabled", "peer access is enabled already"},
    ErrorEntry{705, "hipErrorPeerAccessNotEnabled", "peer access is not enabled"},
    ErrorEntry{708, "hipErrorSetOnActiveProcess",
               "the setting cannot change while the device is in use"},
    ErrorEntry{709, "hipErrorContextIsDestroyed", "the context or stream was destroyed"},
    ErrorEntry{710, "hipErrorAssert", "a kernel hit a failed assertion"},
    ErrorEntry{712, "hipErrorHostMemoryAlreadyRegistered", "the host memory is registered already"},
    ErrorEntry{713, "hipErrorHostMemoryNotRegistered", "the host memory is not registered"},
    ErrorEntry{719, "hipErrorLaunchFailure", "a kernel failed while it ran"},
    ErrorEntry{720, "hipErrorCooperativeLaunchTooLarge",
               "the cooperative launch does not fit on the device"},
    ErrorEntry{801, "hipErrorNotSupported", "the call is not supported"},
    ErrorEntry{900, "hipErrorStreamCaptureUnsupported",
               "the call is not allowed while a stream captures"},
    ErrorEntry{901, "hipErrorStreamCaptureInvalidated", "an earlier error ended the capture"},
    ErrorEntry{902, "hipErrorStreamCaptureMerge", "two captures cannot be merged"},
    ErrorEntry{903, "hipErrorStreamCaptureUnmatched", "the capture was not started on this stream"},
    ErrorEntry{904, "hipErrorStreamCaptureUnjoined", "the capture has a fork that was not joined"},
    ErrorEntry{905, "hipErrorStreamCaptureIsolation",
               "the capture would depend on work outside of it"},
    ErrorEntry{906, "hipErrorStreamCaptureImplicit",
               "the capture would depend on the default stream"},
    ErrorEntry{907, "hipErrorCapturedEvent", "the event was recorded in a capture"},
    ErrorEntry{908, "hipErrorStreamCaptureWrongThread", "another thread started the capture"},
    ErrorEntry{910, "hipErrorGraphExecUpdateFailure", "the graph could not be updated"},
    ErrorEntry{911, "hipErrorInvalidChannelDescriptor", "the channel descriptor is not valid"},
    ErrorEntry{912, "hipErrorInvalidTexture", "the texture is not valid"},
    ErrorEntry{999, "hipErrorUnknown", "unknown error"},
    ErrorEntry{1052, "hipErrorRuntimeMemory", "a memory call below the runtime failed"},
    ErrorEntry{1053, "hipErrorRuntimeOther", "a call below the runtime failed"},
};

constexpr bool rising(const ErrorEntry& left, const ErrorEntry& right) {
  return left.number < right.number;
}
static_assert(std::ranges::is_sorted(error_entries, rising));

const ErrorEntry* find_entry(hipError_t error) noexcept {
  const ErrorEntry wanted{static_cast<int>(error), nullptr, nullptr};
  const auto found = std::ranges::lower_bound(error_entries, wanted, rising);
  if (found == error_entries.end() || found->number != wanted.number) return nullptr;
  return &*found;
}

}  // namespace

const char* error_name(hipError_t error) noexcept {
  const ErrorEntry* const entry = find_entry(error);
  return entry != nullptr ? entry->name : "hipErrorUnknown";
}

const char* error_text(hipError_t error) noexcept {
  const ErrorEntry* const entry = find_entry(error);
  return entry != nullptr ? entry->text : "unknown error";
}

}  // namespace hiptool::hip
