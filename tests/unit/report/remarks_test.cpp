// SPDX-License-Identifier: MIT
#include "report/remarks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hiptool::report;

namespace {

std::vector<std::string> texts_of(const std::vector<Remark>& remarks) {
  std::vector<std::string> texts;
  for (const Line& line : lines_of(remarks)) texts.push_back(line.text);
  return texts;
}

Remark remark(const std::string& id, const std::string& device, const std::string& text) {
  return {Tone::warning, "", id + "@" + device, {device}, text};
}

}  // namespace

TEST_CASE("remarks: those that say the same are one line") {
  CHECK(texts_of({}).empty());
  const Remark gate = remark("h2d", "nvidia:0", "the start gate timed out");
  CHECK(texts_of({gate}) == std::vector<std::string>{"h2d@nvidia:0: the start gate timed out"});
  CHECK(lines_of({gate}).front().tone == Tone::warning);
  CHECK(
      texts_of({gate, remark("d2h", "nvidia:0", gate.text), remark("d2d", "nvidia:0", "other"),
                remark("h2d", "nvidia:1", gate.text)}) ==
      std::vector<std::string>{"h2d@nvidia:0 and 2 more: the start gate timed out (on nvidia:0-1)",
                               "d2d@nvidia:0: other"});
}

TEST_CASE("remarks: figures and their units may differ, words and the lead may not") {
  const std::vector<Remark> clocks{
      remark("a", "nvidia:0", "the host's clock says 1.02 ms, the device's events 980 us"),
      remark("b", "nvidia:0", "the host's clock says 12.5 us, the device's events 11 us"),
      remark("c", "nvidia:0", "the host's clock says 1 024 s, the device's events 3.00 ns")};
  CHECK(texts_of(clocks) ==
        std::vector<std::string>{"a@nvidia:0: the host's clock says 1.02 ms, the device's events "
                                 "980 us; alike in 2 more"});
  CHECK(texts_of({remark("a", "x:0", "5 copies failed"), remark("b", "x:0", "5 copies passed")})
            .size() == 2);
  Remark skipped = remark("a", "x:0", "too large");
  skipped.lead = "skipped ";
  CHECK(texts_of({skipped, remark("a", "x:0", "too large")}) ==
        std::vector<std::string>{"skipped a@x:0: too large", "a@x:0: too large"});
}

TEST_CASE("remarks: of shares only those above the limit") {
  Measurement measured;
  measured.id = "copy@amd:0";
  std::vector<Remark> remarks;
  add_share_remark(measured, remarks);
  measured.share_reason = "the limit is not known";
  add_share_remark(measured, remarks);
  CHECK(remarks.empty());
  measured.share_of_limit = 1.01;
  add_share_remark(measured, remarks);
  measured.share_of_limit.reset();
  measured.is_above_limit = true;
  add_share_remark(measured, remarks);
  CHECK(texts_of(remarks) ==
        std::vector<std::string>{"share above 1: copy@amd:0: the limit is not known",
                                 "no share: copy@amd:0: the limit is not known"});
}
