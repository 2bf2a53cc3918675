// SPDX-License-Identifier: MIT
#include "measure/size_words.hpp"

#include <doctest/doctest.h>

using namespace hiptool::measure;

TEST_CASE("a size is meant in every form that --size takes") {
  for (const char* part : {"256MiB", "256M", "0.25GiB", "262144K", "268435456"}) {
    CAPTURE(part);
    CHECK(means_size(part, "256MiB"));
    CHECK(is_size(part));
  }
  CHECK(means_size("1MB", "1000000B"));
  CHECK(means_size("90%", "90%"));
  CHECK(is_size("90%"));
  for (const char* part : {"256MB", "", "h2d", "256", "MiB", "90%"}) {
    CAPTURE(part);
    CHECK_FALSE(means_size(part, "256MiB"));
  }
  CHECK_FALSE(means_size("", ""));
  CHECK_FALSE(means_size("4K", ""));
  for (const char* part : {"", "h2d", "%", "-1", "nvidia:0", "99999999999999999999"}) {
    CAPTURE(part);
    CHECK_FALSE(is_size(part));
  }
}
