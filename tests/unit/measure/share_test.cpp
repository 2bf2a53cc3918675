// SPDX-License-Identifier: MIT
#include "measure/share.hpp"

#include <doctest/doctest.h>

using namespace hiptool::measure;

TEST_CASE("share: up to what rounding explains; above it there is none, and the reason says why") {
  CHECK(share_of(4e12, 5e12, "the peak", "").value == 0.8);
  CHECK(share_of(5.325e12, 5.3e12, "the peak", "").value);  // MI300X: 5.3 TB/s is 5.325 rounded
  CHECK(share_of(5.325e12, 5.3e12, "the peak", "").missing == "");
  const Share above = share_of(1.03e12, 1e12, "the peak memory bandwidth of 1.00 TB/s", "a cache");
  CHECK_FALSE(above.value);
  CHECK(above.is_above);
  CHECK(above.missing ==
        "the rate is 103 % of the peak memory bandwidth of 1.00 TB/s, which is therefore not its "
        "limit: a cache");
  CHECK(share_of(59.07, 1, "the peak", "").missing ==
        "the rate is 5907 % of the peak, which is therefore not its limit");
}

TEST_CASE("share: data within the L2 cache are a cause, data above it are none") {
  CHECK(cache_cause(2 << 20, 4 << 20) == "the data (2.00 MiB) fit in the L2 cache of 4.00 MiB");
  CHECK(cache_cause(8 << 20, 4 << 20) == "");
  CHECK(cache_cause(1, std::nullopt) == "");
}
