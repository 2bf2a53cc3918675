// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/reader.hpp"
#include "report/spread.hpp"

namespace hiptool::report {

/// Who is to blame for a straggler: a device, or the link between two.
struct Blame {
  std::string host;
  std::string device;       ///< empty: the link
  std::string source;       ///< of the link
  std::string destination;  ///< of the link
  auto operator<=>(const Blame&) const = default;
};

struct MergedMember {
  const RunFile* file = nullptr;
  const Measurement* measured = nullptr;
  double value = 0;             ///< in MergedGroup::unit
  double best_over_median = 1;  ///< of the speeds of its samples
  double deviation = 0;         ///< from the group's median, -0.1: 10 % less
  double z = 0;                 ///< modified z score
  bool is_slow = false;         ///< a straggler
  Blame blame = {};             ///< of a straggler
};

/// Of two results that differ either may be the odd one; from three on there is a majority.
constexpr std::size_t least_members_to_tell = 3;

/// The same measurement on devices of the same name.
struct MergedGroup {
  std::string label;
  std::string device_name;
  std::string unit;  ///< "bytes_per_s", "flops_per_s", or "s" for what has only a time: a latency
  double median = 0;
  std::vector<MergedMember> members;

  bool is_time() const { return unit == "s"; }
  /// How much worse than the median a value is: 0.5 for half the rate and for twice the time.
  double loss_of(double value) const { return is_time() ? 1 - median / value : 1 - value / median; }
  std::string shown(double number) const;  ///< with its unit
  bool can_tell() const { return members.size() >= least_members_to_tell; }
  /// How far a member may be from the others: 5 %, or run_spread().
  double spread() const;
};

struct SkippedFile {
  std::string path;
  std::string reason;
  bool is_unreadable = false;  ///< missing, damaged or of a kind that holds no measurements
  std::string hint = {};       ///< the next thing to try; may be empty

  /// The reason, with the path unless the reason names it.
  std::string text() const {
    return reason.find(path) != std::string::npos ? reason : path + ": " + reason;
  }
};

/// All stragglers that are to blame on one device or link.
struct Culprit {
  Blame blame;
  std::uint64_t measurements = 0;
  const MergedGroup* worst_group = nullptr;  ///< of the measurement that lost most
  double worst_value = 0;                    ///< in its unit
  double worst_loss = 0;
  double worst_deviation = 0;
  bool is_time = false;  ///< the deviation is one of a time
};

/// A finding that runs of several hosts made on the same place of each, such as the same slot.
struct SharedFinding {
  Failure failure;                 ///< of the first of them
  std::vector<std::string> hosts;  ///< in natural order, each once
  bool is_on_all = false;          ///< all hosts that ran the command; then it is systematic
};

/// A measurement that one host made at several times.
struct Trend {
  std::string host;
  std::string id;
  std::string unit;
  std::size_t runs = 0;
  std::string first_at;  ///< "2026-03-01T12:00:00Z"
  std::string last_at;
  double usual = 0;  ///< the median of all but the last
  double last = 0;
  double change = 0;  ///< of the last from the usual: -0.1 of a rate is a loss, 0.1 of a time
  double spread = steady_spread;  ///< run_spread() over its runs

  bool is_time() const { return unit == "s"; }
  /// How much slower the slower one of `usual` and `last` is: 0.5 for half the rate, twice the
  /// time.
  double difference() const;
  /// Whether it is worth showing to people.
  bool is_notable() const { return difference() >= spread; }
  bool is_worse() const { return is_time() ? change > 0 : change < 0; }
};

struct Merge {
  std::vector<RunFile> files;
  std::vector<RunFile> failed_runs;  ///< runs that did not pass and measured nothing
  std::vector<SkippedFile> skipped;
  std::vector<MergedGroup> groups;
  std::vector<MergedMember> failures;  ///< measurements that failed or gave wrong data

  /// False where no measurement was made twice, so that nothing could be compared.
  bool has_common() const;
  std::size_t count_hosts() const;
  std::size_t count_unreadable() const;
  /// That of all unreadable files, if they have the same; else `usual`.
  std::string hint_or(std::string usual) const;
  /// The worst first.
  std::vector<Culprit> culprits() const;
  /// Runs that did not pass and of which no measurement is among the failures.
  std::vector<const RunFile*> unexplained_runs() const;
  /// Findings of runs that did not pass which several hosts share; findings of most hosts first.
  std::vector<SharedFinding> shared_findings() const;
  /// One for each measurement that a host made in runs of different times; the greatest loss first.
  std::vector<Trend> trends() const;
  /// Hosts with a straggler, a failed measurement or a failed run, each once, in natural
  /// order. Those without a name that a command takes are not among them.
  std::vector<std::string> excluded_hosts() const;
  /// host_of() of those that are not among them, each once.
  std::vector<std::string> unnamed_hosts() const;
  /// Error(input_failed) if there are unreadable files.
  std::optional<Error> error() const;
  /// Why the merge fails: stragglers, failed measurements, runs that did not pass, or no
  /// measurement made twice.
  std::vector<Failure> run_failures() const;

 private:
  /// Each file with a straggler, a failed measurement or a failed run.
  std::vector<const RunFile*> bad_files() const;
};

/// What a measurement is compared by: its rate, or where it has none its time.
struct MergedFigure {
  const char* unit = "";  ///< as in MergedGroup
  double value = 0;
};
std::optional<MergedFigure> figure_of(const Measurement& measured);

/// Exit code or status of a run that did not pass, and its error or first failure with its code.
std::string reason_of(const Run& run);

/// What the run itself says of a measurement that failed; null where it says nothing.
const Failure* own_failure(const MergedMember& member);

/// "nvidia:0", or "nvidia:0 to nvidia:1".
std::string place_text(const Blame& blame);

/// The fields of the document that say where a member was measured.
Object member_head(const MergedMember& member);

/// Name of the host that wrote the file, or the file's path where it does not say.
std::string host_of(const RunFile& file);

/// Marks none in a group that cannot tell. Else marks the slow ones by the rule of
/// base::find_slow() with MergedGroup::spread(), and says who is to blame: for
/// pairs of devices the one whose row or column is slow as a whole, else the link.
void find_stragglers(MergedGroup& group);

/// Reads what can be read. A file that cannot, is the copy of another or measured nothing is named
/// in `skipped`. `read` gives the document of a path, of which no more than one is kept at a time.
/// Throws Error(input_failed) if none is left, failed runs included.
Merge merge_runs(const std::vector<std::string>& paths,
                 const std::function<Object(const std::string&)>& read);

}  // namespace hiptool::report
