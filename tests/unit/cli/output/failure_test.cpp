// SPDX-License-Identifier: MIT
#include "cli/output/failure.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "harness.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::string shown(const Error& error, bool color = false) {
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  console.set_color_mode(color ? ColorMode::always : ColorMode::never);
  print_error(console, error);
  CHECK(out.text.empty());
  return err.text;
}

}  // namespace

TEST_CASE("an error has three parts") {
  CHECK(
      shown({ErrorCode::device, "copy", "copy failed\nfirst cause\nsecond cause", "look there"}) ==
      "error: copy failed\n  first cause\n  second cause\nhint: look there\n");
  CHECK(shown({ErrorCode::device, "copy", "copy failed"}) == "error: copy failed\n");
}

TEST_CASE("the runtime's own error is named once") {
  Error::Fields fields;
  fields.code = ErrorCode::device;
  fields.message = "copy failed";
  fields.native = NativeError{"amd", 700, "hipErrorIllegalAddress"};
  CHECK(shown(Error(fields)) ==
        "error: copy failed\n  amd returned hipErrorIllegalAddress (700)\n");
  fields.message = "copy: hipErrorIllegalAddress (700)";
  CHECK(shown(Error(fields)) == "error: copy: hipErrorIllegalAddress (700)\n");
}

TEST_CASE("names of files cannot steer the terminal; colour marks the labels only") {
  CHECK(shown({ErrorCode::input_failed, "open", "open \x1b[2Jfile"}) ==
        "error: open \\x1B[2Jfile\n");
  CHECK(shown({ErrorCode::input_failed, "open", "open", "look"}, true) ==
        "\x1b[1;31merror:\x1b[0m open\n\x1b[36mhint:\x1b[0m look\n");
}

TEST_CASE("every exception becomes an error") {
  CHECK(as_error(std::bad_alloc()).code() == ErrorCode::host_out_of_memory);
  CHECK(as_error(std::runtime_error("x")).code() == ErrorCode::internal);
  CHECK(contains(as_error(std::runtime_error("what")).what(), "what"));
  CHECK(as_error(Error(ErrorCode::timed_out, "a", "b")).code() == ErrorCode::timed_out);
}
