// SPDX-License-Identifier: MIT
#include "hiptool/error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace hiptool;

TEST_CASE("an error has a cause without its object") {
  const auto cause = [](const std::string& message, const std::string& object) {
    return Error(ErrorCode::input_failed, "open", message).about(object).cause();
  };
  CHECK(cause("a/m.gguf: no such tensor", "a/m.gguf") == "no such tensor");
  CHECK(cause("cannot open a/m.gguf: No such file", "a/m.gguf") == "cannot open: No such file");
  CHECK(cause("cannot open a/m.gguf: No such file", "b.gguf") ==
        "cannot open a/m.gguf: No such file");
  CHECK(cause("cannot open m: No such file", "") == "cannot open m: No such file");
  CHECK(cause("cannot use 2 files:\na: gone\nb: gone", "") == "cannot use 2 files");
  CHECK(cause("m.gguf2: no such tensor", "m.gguf") == "m.gguf2: no such tensor");
  CHECK(cause("a\nb/m.gguf: no such tensor", "a\nb/m.gguf") == "no such tensor");
  CHECK(cause("cannot open a\nb: No such file\nlog", "a\nb") == "cannot open: No such file");
  CHECK(cause("failed\nlog b: here", "b") == "failed");
}

TEST_CASE("an error keeps all else when its object is named") {
  const Error error =
      Error({ErrorCode::device, "hipMalloc", "failed", "try", NativeError{"amd", 2, "hipX"}});
  CHECK(error.object().empty());
  const Error named = error.about("amd:0").about("amd:1");
  CHECK(named.object() == "amd:1");
  CHECK(named.code() == error.code());
  CHECK(named.hint() == error.hint());
  CHECK(named.operation() == error.operation());
  CHECK(named.native()->name == "hipX");
  CHECK(std::string(named.what()) == error.what());
  CHECK(named.with_context("x").object() == "amd:1");
}

TEST_CASE("an error with another hint keeps all else") {
  const Error error({ErrorCode::out_of_memory, "hipMalloc", "hipMalloc on amd:0: no memory",
                     "free some", NativeError{"amd", 2, "hipErrorOutOfMemory"}, "amd:0"});
  const Error hinted = error.with_hint("use more GPUs");
  CHECK(hinted.hint() == "use more GPUs");
  CHECK(hinted.code() == error.code());
  CHECK(hinted.operation() == error.operation());
  CHECK(std::string(hinted.what()) == error.what());
  CHECK(hinted.object() == "amd:0");
  REQUIRE(hinted.native());
  CHECK(hinted.native()->name == "hipErrorOutOfMemory");
}
