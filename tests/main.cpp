// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cases.hpp"

int main(int argument_count, char** arguments) {
  doctest::Context context(argument_count, arguments);
  return hiptool::test::run_cases(context);
}
