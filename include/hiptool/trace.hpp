// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "hiptool/export.hpp"

namespace hiptool {

/// Receives what the library has to say without printing: failed release calls, attributes that
/// could not be read, libraries that were tried. Called from any thread, also from destructors, so
/// implementations lock and must not throw.
class HIPTOOL_API TraceSink {
 public:
  virtual ~TraceSink() = default;

  /// One remark: where it comes from ("hipFree", "load") and a sentence.
  virtual void note(std::string_view source, std::string_view text) noexcept = 0;

  /// A remark that the user should see unasked.
  virtual void warn(std::string_view source, std::string_view text) noexcept { note(source, text); }
};

}  // namespace hiptool
