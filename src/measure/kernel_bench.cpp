// SPDX-License-Identifier: MIT
#include "measure/kernel_bench.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "base/contains.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "measure/kernel/work.hpp"
#include "measure/ops/operation.hpp"
#include "measure/ops/sweep.hpp"
#include "measure/ops/timed.hpp"
#include "measure/peak.hpp"
#include "measure/sample_series.hpp"
#include "ops/backend_kernels.hpp"
#include "report/report.hpp"

namespace hiptool::measure {
namespace {

// Launches into a longer queue may block the host.
constexpr std::size_t most_repeats = 32;
constexpr double least_sample_s = 0.0005;

void check_options(const KernelBenchOptions& options) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, "run kernels", message);
  };
  for (const std::string& dtype : options.dtypes) {
    const bool is_known = std::ranges::any_of(all_families(), [&](const FamilyEntry& entry) {
      return base::contains(entry.family.dtypes, dtype);
    });
    if (!is_known) refuse("no kernel has the type '" + dtype + "'");
  }
  for (const std::uint64_t size : options.sizes_bytes) {
    if (size == 0) refuse("a size of 0 bytes leaves nothing to run");
  }
  if (options.samples && *options.samples == 0) refuse("0 samples measure nothing");
  if (options.memory_share && !(*options.memory_share > 0 && *options.memory_share <= 1)) {
    refuse("the share of the memory must be above 0 and at most 1");
  }
}

std::vector<std::string> chosen_types(const KernelBenchOptions& options,
                                      const KernelFamily& family) {
  if (options.dtypes.empty()) {
    return family.usual_dtypes.empty() ? family.dtypes : family.usual_dtypes;
  }
  std::vector<std::string> chosen;
  for (const std::string& dtype : family.dtypes) {
    if (base::contains(options.dtypes, dtype)) chosen.push_back(dtype);
  }
  return chosen;
}

/// The requested families, each once, in the order of all_families().
std::vector<const FamilyEntry*> choose(const KernelBenchOptions& options) {
  check_options(options);
  const std::vector<std::string>& names = options.names;
  const bool all = names.empty() || base::contains(names, "all");
  const bool has_ops = base::contains(names, "ops");
  for (const std::string& name : names) {
    const bool is_known = name == "all" || name == "ops" ||
                          std::ranges::any_of(all_families(), [&](const FamilyEntry& entry) {
                            return entry.family.name == name || entry.family.group == name;
                          });
    if (!is_known) {
      throw Error(ErrorCode::not_found, "run kernels", "unknown kernel '" + name + "'",
                  "hiptool run-kernel --list names them");
    }
  }
  std::vector<const FamilyEntry*> chosen;
  for (const FamilyEntry& entry : all_families()) {
    const KernelFamily& family = entry.family;
    if ((all && family.is_in_all) || (has_ops && family.is_operation) ||
        base::contains(names, family.name) || base::contains(names, family.group)) {
      chosen.push_back(&entry);
    }
  }
  const bool has_work = std::ranges::any_of(chosen, [&](const FamilyEntry* entry) {
    return !chosen_types(options, entry->family).empty();
  });
  if (has_work) return chosen;
  throw Error(ErrorCode::invalid_argument, "run kernels",
              "none of the kernels has a requested type",
              "hiptool run-kernel --list names the types of each");
}

/// By kernel, type, size and device.
void name_result(KernelResult& result) {
  result.id = label_of(result) + "@" + result.destination;
  result.set_names();
  result.series = result.kernel + (result.dtype.empty() ? "" : "." + result.dtype);
}

/// Runs families on one device, one after the other.
class Bench {
 public:
  Bench(const KernelBenchOptions& options, const Device& device)
      : options_(options), device_(device), info_(device.info()), stream_(device), timer_(stream_) {
    context_.compute_units = info_.compute_units.value_or(1);
    context_.arch = info_.arch;
    context_.stream = &stream_;
    context_.blocks_per_unit = options.blocks_per_unit;
    context_.shape = options.shape;
    context_.seed = options.seed;
    context_.backend = [this] {
      if (!backend_) backend_ = Backend::borrow_stream(stream_);
      return *backend_;
    };
    context_.find_kernel = options.find_kernel;
    if (!context_.find_kernel) {
      context_.find_kernel = [this](std::string_view name) {
        return ops::kernel_of(context_.backend(), name);
      };
    }
  }

  std::vector<std::uint64_t> sizes(const FamilyEntry& entry) const {
    if (entry.arrays == 0) return {1};
    if (entry.family.is_operation && !options_.shape.empty()) return {0};  // the shape says it
    if (options_.memory_share) {
      const auto share = *options_.memory_share / static_cast<double>(entry.arrays);
      const double bytes = static_cast<double>(device_.memory().free_bytes) * share;
      return {std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes) / 4096 * 4096, 4096)};
    }
    if (!options_.sizes_bytes.empty()) return options_.sizes_bytes;
    return {defaults_of(entry.family, device_.is_host_memory()).size_bytes};
  }

  /// Runs and fills the result. False if that size has already run: then only the size is set.
  bool run(const FamilyEntry& entry, KernelResult& result) {
    try {
      return run_checked(entry, result);
    } catch (const TooSmall& error) {
      result.status = Status::skipped;
      result.reason = error.what();
      result.error = error;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      note_failure(result, error);
    }
    return true;
  }

 private:
  bool run_checked(const FamilyEntry& entry, KernelResult& result) {
    context_.dtype = result.dtype;
    context_.size_bytes = result.size_bytes;
    context_.layout = result.layout;
    const std::unique_ptr<KernelWork> work = entry.make(device_, context_);
    const KernelWork::Figures figures = work->figures();
    result.size_bytes = figures.size_bytes;
    if (has_run(result)) return false;
    result.shape = work->shape();
    const bool is_of_size = !entry.family.is_operation || options_.shape.empty();
    if (!result.size_word.empty() && !options_.memory_share && is_of_size) {
      result.size_word = report::size_word(result.size_bytes);
    }
    name_result(result);
    result.elements = figures.elements;
    result.tolerance = figures.tolerance;
    begin_ = std::chrono::steady_clock::now();
    bool goes_on = true;
    do {
      work->reset();
      work->queue();
      stream_.synchronize();
      if (!judge(*work, result)) return true;
      goes_on = sample(entry, *work, figures, result);
      if (!judge(*work, result)) return true;
    } while (goes_on && base::seconds_since(begin_) < options_.soak_s);
    if (!goes_on) {
      result.reason = "interrupted after " + format_duration(base::seconds_since(begin_));
      if (options_.soak_s > 0) result.reason += " of " + format_duration(options_.soak_s);
    }
    rate(entry, *work, figures, result);
    return true;
  }

  /// Whether an earlier size was rounded to the same.
  bool has_run(const KernelResult& result) {
    if (result.requested_sizes_bytes.empty()) return false;
    return !seen_.insert({result.kernel, result.dtype + result.layout, result.size_bytes}).second;
  }

  /// False if data was wrong.
  static bool judge(KernelWork& work, KernelResult& result) {
    Comparison seen = work.check();
    result.digest = work.digest();
    result.checked += seen.checked;
    result.max_error = std::max(result.max_error, seen.max_error);
    if (!seen.wrong && seen.missed_fault.empty()) return true;
    result.wrong = std::move(seen.wrong);
    result.status = Status::mismatch;
    result.reason = std::move(seen.missed_fault);
    return false;
  }

  double time_runs(KernelWork& work, std::size_t repeats) {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run kernels");
    timer_.start();
    for (std::size_t i = 0; i < repeats; ++i) work.queue();
    timer_.stop();
    return timer_.elapsed_s() / static_cast<double>(repeats);
  }

  void tell(const KernelWork::Figures& figures, double run_s, const KernelResult& result) const {
    if (!options_.on_progress || options_.soak_s <= 0 || run_s <= 0) return;
    options_.on_progress({result.id, base::seconds_since(begin_), options_.soak_s,
                          figures.bytes / run_s, figures.flops / run_s});
  }

  /// False after a cancellation that left some samples, which then count.
  bool sample(const FamilyEntry& entry, KernelWork& work, const KernelWork::Figures& figures,
              KernelResult& result) {
    std::vector<double> seen;
    try {
      sample_whole(entry, work, figures, result, seen);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled) throw;
      if (result.samples_s.empty()) result.samples_s = samples_until_cancelled(std::move(seen));
      if (result.samples_s.empty()) throw;
      return false;
    }
  }

  void sample_whole(const FamilyEntry& entry, KernelWork& work, const KernelWork::Figures& figures,
                    KernelResult& result, std::vector<double>& seen) {
    std::size_t repeats = figures.repeats;
    if (repeats == 0) {
      const double once_s = std::max(time_runs(work, 1), 1e-7);
      repeats = static_cast<std::size_t>(
          std::clamp(std::ceil(least_sample_s / once_s), 1.0, static_cast<double>(most_repeats)));
    }
    SamplingOptions sampling;
    sampling.least_warm_up_s = options_.warm_up_s;
    sampling.time_budget_s = defaults_of(entry.family, device_.is_host_memory()).time_budget_s;
    if (options_.samples) {
      sampling.least_samples = *options_.samples;
      sampling.most_samples = *options_.samples;
      sampling.most_warm_ups = 1;
    }
    const auto samples = collect_samples(sampling, [&] {
      const double run_s = time_runs(work, repeats);
      tell(figures, run_s, result);
      seen.push_back(run_s / figures.steps);
      return seen.back();
    });
    result.samples_s.insert(result.samples_s.end(), samples.begin(), samples.end());
    if (!options_.clock_hz) return;
    // Read while there is work, because an idle device lowers its clock.
    for (std::size_t i = 0; i < repeats; ++i) work.queue();
    result.clock_hz = options_.clock_hz();
    stream_.synchronize();
  }

  void rate(const FamilyEntry& entry, const KernelWork& work, const KernelWork::Figures& figures,
            KernelResult& result) const {
    result.median_s = base::median(result.samples_s);
    const double run_s = *result.median_s * figures.steps;
    if (run_s <= 0) return;
    if (figures.bytes > 0) result.bytes_per_s = figures.bytes / run_s;
    if (figures.flops > 0) result.flops_per_s = figures.flops / run_s;
    set_share(rate_share(entry, work, figures, result), result);
    if (!result.share_of_limit) result.limit_source.clear();
  }

  /// Also sets the name of the peak in the result.
  Share rate_share(const FamilyEntry& entry, const KernelWork& work,
                   const KernelWork::Figures& figures, KernelResult& result) const {
    if (const auto per_clock = work.per_clock()) return unit_share(*per_clock, result);
    if (!result.bytes_per_s && !result.flops_per_s) return no_share("a latency has no peak");
    if (figures.bytes == 0) {
      return no_share("no public source states what " + info_.arch + " does in a clock");
    }
    if (entry.arrays == 0) return no_share("no public source states this peak");
    if (!options_.memory_peak) return no_share("the peak memory bandwidth is not known");
    const double data_bytes = static_cast<double>(figures.size_bytes * entry.arrays);
    const std::string data = "the data (" + format_size(figures.size_bytes * entry.arrays) + ")";
    const std::uint64_t l2_bytes = info_.l2_cache_bytes.value_or(0);
    if (data_bytes <= 4 * static_cast<double>(l2_bytes)) {
      return no_share(data + " are not more than 4 times the L2 cache of " + format_size(l2_bytes));
    }
    const Peak& peak = *options_.memory_peak;
    result.limit_source = peak.source;
    return share_of(
        *result.bytes_per_s, peak.per_s,
        "the peak memory bandwidth of " + format_rate(peak.per_s) + " (" + peak.source + ")",
        "another cache may hold " + data);
  }

  /// The share of what the multiprocessors do in a clock: operations, or bytes if none are counted.
  Share unit_share(double per_clock, KernelResult& result) const {
    std::optional<double> clock = result.clock_hz;
    if (!clock && info_.clock_hz) clock = static_cast<double>(*info_.clock_hz);
    if (!clock) return no_share("the clock is not known");
    const double peak = *clock * per_clock * static_cast<double>(context_.compute_units);
    result.limit_source =
        result.clock_hz ? "sku-table, clock observed" : "sku-table, clock nominal";
    const bool is_bytes = !result.flops_per_s;
    return share_of(
        is_bytes ? *result.bytes_per_s : *result.flops_per_s, peak,
        "the peak of " +
            (is_bytes ? format_rate(peak) : report::format_value(peak, report::Unit::operations)) +
            " (" + result.limit_source + ")",
        {});
  }

  const KernelBenchOptions& options_;
  Device device_;
  DeviceInfo info_;
  Stream stream_;
  KernelTimer timer_;
  std::optional<Backend> backend_;
  WorkContext context_;
  std::chrono::steady_clock::time_point begin_;
  std::set<std::tuple<std::string, std::string, std::uint64_t>>
      seen_;  ///< kernel, type and layout, size
};

/// One planned result.
struct Job {
  const FamilyEntry* entry = nullptr;
  std::string dtype;  ///< empty: the family has none of the requested types
  std::uint64_t size_bytes = 0;
  std::string layout;  ///< of an operation
};

std::vector<std::string> layouts_of(const FamilyEntry& entry, const KernelBenchOptions& options) {
  if (!entry.family.is_operation) return {""};
  if (options.layouts.empty()) return {"packed"};
  return options.layouts;
}

std::vector<Job> plan_jobs(const KernelBenchOptions& options, const Bench& bench) {
  std::vector<Job> jobs;
  for (const FamilyEntry* entry : choose(options)) {
    const std::vector<std::string> dtypes = chosen_types(options, entry->family);
    for (const std::string& dtype : dtypes) {
      for (const std::uint64_t size : bench.sizes(*entry)) {
        for (const std::string& layout : layouts_of(*entry, options)) {
          jobs.push_back({entry, dtype, size, layout});
        }
      }
    }
    if (dtypes.empty()) jobs.push_back({entry, "", 0, ""});
  }
  return jobs;
}

std::string share_word(double share) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), share * 100,
                                 std::chars_format::general, 6);
  return std::string(text.data(), end.ptr) + "%";
}

std::string size_word_of(const Job& job, const KernelBenchOptions& options) {
  if (job.dtype.empty() || job.entry->arrays == 0) return {};
  if (job.entry->family.is_operation && !options.shape.empty()) return shape_text(options.shape);
  // The bytes of a share differ from run to run.
  return options.memory_share ? share_word(*options.memory_share)
                              : report::size_word(job.size_bytes);
}

/// Adds a result and returns true, or adds the size to the result of the size it is rounded to.
bool run_job(const Job& job, const KernelBenchOptions& options, const Device& device, Bench& bench,
             std::vector<KernelResult>& results) {
  if (options.cancel != nullptr) options.cancel->throw_if_cancelled("run kernels");
  KernelResult result;
  result.kernel = job.entry->family.name;
  result.kind = job.entry->family.is_operation ? "operation" : "kernel";
  result.destination = device.id();
  result.dtype = job.dtype;
  result.layout = job.layout;
  result.size_word = size_word_of(job, options);
  name_result(result);
  result.size_bytes = job.size_bytes;
  if (!result.size_word.empty() && !options.sizes_bytes.empty() && !options.memory_share) {
    result.requested_sizes_bytes = {job.size_bytes};
  }
  if (job.dtype.empty()) {
    result.status = Status::skipped;
    result.reason = "has none of the requested types";
  } else if (!bench.run(*job.entry, result)) {
    const auto same = std::ranges::find_if(results, [&](const KernelResult& earlier) {
      return earlier.kernel == result.kernel && earlier.dtype == result.dtype &&
             earlier.layout == result.layout && earlier.size_bytes == result.size_bytes;
    });
    same->requested_sizes_bytes.push_back(job.size_bytes);
    return false;
  }
  results.push_back(std::move(result));
  return true;
}

}  // namespace

const std::vector<FamilyEntry>& all_families() {
  static const std::vector<FamilyEntry> all = [] {
    std::vector<FamilyEntry> list;
    add_memory_families(list);
    add_reduction_families(list);
    add_unit_families(list);
    add_fma_family(list);
    add_gemm_family(list);
    add_dequantize_family(list);
    add_memory_tests(list);
    add_operation_families(list);
    return list;
  }();
  return all;
}

KernelDefaults defaults_of(const KernelFamily& family, bool is_host_memory) {
  if (!is_host_memory) return family.is_in_all ? gpu_kernel_defaults : gpu_operation_defaults;
  if (!family.is_operation) return cpu_kernel_defaults;
  if (family.group == convolution_group) return cpu_convolution_defaults;
  return family.is_in_all ? cpu_usual_operation_defaults : cpu_operation_defaults;
}

std::vector<KernelFamily> list_kernels() {
  std::vector<KernelFamily> list;
  for (const FamilyEntry& entry : all_families()) list.push_back(entry.family);
  return list;
}

std::vector<KernelFamily> chosen_kernels(const KernelBenchOptions& options) {
  std::vector<KernelFamily> list;
  for (const FamilyEntry* entry : choose(options)) {
    list.push_back(entry->family);
    list.back().dtypes = chosen_types(options, entry->family);
  }
  return list;
}

std::vector<KernelResult> run_kernels(const KernelBenchOptions& options, const Device& device) {
  choose(options);  // checks the options before a kernel is loaded
  Bench bench(options, device);
  const std::vector<Job> jobs = plan_jobs(options, bench);
  std::vector<KernelResult> results;
  try {
    std::size_t total = jobs.size();
    for (const Job& job : jobs) {
      if (!run_job(job, options, device, bench, results)) {
        --total;
      } else if (options.on_result) {
        options.on_result(results.back(), results.size(), total);
      }
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
  }
  return results;
}

}  // namespace hiptool::measure
