// SPDX-License-Identifier: MIT
/// The rates that `check --expect` demands of each kind of GPU, and how many GPUs a machine has.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "report/measurement.hpp"
#include "report/spread.hpp"
#include "report/tree.hpp"

namespace hiptool::accept {

/// The least rate of a measurement. Exactly one of the figures is set.
struct Expectation {
  std::optional<double> bytes_per_s;
  std::optional<double> flops_per_s;
  std::optional<double> most_s;  ///< of a latency, which has no rate
  std::size_t devices = 1;       ///< that take part at once
  double spread = 0;             ///< of the repeats that it was written from; 0.1: 10 %
};

/// How many GPUs a machine has, by their name.
using GpuCounts = std::map<std::string, std::size_t>;

/// The key of a measurement in a file: the name of its GPU; of GPUs of several kinds "A > B" for a
/// copy from one to the other and "A + B" for all at once, in whatever order they are. `name_of`
/// gives the name of a device's id.
std::string expectation_key(const report::Measurement& measured,
                            const std::function<std::string(const std::string&)>& name_of);

/// Expectations by expectation_key() ("NVIDIA H200") and the label of the measurement
/// ("h2d.pinned.copy.64MiB").
struct Expectations {
  std::string path;
  std::string level;  ///< of the run that they come from
  std::map<std::string, std::map<std::string, Expectation>> of_kind;
  std::vector<GpuCounts> machines;  ///< one of which must be matched; empty: any number of GPUs

  /// Throws Error(invalid_argument) that names the kind of GPU.
  const std::map<std::string, Expectation>& of(const std::string& device_name) const;
  /// Null where the file does not have the key.
  const std::map<std::string, Expectation>* find(const std::string& key) const;
};

/// Reads a file of write_expectations(). Throws as base::read_input_file(), Error(corrupt_data) for
/// text that is not JSON, Error(invalid_argument) with the field for wrong values and for
/// measurements that no level of check makes.
Expectations read_expectations(const std::filesystem::path& path, const CancelToken* cancel);

/// A measurement with its expectation_key().
struct RatedMeasurement {
  const report::Measurement* measured = nullptr;
  std::string key;
};

/// What the file says besides rates.
struct ExpectationHead {
  std::string level;
  double margin = report::steady_spread;  ///< 0.05: 5 %
  std::size_t repeats = 1;                ///< of each measurement
  std::string written_at;
};

/// The text of a file with the expectations of these measurements, which may hold several repeats:
/// the lowest rate of each kind of GPU less the margin, or less the spread of the repeats of one
/// device where that is larger; the longest time more that. Of short calls the margin is that of
/// report::run_spread(). `machine` is left out if it is empty.
std::string expectations_text(const std::vector<RatedMeasurement>& measurements,
                              const GpuCounts& machine, const ExpectationHead& head);

/// GPUs of one kind.
struct CountedGpus {
  std::string name;
  std::size_t expected = 0;
  std::size_t found = 0;
};

/// The kinds of the expected machine that comes nearest to this one, which is the first with at
/// least as many GPUs of each kind. Empty where the file expects no number.
std::vector<CountedGpus> compare_counts(const Expectations& expectations, const GpuCounts& found);

/// How a file's expectations and the measurements of this run compare.
struct ExpectationResults {
  std::size_t judged = 0;
  std::vector<std::string> not_measured;  ///< "NVIDIA H200: memtest-walking.u32": at this level
  std::vector<CountedGpus> gpus;          ///< empty: their number was not compared
  std::string why_not_counted;            ///< "2 of 4 NVIDIA H200, ..."; empty: nothing to say
};

/// The stage that makes a measurement of that label.
std::string stage_of_label(const std::string& label);

/// Whether the expectation of that label is for the measurement: of the same label, or of 64 MiB
/// for a copy of 256 MiB, which is no slower; files of 0.2.0 have these.
bool is_for(const std::string& label, const report::Measurement& measured);

/// Whether a measurement has the figure that the expectation is of: a rate of bytes, say.
bool is_comparable(const Expectation& expectation, const report::Measurement& measured);

/// Whether a comparable measurement meets an expectation.
bool meets(const Expectation& expectation, const report::Measurement& measured);

/// How far below the expectation a comparable one is; 0.1: 10 %.
double shortfall_of(const Expectation& expectation, const report::Measurement& measured);

/// "12.1 GB/s", "50.1 TFLOP/s" or "4.1 us": the figure of a measurement that an expectation would
/// be for; empty without one.
std::string figure_text(const report::Measurement& measured);
std::string figure_text(const Expectation& expectation);

/// The value by which measurements are judged, larger is better: bytes or operations per second, or
/// the inverse of a time. Absent if there is none.
std::optional<double> speed_of(const report::Measurement& measured);

}  // namespace hiptool::accept
