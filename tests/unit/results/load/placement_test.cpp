// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <doctest/doctest.h>

#include "report/document.hpp"
#include "report/tree.hpp"

using namespace hiptool;
using namespace hiptool::results;

namespace {

// Two devices that a fit found, of which the first was asked for.
LoadOutcome fitted() {
  LoadOutcome outcome;
  outcome.fit.emplace();
  outcome.fit->parts = {{{"amd:0", 8, 4}, 7, 700, 1, 2, 3}, {{"amd:1", 8, 4}, 5, 500, 1, 2, 3}};
  outcome.chosen_devices = 1;
  return outcome;
}

}  // namespace

TEST_CASE("placement: without a driver the devices are those that were asked for") {
  LoadOutcome outcome = fitted();
  CHECK(report::json_text(report::objects_of(devices_table(outcome), "id")) ==
        R"([{"id":"amd:0","tensors":7,"bytes":700,"copy_time_s":null,"copy_bytes_per_s":null}])");
  CHECK(place_text(outcome).empty());
  CHECK(device_lines(outcome).empty());
  outcome.chosen_devices = 3;  // more than the fit has
  CHECK(devices_table(outcome).rows.size() == 2);
}

TEST_CASE("placement: no devices without a plan and a fit") {
  CHECK(report::json_text(report::objects_of(devices_table(LoadOutcome()), "id")) == "[]");
}
