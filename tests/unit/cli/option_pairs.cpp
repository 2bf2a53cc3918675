// SPDX-License-Identifier: MIT
#include "option_pairs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace hiptool::cli::testing {
namespace {

using nlohmann::json;

/// Keeps of documents what does not differ from run to run.
class Unmeasured {
 public:
  explicit Unmeasured(const std::string& others)
      : names_(
            ".*_s|.*_per_s|.*_at|.*_free_bytes|share_of.*|host|shown|context|limit.*|cv|latency.*|"
            "memory_context|overlap|mode|split|kv_type|seed|verdict_time.*|pid|sensors|"
            "cached_bytes"),
        others_(others) {}

  std::string of(const std::string& text) {
    json document = json::parse(text, nullptr, false);
    if (document.is_discarded()) return text;
    if (document.contains("traceEvents")) return "a trace";
    drop_measured(document);
    return document.dump();
  }

 private:
  enum class Kind { kept, measured, left_out };

  // An expression is slow to match, and documents have the same names again and again.
  Kind kind_of(const std::string& name) {
    const auto found = kinds_.find(name);
    if (found != kinds_.end()) return found->second;
    const Kind kind = std::regex_match(name, others_)  ? Kind::left_out
                      : std::regex_match(name, names_) ? Kind::measured
                                                       : Kind::kept;
    kinds_.emplace(name, kind);
    return kind;
  }

  void drop_measured(json& value) {
    if (value.is_array()) {
      for (json& element : value) drop_measured(element);
    }
    if (!value.is_object()) return;
    // Of samples it is only seen whether there are one, two or more: a time limit decides on more.
    constexpr std::size_t most_counted = 3;
    json kept = json::object();
    for (auto& [key, member] : value.items()) {
      const Kind kind = kind_of(key);
      if (kind == Kind::left_out) continue;
      if (key == "direct_bytes" && member.is_number()) {
        kept[key] = member > 0;
      } else if (kind == Kind::kept || member.is_null()) {
        drop_measured(member);
        kept[key] = std::move(member);
      } else if (member.is_array()) {
        kept[key] = std::min(member.size(), most_counted);
      }
    }
    value = std::move(kept);
  }

  std::regex names_;
  std::regex others_;
  std::map<std::string, Kind> kinds_;
};

/// A machine without GPUs, whatever this one has.
const std::filesystem::path& root_without_gpus() {
  static const test::TemporaryFolder folder;
  static const std::filesystem::path root = [] {
    std::filesystem::create_symlink("/proc", folder / "proc");
    return std::filesystem::path(folder.path());
  }();
  return root;
}

struct PairCounts {
  std::size_t walked = 0;
  std::size_t refused = 0;
  std::size_t seen = 0;
  std::size_t runs = 0;
};

std::string first_difference(const std::string& one, const std::string& two) {
  if (one == two) return {};
  const auto [at, ignored] = std::mismatch(one.begin(), one.end(), two.begin(), two.end());
  const auto offset = static_cast<std::size_t>(at - one.begin());
  const std::size_t start = offset < 60 ? 0 : offset - 60;
  return one.substr(start, 120) + "\n" + two.substr(start, 120);
}

/// The options of a run, each with its words, without repeats.
using Parts = std::vector<Words>;

void add_part(const Words& part, Parts& parts) {
  const bool is_there = std::any_of(parts.begin(), parts.end(), [&](const Words& other) {
    return other.front() == part.front();
  });
  if (!is_there) parts.push_back(part);
}

Words words_of(const OptionProbe& probe) {
  return probe.words.empty() ? Words{probe.name} : probe.words;
}

class Walker {
 public:
  explicit Walker(const PairWalk& walk) : walk_(walk), unmeasured_(walk.measured) {}

  void walk(const OptionProbe& one, const OptionProbe& two) {
    ++counts.walked;
    const std::vector<std::vector<Words>> none{{}};
    for (const auto& first : one.contexts.empty() ? none : one.contexts) {
      for (const auto& second : two.contexts.empty() ? none : two.contexts) {
        Parts parts;
        add_part(words_of(one), parts);
        add_part(words_of(two), parts);
        for (const Words& part : first) add_part(part, parts);
        for (const Words& part : second) add_part(part, parts);
        if (result_of(walk_.base, parts).exit_code == 2) continue;
        ++counts.seen;
        check_effect(one, parts, one.name + " " + two.name);
        check_effect(two, parts, one.name + " " + two.name);
        return;
      }
    }
    ++counts.refused;
  }

  /// A probe by itself: it is accepted, has an effect, and the same one twice.
  void walk_one(const OptionProbe& probe) {
    for (const auto& context :
         probe.contexts.empty() ? std::vector<std::vector<Words>>{{}} : probe.contexts) {
      Parts parts;
      add_part(words_of(probe), parts);
      for (const Words& part : context) add_part(part, parts);
      const Result& result = result_of(walk_.base, parts);
      CHECK_MESSAGE(result.exit_code != 2, probe.name, ": ", result.error);
      if (result.exit_code == 2) continue;
      const std::string difference =
          first_difference(run(walk_.base, with_usual(parts)).signature, result.signature);
      CHECK_MESSAGE(difference.empty(), probe.name, " differs from run to run: ", difference);
      check_effect(probe, parts, probe.name);
    }
  }

  PairCounts counts;

 private:
  struct Result {
    int exit_code = 0;
    std::string signature;
    std::string error;
  };

  void check_effect(const OptionProbe& probe, Parts parts, const std::string& pair) {
    const Words& base = probe.base.empty() ? walk_.base : probe.base;
    Parts without = parts;
    const auto is_its = [&](const Words& part) { return part.front() == words_of(probe).front(); };
    std::erase_if(without, is_its);
    if (!probe.words_there.empty()) {
      *std::find_if(parts.begin(), parts.end(), is_its) = probe.words_there;
    }
    const Result& with = result_of(base, parts);
    const Result& other = result_of(base, without);
    if (with.signature != other.signature) return;
    if (walk_.unseen.contains(pair)) return;
    FAIL_CHECK(walk_.base.front() << " " << pair << ": " << probe.name
                                  << " is accepted and has no effect; exit " << with.exit_code
                                  << " " << with.error);
  }

  Parts with_usual(Parts parts) const {
    const auto has = [&](const std::string& name) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const Words& part) { return part.front() == name; });
    };
    for (const UsualWords& usual : walk_.usual) {
      if (std::none_of(usual.unless.begin(), usual.unless.end(), has)) add_part(usual.words, parts);
    }
    return parts;
  }

  const Result& result_of(const Words& base, const Parts& parts) {
    Parts sorted = with_usual(parts);
    std::sort(sorted.begin(), sorted.end());
    const auto key = std::pair(base, sorted);
    const auto found = results_.find(key);
    if (found != results_.end()) return found->second;
    return results_.emplace(key, run(base, sorted)).first->second;
  }

  Result run(const Words& base, const Parts& parts) {
    ++counts.runs;
    if (walk_.prepare) walk_.prepare();
    Machine machine;
    machine.system_root = root_without_gpus();
    for (const auto& [name, value] : walk_.variables) machine.variables[name] = value;
    Words words = base;
    bool has_format = false;
    for (const Words& part : parts) {
      words.insert(words.end(), part.begin(), part.end());
      has_format = has_format || part.front() == "--format";
    }
    if (!has_format && base.front() != "make-model")
      words.insert(words.end(), {"--format", "json"});
    Result result;
    result.exit_code = machine.run(words);
    result.error = machine.err.text.substr(0, 300);
    result.signature = std::to_string(result.exit_code) + unmeasured_.of(machine.out.text);
    if (result.exit_code == 2) return result;
    std::map<std::string, std::string> written;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(walk_.outputs)) {
      if (!entry.is_regular_file()) continue;
      written[entry.path().filename().string()] = unmeasured_.of(start_of(entry.path().string()));
    }
    for (const auto& [name, text] : written) result.signature += "\n" + name + ": " + text;
    return result;
  }

  const PairWalk& walk_;
  Unmeasured unmeasured_;
  std::map<std::pair<Words, Parts>, Result> results_;
};

PairCounts walk_pairs(const PairWalk& walk) {
  Walker walker(walk);
  for (const OptionProbe& probe : walk.probes) walker.walk_one(probe);
  for (std::size_t i = 0; i < walk.probes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) walker.walk(walk.probes[j], walk.probes[i]);
  }
  return walker.counts;
}

}  // namespace

PairFiles::PairFiles() {
  std::filesystem::create_directories(in_);
  prepare();
}

// A folder that is made again takes a file system longer than one that is cleared.
void PairFiles::prepare() const {
  const std::filesystem::path foreign = out_ / "foreign";
  std::filesystem::create_directories(out_);
  for (const auto& entry : std::filesystem::directory_iterator(out_)) {
    if (entry.path() != foreign) std::filesystem::remove_all(entry.path());
  }
  if (start_of(foreign.string()) != "notes") std::ofstream(foreign) << "notes";
}

PairWalk PairFiles::walk(Words base, std::vector<OptionProbe> probes) const {
  return {std::move(base), std::move(probes), [this] { prepare(); }, out_};
}

void run_first(const Words& words) {
  Machine machine;
  machine.system_root = root_without_gpus();
  const int exit_code = machine.run(words);
  REQUIRE_MESSAGE(exit_code == 0, machine.err.text);
}

void check_walk(const PairWalk& walk) {
  if (walk.make_inputs) walk.make_inputs();
  const PairCounts counts = walk_pairs(walk);
  MESSAGE(walk.base.front(), ": ", counts.walked, " pairs, ", counts.refused, " refused, ",
          counts.seen, " with both effects seen, ", counts.runs, " runs");
  CHECK(counts.walked == walk.probes.size() * (walk.probes.size() - 1) / 2);
  CHECK(counts.refused + counts.seen == counts.walked);
}

}  // namespace hiptool::cli::testing
