// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/words.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::cli;

namespace {

bool is_refused(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument;
  }
  return false;
}

}  // namespace

TEST_CASE("run-kernel: dimensions") {
  const Dim3 three = parse_dimensions("4294967295,2,3", "--grid");
  CHECK(three.x == 4294967295u);
  CHECK(three.y == 2);
  CHECK(three.z == 3);
  CHECK(parse_dimensions("7", "--grid").z == 1);
  for (const std::string text : {"", "0", "1,0", "1,1,0", "-1", "1,,1", "1,", ",1", "1,2,3,4",
                                 "4294967296", "1x2", "a", "1.5", " 1", "0x10"}) {
    CAPTURE(text);
    CHECK(is_refused([&] { parse_dimensions(text, "--grid"); }));
  }
}

TEST_CASE("run-kernel: outputs, expectations and tolerance") {
  const results::OutputWord printed = parse_output("12:print:8");
  CHECK(printed.argument == 12);
  CHECK(printed.print_count == 8);
  CHECK(printed.file.empty());
  const results::OutputWord written = parse_output("0:a:b");
  CHECK(written.file == "a:b");
  CHECK_FALSE(written.print_count);
  CHECK(parse_output("1:./print").file == "./print");
  CHECK(parse_expect("3:want.bin").argument == 3);
  CHECK(parse_expect("3:c:/want.bin").file == "c:/want.bin");
  CHECK_FALSE(parse_tolerance(""));
  CHECK(parse_tolerance("1e-6")->of_larger == 1e-6);
  CHECK(parse_tolerance("0")->of_larger == 0.0);
  for (const std::string text :
       {"", "1", "1:", ":f", "x:f", "-1:f", "1:print", "1:print:", "1:print:0", "1:print:x",
        "1:print:-1", "18446744073709551616:f"}) {
    CAPTURE(text);
    CHECK(is_refused([&] { parse_output(text); }));
  }
  for (const std::string text : {"", "1", "1:", ":f", "x:f", "-1:f"}) {
    CAPTURE(text);
    CHECK(is_refused([&] { parse_expect(text); }));
  }
  for (const std::string text : {"x", "-1", "nan", "inf", "1e400", "1,5", "1 "}) {
    CAPTURE(text);
    CHECK(is_refused([&] { parse_tolerance(text); }));
  }
}
