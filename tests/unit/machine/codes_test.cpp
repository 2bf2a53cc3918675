// SPDX-License-Identifier: MIT
#include "machine/codes.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "machine/doctor/doctor.hpp"
#include "machine/kernel_events.hpp"
#include "machine/xids.hpp"

using namespace hiptool::machine;

namespace {

/// The codes that were ever published and their class of action; "retired" of those that no finding
/// has any more.
std::map<std::string, std::string> published_codes() {
  std::map<std::string, std::string> codes;
  std::ifstream file(CODES_FILE);
  for (std::string code, action; file >> code >> action;) codes.emplace(code, action);
  return codes;
}

}  // namespace

TEST_CASE("codes: each once, in the form of a code, with all texts") {
  std::set<std::string> seen;
  for (const CodeInfo& code : all_codes()) {
    CAPTURE(code.code);
    CHECK(seen.insert(code.code).second);
    CHECK(code.code.starts_with("HT-"));
    CHECK(code.code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") ==
          std::string::npos);
    for (const std::string* text : {&code.title, &code.meaning, &code.advice}) {
      CHECK_FALSE(text->empty());
    }
    CHECK(code.meaning.ends_with("."));
    CHECK(code.advice.size() > 10);
    CHECK(find_code(code.code) == &code);
    CHECK(action_class_of(code.code) == to_string(code.action));
  }
  CHECK(find_code("HT-NOTHING") == nullptr);
  CHECK(action_class_of("HT-NOTHING").empty());
}

TEST_CASE("codes: those that were published stay, with their class; new ones are in the list") {
  const auto published = published_codes();
  REQUIRE(published.size() > 200);
  std::map<std::string, std::string> now;
  for (const CodeInfo& code : all_codes()) now[code.code] = std::string(to_string(code.action));
  for (const auto& one : published) {
    CAPTURE(one.first);
    if (one.second == "retired") {
      CHECK(now.count(one.first) == 0);
    } else {
      REQUIRE(now.count(one.first) == 1);
      CHECK(now[one.first] == one.second);
    }
  }
  for (const auto& one : now) {
    CAPTURE(one.first);
    CHECK(published.count(one.first) == 1);
  }
}

TEST_CASE("codes: every check of the doctor that may warn or fail has one") {
  // Those that have several set them, and one for each event.
  const std::set<std::string_view> with_several{"ecc", "xid", "reset"};
  for (const std::string_view id : check_ids()) {
    CAPTURE(id);
    CHECK(code_of_check(id).empty() == (with_several.count(id) > 0));
  }
  CHECK(code_of_check("link-down") == codes::link_down);
}

TEST_CASE("xids: NVIDIA's catalogue has every number from 1 to 172") {
  int number = 0;
  for (const Xid& xid : all_xids()) CHECK(xid.number == ++number);
  CHECK(number == 172);
  // The actions of some that the catalogue names: RESTART_BM, RESET_GPU, RESTART_APP, IGNORE.
  CHECK(find_xid(79)->action == Action::reboot);
  for (const int reset : {46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158}) {
    CAPTURE(reset);
    CHECK(find_xid(reset)->action == Action::reset_gpu);
  }
  for (const int restart : {8, 13, 31, 69, 94}) {
    CAPTURE(restart);
    CHECK(find_xid(restart)->action == Action::retry);
  }
  for (const int ignored : {37, 43, 44, 63, 92, 121, 137}) {
    CAPTURE(ignored);
    CHECK(find_xid(ignored)->action == Action::none);
  }
  CHECK(find_xid(173) == nullptr);
  CHECK(code_of_xid(173) == codes::xid_unknown);
  CHECK(code_of_xid(79) == "HT-XID-79");
}

TEST_CASE("kernel events: messages as the drivers write them") {
  const auto xid = find_event(
      "NVRM: Xid (PCI:0000:c1:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double");
  REQUIRE(xid);
  CHECK(xid->xid == 48);
  CHECK(xid->bus_id == "0000:c1:00.0");
  CHECK(xid->code == "HT-XID-48");
  const auto old = find_event("NVRM: Xid (0000:03:00): 14, Channel 00000001");
  REQUIRE(old);
  CHECK(old->bus_id == "0000:03:00.0");
  const std::map<std::string, std::string> messages{
      {"amdgpu 0000:c1:00.0: amdgpu: socket: 4, die: 0 1 correctable hardware errors detected in "
       "total in gfx block, no user action is needed.",
       "HT-AMDGPU-CORRECTABLE"},
      {"amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
       "HT-AMDGPU-UNCORRECTABLE"},
      {"amdgpu 0000:c1:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
       "HT-AMDGPU-FATAL"},
      {"amdgpu 0000:c1:00.0: GPU reset begin!", "HT-AMDGPU-RESET"},
      {"amdgpu 0000:c1:00.0: amdgpu: GPU reset(4) failed", "HT-AMDGPU-RESET-FAILED"},
      {"amdgpu 0000:c1:00.0: amdgpu: Mode2 reset failed!", "HT-AMDGPU-RESET-FAILED"},
      {"amdgpu 0000:c1:00.0: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=10",
       "HT-AMDGPU-TIMEOUT"},
      {"[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=3",
       "HT-AMDGPU-TIMEOUT"},
      {"amdgpu 0000:c1:00.0: amdgpu: WARN: GPU is throttled, expect performance decrease. VR.",
       "HT-AMDGPU-THROTTLE"},
      {"amdgpu 0000:c1:00.0: amdgpu: poison is consumed by client 12, kick off gpu reset flow",
       "HT-AMDGPU-POISON"},
      {"amdgpu 0000:c1:00.0: amdgpu: VRAM is lost due to GPU reset!", "HT-AMDGPU-VRAM-LOST"}};
  for (const auto& one : messages) {
    CAPTURE(one.first);
    const auto event = find_event(one.first);
    REQUIRE(event);
    CHECK(event->code == one.second);
    CHECK_FALSE(event->xid);
    CHECK(event->bus_id == (one.first.starts_with("amdgpu 0000") ? "0000:c1:00.0" : ""));
  }
  for (const char* harmless : {"amdgpu 0000:c1:00.0: amdgpu: GPU reset succeeded, trying to resume",
                               "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.159.04",
                               "NVRM: Xid (broken", "usb 1-1: reset failed"}) {
    CAPTURE(harmless);
    CHECK_FALSE(find_event(harmless));
  }
}
