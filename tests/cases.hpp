// SPDX-License-Identifier: MIT
/// What a test program demands of its cases: each asserts something or says that it skips.
#pragma once
#include <string_view>

namespace doctest {
class Context;
}

namespace hiptool::test {

/// Says why the running case, or a part of it, has nothing to test here; the case then returns.
/// CI counts the line that this prints and refuses a reason that `.ci/allowed_skips` lacks.
void skip_case(std::string_view reason);

/// Runs the cases that the context selects. Returns 0 only if none failed, each made an assertion
/// or called skip_case(), and there was at least one.
int run_cases(doctest::Context& context);

}  // namespace hiptool::test
