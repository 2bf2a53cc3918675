// SPDX-License-Identifier: MIT
#include "measure/copy/testcases.hpp"

#include <array>

namespace hiptool::measure {
namespace {

using enum CopyKind;

struct Testcase {
  std::string_view name;  // without _ce or _sm where it exists with both
  CopyTemplate what;
};

constexpr CopyTemplate plain(CopyKind kind) {
  return {kind, CopyEngine::copy, false, false, false};
}
constexpr CopyTemplate reading(CopyKind kind) {
  return {kind, CopyEngine::copy, true, false, false};
}
constexpr CopyTemplate latency(CopyKind kind) {
  return {kind, CopyEngine::copy, false, true, false};
}
constexpr CopyTemplate all_both_ways{bidir, CopyEngine::copy, false, false, true};

constexpr std::array by_either_engine{
    Testcase{"host_to_device_memcpy", plain(h2d)},
    Testcase{"device_to_host_memcpy", plain(d2h)},
    Testcase{"host_to_device_bidirectional_memcpy", plain(bidir)},
    Testcase{"device_to_host_bidirectional_memcpy", plain(bidir)},
    Testcase{"device_to_device_memcpy_read", plain(p2p_read)},
    Testcase{"device_to_device_memcpy_write", plain(p2p_write)},
    Testcase{"device_to_device_bidirectional_memcpy_read", reading(p2p_bidir)},
    Testcase{"device_to_device_bidirectional_memcpy_write", plain(p2p_bidir)},
    Testcase{"all_to_host_memcpy", plain(d2h_all)},
    Testcase{"all_to_host_bidirectional_memcpy", all_both_ways},
    Testcase{"host_to_all_memcpy", plain(h2d_all)},
    Testcase{"host_to_all_bidirectional_memcpy", all_both_ways},
    Testcase{"all_to_one_write", plain(all_to_one)},
    Testcase{"all_to_one_read", reading(all_to_one)},
    Testcase{"one_to_all_write", plain(one_to_all)},
    Testcase{"one_to_all_read", reading(one_to_all)},
};

constexpr std::array others{
    Testcase{"host_device_latency_sm", latency(h2d)},
    Testcase{"device_to_device_latency_sm", latency(p2p_write)},
    Testcase{"device_local_copy", plain(d2d)},
};

}  // namespace

std::vector<std::string> testcase_names() {
  std::vector<std::string> names;
  for (const char* engine : {"_ce", "_sm"}) {
    for (const Testcase& test : by_either_engine) names.push_back(std::string(test.name) + engine);
  }
  for (const Testcase& test : others) names.emplace_back(test.name);
  return names;
}

std::vector<CopyTemplate> testcase_templates(std::string_view name) {
  for (const Testcase& test : others) {
    if (test.name == name) return {test.what};
  }
  for (const Testcase& test : by_either_engine) {
    if (name.substr(0, test.name.size()) != test.name) continue;
    const std::string_view engine = name.substr(test.name.size());
    if (engine != "_ce" && engine != "_sm") continue;
    CopyTemplate what = test.what;
    what.engine = engine == "_sm" ? CopyEngine::kernel : CopyEngine::copy;
    return {what};
  }
  return {};
}

}  // namespace hiptool::measure
