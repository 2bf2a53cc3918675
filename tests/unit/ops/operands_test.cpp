// SPDX-License-Identifier: MIT
#include "ops/operands.hpp"

#include <doctest/doctest.h>

using namespace hiptool;

TEST_CASE("divisors divide every number below 2^31 exactly") {
  const auto divide = [](std::uint32_t n, std::uint32_t d) {
    const auto divisor = ops::make_divisor(d);
    const std::uint64_t product = std::uint64_t{n} * divisor.multiplier;
    return (static_cast<std::uint32_t>(product >> 32) + n) >> divisor.shift;
  };
  constexpr std::uint32_t most = 0x7FFFFFFFu;
  for (std::uint64_t d = 1; d <= most; d = d * 5 / 4 + 1) {
    const auto divisor = static_cast<std::uint32_t>(d);
    for (std::uint64_t q = 0; q <= most / d; q = q * 3 / 2 + 1) {
      const auto multiple = static_cast<std::uint32_t>(q * d);
      CHECK(divide(multiple, divisor) == q);
      if (multiple > 0) CHECK(divide(multiple - 1, divisor) == (multiple - 1) / divisor);
    }
    CHECK(divide(most, divisor) == most / divisor);
  }
}

TEST_CASE("axes are joined where all operands run through them in one go") {
  const Layout packed({4, 5, 6});
  const Layout row = Layout({6}).broadcast_to({4, 5, 6});
  const std::array<const Layout*, 2> same{&packed, &packed};
  CHECK(ops::join_axes(same, 1).count == 1);
  CHECK(ops::join_axes(same, 1).dims[0] == 120);
  const std::array<const Layout*, 2> with_row{&row, &packed};
  const ops::JoinedAxes joined = ops::join_axes(with_row, 1);
  REQUIRE(joined.count == 2);
  CHECK(joined.dims[0] == 6);
  CHECK(joined.dims[1] == 20);
  CHECK(joined.strides[0][0] == 1);
  CHECK(joined.strides[0][1] == 0);
  CHECK(joined.strides[1][1] == 6);
  const Layout turned = packed.transpose(0, 2);
  const std::array<const Layout*, 2> both_turned{&turned, &turned};
  CHECK(ops::join_axes(both_turned, 1).count == 1);  // in the order of the output's memory
  const Layout scalar;
  const std::array<const Layout*, 1> one{&scalar};
  CHECK(ops::join_axes(one, 0).count == 1);
  CHECK(ops::join_axes(one, 0).dims[0] == 1);
}
