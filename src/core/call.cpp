// SPDX-License-Identifier: MIT
#include "core/call.hpp"

namespace hiptool::core {
namespace {

std::string_view hint_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::out_of_memory: return "free memory on the device, or choose another device";
    case ErrorCode::host_out_of_memory:
      return "free memory on the host, or raise the limit of the container";
    case ErrorCode::host_failed:
      return "raise the limit of processes (`ulimit -u`; pids.max of a container or service)";
    case ErrorCode::device_lost: return "start a new process; check the kernel log (dmesg)";
    case ErrorCode::unavailable: return "run `hiptool devices` to see what can be used";
    default: return {};
  }
}

// Name, number and text; without the text if the runtime only repeats the name there, as HIP 5
// does.
std::string describe(const hip::Api& api, hip::hipError_t error) {
  const char* name = api.hipGetErrorName(error);
  const char* text = api.hipGetErrorString(error);
  std::string description = name != nullptr ? name : "unknown";
  description += " (" + std::to_string(static_cast<int>(error)) + ")";
  if (text != nullptr && *text != '\0' && (name == nullptr || std::string_view(text) != name)) {
    description += ", ";
    description += text;
  }
  return description;
}

}  // namespace

ErrorCode error_code_of(hip::hipError_t error) noexcept {
  switch (static_cast<int>(error)) {
    case hip::hipErrorOutOfMemory: return ErrorCode::out_of_memory;
    case hip::hipErrorNotSupported: return ErrorCode::unsupported;
    // no device, driver or library that fits
    case hip::hipErrorInsufficientDriver:
    case hip::hipErrorNoDevice:
    case 34:   // CUDA stub library
    case 36:   // CUDA call that needs a newer driver
    case 46:   // CUDA device unavailable
    case 802:  // CUDA system not ready
    case 803:  // CUDA driver mismatch
      return ErrorCode::unavailable;
    // images
    case hip::hipErrorInvalidImage:
    case hip::hipErrorNoBinaryForGpu:
    case hip::hipErrorInvalidKernelFile:
    case hip::hipErrorInvalidSource:
    case hip::hipErrorFileNotFound: return ErrorCode::input_failed;
    case hip::hipErrorNotFound: return ErrorCode::not_found;
    // sticky: the process has to be started again (HIP API reference, cuda.h)
    case hip::hipErrorECCNotCorrectable:
    case hip::hipErrorIllegalAddress:
    case hip::hipErrorLaunchTimeOut:
    case hip::hipErrorContextIsDestroyed:
    case hip::hipErrorAssert:
    case 714:  // CUDA hardware stack error, and the instruction errors up to 718
    case 715:
    case 716:
    case 717:
    case 718:
    case hip::hipErrorLaunchFailure: return ErrorCode::device_lost;
    default: return ErrorCode::device;
  }
}

namespace {

Error make_error(const Device& device, ErrorCode code, std::string_view call_name,
                 hip::hipError_t error, std::string_view subject, std::string_view detail) {
  Error::Fields fields;
  fields.code = code;
  fields.operation = std::string(call_name);
  fields.message = fields.operation;
  if (!subject.empty()) fields.message += " of " + std::string(subject);
  fields.message += " on " + device.id() + ": " + describe(api_of(device), error);
  if (!detail.empty()) fields.message += "; " + std::string(detail);
  fields.hint = std::string(hint_of(fields.code));
  const char* name = api_of(device).hipGetErrorName(error);
  fields.native = NativeError{std::string(to_string(device.platform())), static_cast<int>(error),
                              name != nullptr ? name : "unknown"};
  fields.object = device.id();
  Error made(std::move(fields));
  if (code == ErrorCode::device_lost) {
    state_of(device).lost_devices->mark(device.native_handle(), made);
  }
  return made;
}

}  // namespace

Error call_error(const Device& device, std::string_view call_name, hip::hipError_t error,
                 std::string_view subject, std::string_view detail) {
  // On the processor a call of the operating system is the host's: mostly no thread to be had.
  const bool is_of_host = device.is_host_memory() && error == hip::hipErrorOperatingSystem;
  const ErrorCode code = is_of_host ? ErrorCode::host_failed : error_code_of(error);
  return make_error(device, code, call_name, error, subject, detail);
}

Error host_memory_error(const Device& device, std::string_view call_name, hip::hipError_t error,
                        std::string_view subject) {
  const ErrorCode code =
      error == hip::hipErrorOutOfMemory ? ErrorCode::host_out_of_memory : error_code_of(error);
  return make_error(device, code, call_name, error, subject, {});
}

void require_usable(const Device& device) {
  if (!is_lost(device)) return;
  const auto first = state_of(device).lost_devices->first_failure(device.native_handle());
  Error::Fields fields;
  fields.code = ErrorCode::device_lost;
  fields.operation = first ? first->operation() : "use device";
  fields.message = device.id() + " cannot be used any more since " +
                   (first ? first->what() : "a call failed with a sticky error");
  fields.hint = std::string(hint_of(fields.code));
  if (first) fields.native = first->native();
  fields.object = device.id();
  throw Error(std::move(fields));
}

void note_failure(const Device& device, std::string_view call_name,
                  hip::hipError_t error) noexcept {
  try {
    state_of(device).note(call_name,
                          "failed on " + device.id() + ": " + describe(api_of(device), error));
    if (error_code_of(error) == ErrorCode::device_lost) {
      static_cast<void>(call_error(device, call_name, error));  // marks the device
    }
  } catch (...) {
    state_of(device).note(call_name, "failed");  // no memory for a better text
    if (error_code_of(error) == ErrorCode::device_lost) {
      state_of(device).lost_devices->mark(device.native_handle(), std::nullopt);
    }
  }
}

void settle(const StreamRef& stream) noexcept {
  const Device& device = stream.device();
  const QuietDeviceGuard guard(device);
  const auto native = static_cast<hip::hipStream_t>(stream.native_handle());
  if (release<&hip::Api::hipStreamSynchronize>(device, native)) return;
  // The stream reports no end, so this waits for the whole device: releasing memory that is in use
  // would be worse.
  release<&hip::Api::hipDeviceSynchronize>(device);
}

hip::hipStream_t native_of(const StreamRef& stream) {
  if (stream.native_handle() == nullptr) {
    throw Error(ErrorCode::invalid_argument, "use stream", "the stream was moved from or released");
  }
  return static_cast<hip::hipStream_t>(stream.native_handle());
}

QuietDeviceGuard::QuietDeviceGuard(const Device& device) noexcept : device_(device) {
  int current = -1;
  if (!release<&hip::Api::hipGetDevice>(device, &current) || current == device.native_handle())
    return;
  if (release<&hip::Api::hipSetDevice>(device, device.native_handle())) previous_ = current;
}

QuietDeviceGuard::~QuietDeviceGuard() {
  if (previous_ >= 0) release<&hip::Api::hipSetDevice>(device_, previous_);
}

}  // namespace hiptool::core
