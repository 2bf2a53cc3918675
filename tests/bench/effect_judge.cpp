// SPDX-License-Identifier: MIT
// The verdicts of `--effect auto --against` about medians of processes, for effect_trial.py. Each
// line of the input has the times of the old processes, a semicolon and those of the new ones.
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/process_times.hpp"

using namespace hiptool::base;

namespace {

std::vector<double> times_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> times;
  for (double time = 0; words >> time;) times.push_back(time);
  return times;
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::faster: return "faster";
    case Verdict::slower: return "slower";
    case Verdict::ambiguous: break;
  }
  return "ambiguous";
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t middle = line.find(';');
    if (middle == std::string::npos) return 2;
    const std::vector<double> before = times_of(line.substr(0, middle));
    const std::vector<double> after = times_of(line.substr(middle + 1));
    if (before.size() < 2 || after.size() < 2) return 2;
    const ProcessComparison found =
        compare_processes(before, after, std::nullopt, ProcessOrder::alternating);
    std::cout << name_of(found.times.verdict) << '\n';
  }
}
