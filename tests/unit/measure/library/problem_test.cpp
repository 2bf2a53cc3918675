// SPDX-License-Identifier: MIT
#include "measure/library/problem.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

std::string refusal_of(Problem problem, const char* text) {
  try {
    set_shape(problem, text);
    return "accepted";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
}

}  // namespace

TEST_CASE("shapes of products: three numbers, and files of them") {
  Problem problem;
  set_shape(problem, "3x4x5");
  const auto& product = std::get<MatmulProblem>(problem);
  CHECK((product.m == 3 && product.n == 4 && product.k == 5));
  CHECK(shape_word(problem) == "3x4x5");
  for (const char* wrong : {"", "3", "3x4", "3x4x5x6", "3x0x5", "3x4x", "axbxc", "-1x2x3",
                            "99999999999x99999999999x1", "n1c1h1w1:k1r1s1"}) {
    CAPTURE(wrong);
    CHECK(refusal_of(problem, wrong).find("is not a shape of a matrix product") !=
          std::string::npos);
  }
  const auto bytes = parse_shapes("1x2x3 i8 nt\n", "file", problem, {DType::f32});
  CHECK((types_of(bytes[0]).dtype == DType::i8 && types_of(bytes[0]).result == DType::i32));
  CHECK(types_of(bytes[0]).compute == Compute::i32);
  CHECK(unusual_words(bytes[0]) == std::vector<std::string>{"nt"});
  const auto list = parse_shapes("# a model's\n\n10x20x30\n7x8x9 tn bf16 batch=4 # last\n", "file",
                                 problem, {DType::f32, DType::f16});
  REQUIRE(list.size() == 3);
  CHECK((types_of(list[0]).dtype == DType::f32 && types_of(list[1]).dtype == DType::f16));
  const auto& last = std::get<MatmulProblem>(list[2]);
  CHECK((last.transpose_a && !last.transpose_b && last.batch == 4));
  CHECK(last.result == DType::bf16);
  for (const char* wrong : {"", "10x20", "1x2x3 xx", "1x2x3 i16", "1x2x3 batch=0", "1x2x3 nn tn",
                            "1x2x3 f16 bf16", "1x2x3 batch=2 tn batch=3", "1x2x3 tn tn"}) {
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

TEST_CASE("shapes of convolutions: letters with numbers") {
  Problem problem = ConvProblem();
  set_shape(problem, "n8c64h56w48:k32r3s5");
  const auto& conv = std::get<ConvProblem>(problem);
  CHECK((conv.n == 8 && conv.c == 64 && conv.h == 56 && conv.w == 48));
  CHECK((conv.k == 32 && conv.r == 3 && conv.s == 5));
  CHECK((conv.out_height() == 54 && conv.out_width() == 44));
  CHECK(c_count(problem) == 8u * 32 * 54 * 44);
  CHECK(a_count(problem) == 32u * 64 * 15);
  CHECK(b_count(problem) == 8u * 64 * 56 * 48);
  CHECK(term_count(problem) == 64u * 15);
  CHECK(shape_word(problem) == "n8c64h56w48:k32r3s5");

  set_shape(problem, "w7h9c6n2:s2r3k4g2p2x1u2x1d1x3");  // in any order
  CHECK(shape_word(problem) == "n2c6h9w7:k4r3s2u2x1p2x1d1x3g2");
  CHECK((conv.out_height() == 6 && conv.out_width() == 6));
  CHECK(term_count(problem) == 3u * 6);
  // The longest form of an element.
  CHECK(place_word(problem, ((1 * 4 + 3) * 6 + 5) * 6 + 4) ==
        "image 1, channel 3, row 5, column 4");

  set_shape(problem, "n1c1h4w4:k1r1s1u1p0d1g1");
  CHECK(shape_word(problem) == "n1c1h4w4:k1r1s1");
}

TEST_CASE("shapes of convolutions: wrong ones are refused with the reason") {
  const Problem problem = ConvProblem();
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no ':'"},
      {"8x64x56x56", "no ':'"},
      {"n8c64h56:k64r3s3", "no w"},
      {"n8c64h56w56:k64r3", "no s"},
      {"n8c64h56w56n8:k64r3s3", "two n"},
      {"n8c64h56w56:k64r3s3p1p1", "two p"},
      {"n8c64h56w56:k64r3s3q1", "unexpected 'q'"},
      {"n8c64h56w56u2:k64r3s3", "unexpected 'u'"},
      {"n8c64h56w56:k64r3s3:", "unexpected ':'"},
      {"n0c64h56w56:k64r3s3", "'n0'"},
      {"nc64h56w56:k64r3s3", "'n'"},
      {"n2x3c64h56w56:k64r3s3", "'n2x3'"},
      {"n8c64h56w56:k64r3s3u0", "'u0'"},
      {"n8c64h56w56:k64r3s3p1x", "'p1x'"},
      {"n8c64h56w56:k64r3s3p1x2x3", "'p1x2x3'"},
      {"n8c64h56w56:k64r3s3g3", "multiples of the groups"},
      {"n8c64h2w56:k64r3s3", "larger than the padded image"},
      {"n8c64h56w4:k64r3s3d1x2", "larger than the padded image"},
      {"n16777216c16777216h9w9:k1r1s1", "no device has memory"},
      {"n99999999999999999999c1h1w1:k1r1s1", "'n9"},
  };
  for (const auto& [text, why] : wrong) {
    const std::string refusal = refusal_of(problem, text);
    CAPTURE(refusal);
    CHECK(refusal.find("is not a shape of a convolution: ") != std::string::npos);
    CHECK(refusal.find(why) != std::string::npos);
  }
  const auto list =
      parse_shapes("n1c1h4w4:k1r1s1 f16 # one\nn1c1h5w5:k1r3s3p1\n", "file", problem, {DType::f64});
  REQUIRE(list.size() == 2);
  CHECK(types_of(list[0]).result == DType::f16);
  CHECK(types_of(list[1]).compute == Compute::f64);
  for (const char* line : {"n1c1h4w4:k1r1s1 tn", "n1c1h4w4:k1r1s1 batch=2", "n1c1h4w4:k1r1s1 i8",
                           "1x2x3", "n1c1h4w4:k1r1s1 f16 f32"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(parse_shapes(line, "file", problem, {DType::f32}), Error);
  }
}

TEST_CASE("traps: each has a report, and is made smaller where it does not fit") {
  CHECK(traps_of(ProblemKind::matmul).size() >= 6);
  CHECK(traps_of(ProblemKind::conv2d).size() >= 4);
  for (const ProblemKind kind : {ProblemKind::matmul, ProblemKind::conv2d}) {
    for (const Trap& trap : traps_of(kind)) {
      CAPTURE(trap.report);
      CHECK(kind_of(trap.problem) == kind);
      CHECK(trap.report.find('#') != std::string::npos);
      Problem problem = trap.problem;
      CHECK(shrink_to_fit(problem, std::uint64_t{1} << 40).empty());
      CHECK(bytes_of(problem) == bytes_of(trap.problem));
      const std::string reason = shrink_to_fit(problem, bytes_of(trap.problem));
      CHECK(bytes_of(problem) <= bytes_of(trap.problem) / 10 * 8);
      CHECK(reason.find(shape_word(trap.problem)) != std::string::npos);
    }
  }
}
