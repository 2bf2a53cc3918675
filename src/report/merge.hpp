// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/run_file.hpp"

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
  const ReportFile* file = nullptr;
  const Measurement* measured = nullptr;
  double value = 0;           ///< in MergedGroup::unit
  double deviation = 0;       ///< from the group's median, -0.1: 10 % less
  double z = 0;               ///< modified z score
  bool is_straggler = false;  ///< far from the median, on either side
  bool is_slow = false;       ///< a straggler with a lower rate or a longer time than the median
  Blame blame;                ///< of a straggler
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
  bool can_tell() const { return members.size() >= least_members_to_tell; }
};

struct SkippedFile {
  std::string path;
  std::string reason;
  bool is_unreadable = false;  ///< missing, damaged or of a kind that holds no measurements
};

struct Merge {
  std::vector<ReportFile> files;
  std::vector<ReportFile> failed_runs;  ///< runs that did not pass and measured nothing
  std::vector<SkippedFile> skipped;
  std::vector<MergedGroup> groups;
  std::vector<MergedMember> failures;  ///< measurements that failed or gave wrong data

  /// False where no measurement was made twice, so that nothing could be compared.
  bool has_common() const;
};

/// Name of the host that wrote the file, or the file's path where it does not say.
std::string host_of(const ReportFile& file);

/// Marks none in a group that cannot tell. Else marks those that lie at least 5 % from the median
/// and, among five or more, have a modified z score beyond 3.5 (Iglewicz and Hoaglin 1993), and
/// says who is to blame: for pairs of devices the one whose row or column is slow as a whole, else
/// the link.
void find_stragglers(MergedGroup& group);

/// Reads what can be read. A file that cannot, is the copy of another or measured nothing is named
/// in `skipped`. `read` gives the document of a path, of which no more than one is kept at a time.
/// Throws Error(input_failed) if none is left, failed runs included.
Merge merge_reports(const std::vector<std::string>& paths,
                    const std::function<Object(const std::string&)>& read);

}  // namespace hiptool::report
