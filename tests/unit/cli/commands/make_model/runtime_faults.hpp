// SPDX-License-Identifier: MIT
/// Calls of the runtime that fail, one after the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hip/abi.hpp"
#include "hiptool/load.hpp"
#include "support.hpp"
#include "unit/cli/commands/make_model/sample_models.hpp"
#include "unit/load/watched_device.hpp"

namespace hiptool::test {

/// A model on a device whose calls can be made to fail. F16 norms are converted by the runtime.
struct WatchedSample {
  TemporaryFolder folder;
  ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::llama3, 0, false}, {"F16"});
  DecoderSpec spec = DecoderSpec::read(model);
  WatchedDevice watched;
  WrapperTable& table = watched.table;
  LoadedModel loaded = load_model(model, watched.device);
  LiveCounts before = table.live();

  bool is_nothing_left() const { return (table.live() - before).is_empty(); }
};

inline const std::set<std::string> harmless_calls{
    "hipFree",         "hipHostFree",     "hipHostUnregister",  "hipStreamDestroy",
    "hipEventDestroy", "hipModuleUnload", "hipFuncGetAttribute"};

/// The first calls of a kind, the middle and the last one; fewer where each takes seconds.
inline std::vector<std::uint64_t> calls_to_fail(std::uint64_t count) {
  if (test::is_sanitized && count > 2) return {1, count};
  std::vector<std::uint64_t> all;
  for (std::uint64_t nth = 1; nth <= std::min<std::uint64_t>(count, 5); ++nth) all.push_back(nth);
  if (count > 10) all.insert(all.end(), {count / 2, count});
  return all;
}

inline std::map<std::string, std::uint64_t> calls_of(const WrapperTable& table) {
  std::map<std::string, std::uint64_t> counts;
  hip::for_each_call([&](auto, std::string_view name, hip::Need) {
    if (const std::uint64_t count = table.count(name); count > 0) counts[std::string(name)] = count;
  });
  counts.erase("hipGetErrorName");  // give texts only
  counts.erase("hipGetErrorString");
  return counts;
}

}  // namespace hiptool::test
