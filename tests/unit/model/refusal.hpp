// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "builders.hpp"
#include "hiptool/error.hpp"

namespace hiptool::test {

/// What refused the model: "corrupt_data: MESSAGE"; "accepted" when nothing did.
inline std::string refusal_of(const std::filesystem::path& path, const ModelOptions& options = {}) {
  try {
    static_cast<void>(ModelFile::open(path, options));
  } catch (const Error& error) {
    CHECK_FALSE(error.hint().empty());
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return std::string(to_string(error.code())) + ": " + message;
  }
  return "accepted";
}

inline std::string refusal(std::string_view bytes, bool strict = false) {
  const TemporaryFile file(bytes);
  return refusal_of(file.path(), {strict});
}

/// Checks that this begins with the code and has each of the parts.
template <typename... Parts>
void check_message(const std::string& found, std::string_view code, const Parts&... parts) {
  CAPTURE(found);
  CHECK(found.substr(0, code.size()) == code);
  for (const std::string_view part : std::initializer_list<std::string_view>{parts...}) {
    CHECK_MESSAGE(found.find(part) != std::string::npos, "missing: ", std::string(part));
  }
}

/// Checks that the file is refused with that code, and names each of the parts in its message.
template <typename... Parts>
void check_refused(std::string_view bytes, std::string_view code, const Parts&... parts) {
  check_message(refusal(bytes), code, parts...);
}

/// Checks that the file is read with one warning that has the text, and refused when strict.
inline void check_warned(std::string_view bytes, std::string_view text) {
  const ModelFile model = open_bytes(bytes);
  REQUIRE(model.warnings().size() == 1);
  CHECK_MESSAGE(model.warnings()[0].find(text) != std::string::npos, model.warnings()[0]);
  const std::string found = refusal(bytes, true);
  CHECK_MESSAGE(found.substr(0, 12) == "corrupt_data", found);
  CHECK_MESSAGE(found.find(text) != std::string::npos, found);
}

}  // namespace hiptool::test
