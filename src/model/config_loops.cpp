// SPDX-License-Identifier: MIT
// Some models run their layers several times for a token, with keys and values of their own each
// time.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/contains.hpp"
#include "model/config_reader.hpp"

namespace hiptool::model {
namespace {

// Every family has a name of its own for the number of runs: total_ut_steps (Ouro), loop_num
// (IQuest-Coder), n_recurrent_loops, loop_num_passes, mean_recurrence (Huginn), num_recur. What is
// left of a name without the words that count is the loop: "loop" of num_loops and max_loops,
// "outer loop" of num_outer_loops. Empty: the name counts no runs.
std::string loop_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> repeating{
      {{"loop", "loop"},
       {"loops", "loop"},
       {"recur", "recur"},
       {"recurrence", "recur"},
       {"recurrences", "recur"},
       {"recursion", "recursion"},
       {"recursions", "recursion"},
       {"ut", "ut"},
       {"pass", "pass"},
       {"passes", "pass"},
       {"repeat", "repeat"},
       {"repeats", "repeat"}}};
  constexpr std::array<std::string_view, 9> counting{"n",    "num", "number", "count", "total",
                                                     "mean", "max", "steps",  "times"};
  std::string loop;
  bool repeats = false;
  bool counts = false;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('_', start), name.size());
    std::string_view word = name.substr(start, end - start);
    start = end + 1;
    const auto known = std::find_if(repeating.begin(), repeating.end(),
                                    [word](const auto& one) { return one.first == word; });
    if (known != repeating.end()) {
      repeats = true;
      word = known->second;
    } else if (base::contains(counting, word)) {
      counts = true;
      continue;
    }
    loop.append(loop.empty() ? "" : " ").append(word);
  }
  return repeats && counts ? loop : std::string();
}

// Names of the layers before and after those that repeat, in counts or in indices.
void read_repeated_layers(ConfigReader& config, std::uint64_t layers, LayerLoops& loops) {
  using Names = ConfigReader::Names;
  const auto first =
      config.count(Names{"n_input_layers", "n_layers_in_prelude", "loop_layer_index_start"});
  const auto after = config.count(Names{"n_output_layers", "n_layers_in_coda"});
  const auto end = config.count({"loop_layer_index_end"});
  if (!first || (!after && !end)) return;  // all layers
  loops.first = *first;
  loops.end = end ? *end : layers - std::min(layers, *after);
}

}  // namespace

LayerLoops read_loops(ConfigReader& config, std::uint64_t layers) {
  LayerLoops loops;
  // A usual and a largest number of runs are of one loop; different loops may nest.
  std::map<std::string, std::uint64_t> runs_of;
  for (const std::string& name : config.names()) {
    const std::string loop = loop_of(name);
    if (loop.empty()) continue;
    const std::uint64_t runs = config.count({name.c_str()}, most_runs).value_or(1);
    std::uint64_t& most = runs_of.try_emplace(loop, 1).first->second;
    most = std::max(most, runs);
  }
  for (const auto& [loop, runs] : runs_of) loops.runs = std::min(most_runs, loops.runs * runs);
  // configuration_hrm_text.py of transformers: num_hidden_layers already counts each run where the
  // number of layers is another field.
  const auto slow = config.count({"H_cycles"}, most_runs);
  const auto fast = config.count({"L_cycles"}, most_runs);
  if (slow && fast && config.find({"num_layers_per_stack"}) == nullptr) {
    loops.runs = std::min(most_runs, loops.runs * std::max<std::uint64_t>(*slow, 1) * (*fast + 1));
  }
  // modeling_dory.py of transformers
  if (config.text({"recurrent_kv_cache_mode"}) == "last_loop") loops.runs = 1;
  if (loops.runs > 1) read_repeated_layers(config, layers, loops);
  return loops;
}

}  // namespace hiptool::model
