// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/export.hpp"

namespace hiptool {

/// Kinds of errors that a program can act on. The command line turns each into an exit
/// code in one place (`hiptool help exit-codes`).
enum class ErrorCode {
  invalid_argument,    ///< a value the caller gave makes no sense
  out_of_bounds,       ///< an offset or size exceeds its buffer
  not_found,           ///< a name (tensor, kernel, device id) is not there
  unsupported,         ///< well formed, but not something this build or platform does
  unavailable,         ///< no usable platform or device
  out_of_memory,       ///< device memory does not suffice
  input_failed,        ///< an input file is missing or cannot be read
  corrupt_data,        ///< an input file breaks its format
  manifest_mismatch,   ///< an input file differs from its manifest or published hash
  data_mismatch,       ///< bytes on the device differ from what was sent
  device,              ///< a device or runtime call failed
  device_lost,         ///< the process cannot use this device any more
  timed_out,           ///< a device or driver did not answer in time
  cancelled,           ///< stopped on request
  output_failed,       ///< an output could not be written
  host_out_of_memory,  ///< host memory does not suffice
  internal,            ///< a defect of hiptool
  host_failed,         ///< the host failed: no thread to be had, an I/O error of a disk
};

/// Name of the code in JSON, for example "corrupt_data".
[[nodiscard]] HIPTOOL_API std::string_view to_string(ErrorCode code) noexcept;

/// The runtime's own error: which platform, its number and its name (`hipErrorOutOfMemory`).
/// Numbers are HIP's on every platform; CUDA-only numbers pass through unchanged.
struct NativeError {
  std::string platform;
  int code = 0;
  std::string name;
};

/// The one exception type of the library. Copying never throws.
///
/// Wording: operation on object: cause, lower case, without a full stop, for example
/// "hipMalloc of 64 MiB on nvidia:0: hipErrorOutOfMemory (2)".
class HIPTOOL_API Error : public std::exception {
 public:
  struct Fields {
    ErrorCode code = ErrorCode::internal;
    std::string operation;              ///< the failed operation: "hipMalloc", "open", "parse"
    std::string message;                ///< the whole sentence
    std::string hint;                   ///< the next thing to try; may be empty
    std::optional<NativeError> native;  ///< set when a runtime call failed
    std::string object = {};            ///< the file or device that it speaks of; may be empty
  };

  explicit Error(Fields fields);
  // A move copies, so that a moved-from Error still has its text.
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  Error(ErrorCode code, std::string operation, std::string message, std::string hint = {});

  [[nodiscard]] ErrorCode code() const noexcept { return fields_->code; }
  [[nodiscard]] const std::string& operation() const noexcept { return fields_->operation; }
  [[nodiscard]] const std::string& hint() const noexcept { return fields_->hint; }
  /// The file or device that the message is about: a path as it was given, "nvidia:0". Empty where
  /// it is about neither.
  [[nodiscard]] const std::string& object() const noexcept { return fields_->object; }
  [[nodiscard]] const std::optional<NativeError>& native() const noexcept {
    return fields_->native;
  }
  [[nodiscard]] const char* what() const noexcept override { return fields_->message.c_str(); }

  /// True where the same call may succeed later in this process: out of memory after something was
  /// freed, not ready, a launch that needs too many resources. Never true after a sticky error such
  /// as an illegal address (HIP and CUDA both demand a new process then).
  [[nodiscard]] bool is_recoverable() const noexcept;

  /// The same error with "context: " put before its message.
  [[nodiscard]] Error with_context(std::string_view context) const;

  /// The same error with another hint.
  [[nodiscard]] Error with_hint(std::string hint) const;

  /// The same error, said to speak of that object.
  [[nodiscard]] Error about(std::string_view object) const;

  /// The first line of the message without its object: "cannot open: No such file or directory" of
  /// "cannot open m.gguf: No such file or directory". The whole line where it does not name it.
  [[nodiscard]] std::string cause() const;

 private:
  std::shared_ptr<const Fields> fields_;
};

}  // namespace hiptool
