// SPDX-License-Identifier: MIT
/// Walks all pairs of options of a command: in a run with both, each has its effect, or the pair is
/// refused.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness.hpp"

namespace hiptool::cli::testing {

using Words = std::vector<std::string>;

/// One use of an option, and what a run needs so that it shows.
struct OptionProbe {
  std::string name;  ///< "--kv-type"
  Words words;       ///< of its use: "--kv-type", "q8_0"; empty: the name alone
  /// The options that it depends on, as words; each element is another choice.
  std::vector<std::vector<Words>> contexts = {};
  /// Words that replace those of the base, where its effect shows only there: another model.
  Words base = {};
  /// Its use there, if it differs.
  Words words_there = {};
};

/// Words of every run that says nothing else, so that it is small.
struct UsualWords {
  Words words;                      ///< "--samples", "1"
  std::vector<std::string> unless;  ///< options that they exclude
};

struct PairWalk {
  Words base;  ///< "load", "model"
  std::vector<OptionProbe> probes;
  /// Before each run: removes what an earlier one wrote.
  std::function<void()> prepare;
  std::filesystem::path outputs;  ///< the folder of what runs write, a part of their effect
  /// Before the first run: makes the inputs by runs of the program.
  std::function<void()> make_inputs = {};
  /// Options of the command that no walk has, each with the reason.
  std::map<std::string, std::string> left_out = {};
  /// "--a --b" of pairs in which an effect cannot be seen from outside, with the reason.
  std::map<std::string, std::string> unseen = {};
  std::vector<UsualWords> usual = {};
  std::string measured = {};  ///< names of more fields that differ from run to run, a regex
  Variables variables = {};   ///< of every run
};

/// A folder of inputs, and one of outputs that each run finds with a foreign file only.
class PairFiles {
 public:
  PairFiles();
  std::string input(const std::string& name) const { return (in_ / name).string(); }
  std::string output(const std::string& name) const { return (out_ / name).string(); }
  PairWalk walk(Words base, std::vector<OptionProbe> probes) const;

 private:
  void prepare() const;

  TemporaryFolder folder_;
  std::filesystem::path in_ = folder_.path() / "in";
  std::filesystem::path out_ = folder_.path() / "out";
};

/// Makes an input; requires exit code 0.
void run_first(const Words& words);

/// Reports each option without effect as a failed check.
void check_walk(const PairWalk& walk);

// Each declares a walk, and makes no input that takes a run of the program.
PairWalk load_walk(const PairFiles& files);
PairWalk prove_walk(const PairFiles& files);
PairWalk inspect_walk(const PairFiles& files);
PairWalk make_model_walk(const PairFiles& files);
PairWalk compare_walk(const PairFiles& files);
PairWalk merge_walk(const PairFiles& files);
PairWalk bench_copy_walk(const PairFiles& files);
PairWalk devices_walk(const PairFiles& files);
PairWalk check_command_walk(const PairFiles& files);
PairWalk operation_walk(const PairFiles& files);
PairWalk product_walk(const PairFiles& files);
PairWalk kernel_list_walk(const PairFiles& files);
PairWalk module_walk(const PairFiles& files);

}  // namespace hiptool::cli::testing
