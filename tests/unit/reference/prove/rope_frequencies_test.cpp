// SPDX-License-Identifier: MIT
#include "reference/prove/rope_frequencies.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace hiptool;
using namespace hiptool::reference;

TEST_CASE("rope: pairs are neighbours or halves, and the rest of a head stays") {
  RopeSpec rope;
  rope.dimensions = 4;
  rope.base = 100;
  const std::vector<double> frequencies = rope_frequencies(rope, {});
  REQUIRE(frequencies.size() == 2);
  CHECK(frequencies[0] == 1);
  CHECK(frequencies[1] == doctest::Approx(0.1));
  const double c0 = std::cos(3.0), s0 = std::sin(3.0), c1 = std::cos(0.3), s1 = std::sin(0.3);
  std::vector<double> head{1, 2, 3, 4, 5};
  rotate_head(rope, frequencies, 3, head.data());
  const std::vector<double> neighbours{c0 - 2 * s0, s0 + 2 * c0, 3 * c1 - 4 * s1, 3 * s1 + 4 * c1,
                                       5};
  for (std::size_t i = 0; i < 5; ++i) CHECK(head[i] == doctest::Approx(neighbours[i]));
  rope.pairs = RopePairs::halves;
  rope.attention_factor = 2;
  head = {1, 2, 3, 4, 5};
  rotate_head(rope, frequencies, 3, head.data());
  const std::vector<double> halves{2 * (c0 - 3 * s0), 2 * (2 * c1 - 4 * s1), 2 * (s0 + 3 * c0),
                                   2 * (2 * s1 + 4 * c1), 5};
  for (std::size_t i = 0; i < 5; ++i) CHECK(head[i] == doctest::Approx(halves[i]));
}

TEST_CASE("rope: divisors come before the other kinds of scaling") {
  RopeSpec rope;
  rope.dimensions = 4;
  rope.base = 100;
  rope.scaling = RopeScaling::linear;
  rope.factor = 8;
  const std::vector<double> frequencies = rope_frequencies(rope, std::vector<double>{1, 5});
  CHECK(frequencies[0] == 0.125);
  CHECK(frequencies[1] == doctest::Approx(0.1 / 40));
}
