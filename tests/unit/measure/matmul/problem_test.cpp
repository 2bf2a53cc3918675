// SPDX-License-Identifier: MIT
#include "measure/matmul/problem.hpp"

#include <doctest/doctest.h>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

TEST_CASE("shapes of products: three numbers, and files of them") {
  MatmulProblem problem;
  set_shape(problem, "3x4x5");
  CHECK((problem.m == 3 && problem.n == 4 && problem.k == 5));
  for (const char* wrong : {"", "3", "3x4", "3x4x5x6", "3x0x5", "3x4x", "axbxc", "-1x2x3",
                            "99999999999x99999999999x1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(set_shape(problem, wrong), Error);
  }
  const auto list = parse_shapes("# a model's\n\n10x20x30\n7x8x9 tn bf16 batch=4 # last\n", "file",
                                 problem, {DType::f32, DType::f16});
  REQUIRE(list.size() == 3);
  CHECK((list[0].dtype == DType::f32 && list[1].dtype == DType::f16));
  CHECK((list[2].transpose_a && !list[2].transpose_b && list[2].batch == 4));
  CHECK(list[2].result == DType::bf16);
  for (const char* wrong : {"", "10x20", "1x2x3 xx", "1x2x3 i8", "1x2x3 batch=0"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_shapes(wrong, "file", problem, {DType::f32}), Error);
  }
  try {
    parse_shapes("1x2x3\nbad\n", "shapes.txt", problem, {DType::f32});
    CHECK(false);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("shapes.txt, line 2") != std::string::npos);
  }
}

TEST_CASE("traps: each has a report, and is made smaller where it does not fit") {
  CHECK(matmul_traps().size() >= 6);
  for (const MatmulTrap& trap : matmul_traps()) {
    CHECK(trap.report.find('#') != std::string::npos);
    MatmulProblem problem = trap.problem;
    CHECK(shrink_to_fit(problem, std::uint64_t{1} << 40).empty());
    CHECK(problem.bytes() == trap.problem.bytes());
    const std::string reason = shrink_to_fit(problem, trap.problem.bytes());
    CHECK(problem.bytes() <= trap.problem.bytes() / 10 * 8);
    CHECK(reason.find(shape_word(trap.problem)) != std::string::npos);
  }
}
