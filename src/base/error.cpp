// SPDX-License-Identifier: MIT
#include "hiptool/error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hiptool {
namespace {

// Codes after which the process may try the same call again. All others, and above all the sticky
// ones (700, 702, 709, 710, 714 to 719, 214), stay failed. Sources: HIP API reference, cuda.h.
constexpr std::array recoverable_native_codes{2 /*OutOfMemory*/, 600 /*NotReady*/,
                                              701 /*LaunchOutOfResources*/};

constexpr std::array<std::string_view, 18> code_names{
    "invalid_argument",  "out_of_bounds", "not_found",     "unsupported",
    "unavailable",       "out_of_memory", "input_failed",  "corrupt_data",
    "manifest_mismatch", "data_mismatch", "device",        "device_lost",
    "timed_out",         "cancelled",     "output_failed", "host_out_of_memory",
    "internal",          "host_failed"};

}  // namespace

std::string_view to_string(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < code_names.size() ? code_names[index] : "internal";
}

Error::Error(Fields fields) : fields_(std::make_shared<const Fields>(std::move(fields))) {}

Error::Error(ErrorCode code, std::string operation, std::string message, std::string hint)
    : Error(Fields{code, std::move(operation), std::move(message), std::move(hint), {}}) {}

bool Error::is_recoverable() const noexcept {
  if (fields_->code == ErrorCode::device_lost) return false;
  if (fields_->native) {
    for (const int code : recoverable_native_codes) {
      if (fields_->native->code == code) return true;
    }
    return false;
  }
  return fields_->code == ErrorCode::out_of_memory || fields_->code == ErrorCode::timed_out;
}

Error Error::with_context(std::string_view context) const {
  Fields fields = *fields_;
  fields.message = std::string(context) + ": " + fields.message;
  return Error(std::move(fields));
}

Error Error::with_hint(std::string hint) const {
  Fields fields = *fields_;
  fields.hint = std::move(hint);
  return Error(std::move(fields));
}

Error Error::about(std::string_view object) const {
  Fields fields = *fields_;
  fields.object = object;
  return Error(std::move(fields));
}

std::string Error::cause() const {
  // The object is removed first, as a path may have line breaks itself.
  std::string text = fields_->message;
  if (!fields_->object.empty()) {
    if (const std::string start = fields_->object + ": "; text.starts_with(start)) {
      text.erase(0, start.size());
    } else if (const auto at = text.find(" " + fields_->object + ":"); at < text.find('\n')) {
      text.erase(at, fields_->object.size() + 1);
    }
  }
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.ends_with(':')) text.pop_back();
  return text;
}

}  // namespace hiptool
