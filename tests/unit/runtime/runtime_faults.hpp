// SPDX-License-Identifier: MIT
/// Calls of the runtime that fail, one after the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hip/abi.hpp"
#include "hiptool/load.hpp"
#include "support.hpp"
#include "unit/load/watched_device.hpp"
#include "unit/model_writer/sample_models.hpp"

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

enum class Sample { few, usual };

/// The first call of a kind, one by chance and the last one; only that by chance of a few, and on
/// devices that the environment names; with RELEASE=1 in the environment all calls. How often work
/// is asked whether it is done depends on its time, so only the first such call is certain.
inline std::vector<std::uint64_t> calls_to_fail(std::string_view call, std::uint64_t count,
                                                Sample sample = Sample::usual) {
  std::mt19937_64 random(count);
  std::set<std::uint64_t> chosen{call.ends_with("Query") ? 1 : 1 + random() % count};
  if (sample == Sample::usual && std::getenv("HIPTOOL_TEST_DEVICE") == nullptr) {
    if (test::is_sanitized) chosen.clear();
    chosen.insert({1, count});
  }
  // The second step has few calls, of which the last launch is one. How many launches and copies
  // there are depends on the time too, which chooses the pieces of a prompt: the first is certain.
  if (call == "hipModuleLaunchKernel") chosen.insert({1, count});
  if (call == "hipMemcpyAsync") chosen.insert(1);
  const bool is_all = std::getenv("RELEASE") != nullptr;
  for (std::uint64_t nth = 1; is_all && nth <= count; ++nth) chosen.insert(nth);
  return {chosen.begin(), chosen.end()};
}

inline std::map<std::string, std::uint64_t> calls_of(const WrapperTable& table) {
  std::map<std::string, std::uint64_t> counts;
  hip::Api::for_each([&](auto, std::string_view name, hip::Need) {
    if (const std::uint64_t count = table.count(name); count > 0) counts[std::string(name)] = count;
  });
  counts.erase("hipGetErrorName");  // give texts only
  counts.erase("hipGetErrorString");
  return counts;
}

}  // namespace hiptool::test
