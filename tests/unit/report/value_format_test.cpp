// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "report/report.hpp"

using namespace hiptool::report;

TEST_CASE("values for people carry their unit") {
  CHECK(format_value(std::uint64_t{141'000'000'000}, Unit::size) == "131 GiB");
  CHECK(format_value(52.4e9, Unit::rate) == "52.4 GB/s");
  CHECK(format_value(std::uint64_t{52'400'000'000}, Unit::rate) == "52.4 GB/s");
  CHECK(format_value(0.0873, Unit::duration) == "87.3 ms");
  CHECK(format_value(0.0, Unit::duration) == "0 s");
  CHECK(format_value(0.97, Unit::share) == "97 %");
  CHECK(format_value(std::uint64_t{131072}, Unit::count) == "131 072");
  CHECK(format_value(131072.0, Unit::count) == "131 072");
  CHECK(format_value(2.5, Unit::count) == "2.5");
  CHECK(format_value(std::uint64_t{131072}, Unit::none) == "131072");
}

TEST_CASE("frequencies") {
  CHECK(format_value(1.98e9, Unit::frequency) == "1.98 GHz");
  CHECK(format_value(std::uint64_t{1'980'000'000}, Unit::frequency) == "1.98 GHz");
  CHECK(format_value(2619e6, Unit::frequency) == "2.62 GHz");
  CHECK(format_value(999.9e6, Unit::frequency) == "1.00 GHz");
  CHECK(format_value(32768, Unit::frequency) == "32.8 kHz");
  CHECK(format_value(50, Unit::frequency) == "50 Hz");
  CHECK(format_value(0, Unit::frequency) == "0 Hz");
}

TEST_CASE("values without a unit") {
  CHECK(format_value(true, Unit::none) == "yes");
  CHECK(format_value(false, Unit::none) == "no");
  CHECK(format_value("gfx942", Unit::none) == "gfx942");
  CHECK(format_value("\x1b[2J", Unit::none) == "\\x1B[2J");
  CHECK(format_value(3.0, Unit::none) == "3");
  CHECK(format_value(0.123456789, Unit::none) == "0.123457");
  CHECK(format_value(nullptr, Unit::size) == "–");
  CHECK(format_value(nullptr, Unit::size, false) == "-");
  CHECK(format_value(Value(std::optional<int>()), Unit::none) == "–");
}

TEST_CASE("lists and members stand on one line") {
  CHECK(format_value(Array{4096, 32000}, Unit::none) == "4096, 32000");
  CHECK(format_value(Array{Array{1, 2}, Array{3}}, Unit::none) == "[1, 2], [3]");
  CHECK(format_value(Array{nullptr}, Unit::none, false) == "-");
  CHECK(format_value(Object{{"speed", 5}, {"tracks", Object{{"x\x1b", 1}}}}, Unit::none) ==
        "speed 5, tracks {x\\x1B 1}");
  CHECK(format_value(Array{}, Unit::none).empty());
}

TEST_CASE("huge, negative and impossible numbers") {
  const auto largest = std::numeric_limits<std::uint64_t>::max();
  CHECK(format_value(largest, Unit::none) == "18446744073709551615");
  CHECK(format_value(largest, Unit::count) == "18 446 744 073 709 551 615");
  CHECK(format_value(largest, Unit::size) == "16.0 EiB");
  CHECK(format_value(std::numeric_limits<std::int64_t>::min(), Unit::none) ==
        "-9223372036854775808");
  CHECK(format_value(-2048, Unit::size) == "-2.00 KiB");
  CHECK(format_value(-1.5e9, Unit::rate) == "-1.50 GB/s");
  CHECK(format_value(1e300, Unit::rate) == "1e+300 B/s");
  CHECK(format_value(1e300, Unit::size) == "1e+300 B");
  CHECK(format_value(1e300, Unit::frequency) == "1e+300 Hz");
  CHECK(format_value(60.4e12, Unit::operations) == "60.4 TFLOP/s");
  CHECK(format_value(1.98e15, Unit::operations) == "1.98 PFLOP/s");
  CHECK(format_value(12, Unit::operations) == "12 FLOP/s");
  CHECK(format_value(1e300, Unit::none) == "1e+300");
  CHECK(format_value(std::nan(""), Unit::rate) == "NaN");
  CHECK(format_value(-std::numeric_limits<double>::infinity(), Unit::none) == "-inf");
}

TEST_CASE("shares with a sign") {
  CHECK(signed_share(0.125) == "+12.5 %");
  CHECK(signed_share(-0.5) == "-50.0 %");
  CHECK(signed_share(std::nan("")) == "");
  CHECK(effect_text(0.01234) == "1.23 %");
  CHECK(effect_text(336.2) == "33620 %");
}

TEST_CASE("two values that differ have texts that differ, with no more digits than that needs") {
  using Texts = std::pair<std::string, std::string>;
  // Floats of this size are multiples of 2^-19: the second one is 20 of them further.
  CHECK(distinct_texts(-19.0, -19.0 - 20 / 524288.0, Unit::none) == Texts("-19", "-19.00004"));
  CHECK(distinct_texts(2.5, 2.25, Unit::none) == Texts("2.5", "2.25"));
  CHECK(distinct_texts(0.0, -0.0, Unit::none) == Texts("0", "-0"));
  CHECK(distinct_texts(1.0, std::nextafter(1.0, 2.0), Unit::none) ==
        Texts("1", "1.0000000000000002"));
  const std::uint64_t large = (std::uint64_t{1} << 60) + 1;
  CHECK(distinct_texts(large, large + 1, Unit::size) ==
        Texts("1152921504606846977 B", "1152921504606846978 B"));
  CHECK(distinct_texts(48e9, 47.98e9, Unit::rate) == Texts("48 GB/s", "47.98 GB/s"));
  CHECK(distinct_texts(0.9, 0.8999, Unit::share) == Texts("90 %", "89.99 %"));
  CHECK(distinct_texts(48e9, 41e9, Unit::rate) == Texts("48.0 GB/s", "41.0 GB/s"));
  // Nothing to tell apart.
  CHECK(distinct_texts(2.5, 2.5, Unit::none) == Texts("2.5", "2.5"));
  CHECK(distinct_texts("none", "none", Unit::none) == Texts("none", "none"));
  CHECK(expected_text(2.5, 2.25) == "expected 2.5, got 2.25");
  CHECK(expected_text(1, std::nan("")) == "expected 1, got NaN");
}
