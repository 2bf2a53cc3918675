// SPDX-License-Identifier: MIT
#include "measure/library/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <variant>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/library/large_product.hpp"
#include "measure/library/pool_judge.hpp"
#include "measure/library/product_judge.hpp"
#include "measure/peak.hpp"
#include "measure/sample_series.hpp"
#include "report/report.hpp"

namespace hiptool::measure {
namespace {

constexpr std::size_t guard_bytes = 4096;  // keeps the alignment of an allocation

/// Memory between guard bytes of 0xFF.
class GuardedMemory {
 public:
  GuardedMemory(const Device& device, std::size_t bytes)
      : buffer_(device, bytes + 2 * guard_bytes), size_(bytes) {}

  Buffer inner() const { return buffer_.view(guard_bytes, size_); }

  void poison(const StreamRef& stream) {
    fill(buffer_, std::byte{0xFF}, stream);
    stream.synchronize();
  }
  void write(std::span<const std::byte> bytes) { copy_h2d_and_wait(inner(), bytes); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(size_);
    copy_d2h_and_wait(bytes, inner());
    return bytes;
  }
  bool has_intact_guards() const {
    std::vector<std::byte> bytes(guard_bytes);
    for (const std::size_t start : {std::size_t{0}, guard_bytes + size_}) {
      copy_d2h_and_wait(bytes, buffer_.view(start, guard_bytes));
      const auto is_guard = [](std::byte one) { return one == std::byte{0xFF}; };
      if (!std::ranges::all_of(bytes, is_guard)) return false;
    }
    return true;
  }

 private:
  Buffer buffer_;
  std::size_t size_;
};

/// Opens a library and measures on its device.
class LibraryRun {
 public:
  LibraryRun(const Device& device, const LibraryOptions& options, LibraryResult& result)
      : device_(device),
        options_(options),
        result_(result),
        problem_(result.problem),
        stream_(device) {}

  void run() {
    const DeviceGuard guard(device_);
    step("opening " + result_.library);
    LibraryFile file;
    try {
      computation_ = open_computation(stream_, problem_, result_.library, file);
    } catch (const Error&) {
      note(file);
      throw;
    }
    note(file);
    if (is_large()) {
      const std::string missing = missing_memory(problem_, memory_bytes());
      if (!missing.empty()) {
        throw Error(ErrorCode::unsupported, result_.library,
                    "not possible here: " + shape_word(problem_) + " " + missing);
      }
    }
    const std::uint64_t size = element_size_bytes(types_of(problem_).dtype);
    a_.emplace(device_, a_count(problem_) * size);
    b_.emplace(device_, b_count(problem_) * size);
    c_.emplace(device_, c_count(problem_) * element_size_bytes(types_of(problem_).result));
    step("preparing " + result_.library);
    computation_->prepare();
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      if (!(is_large() ? judge_large(kind) : judge(kind))) return;
    }
    step("timing");
    sample();
    rate();
  }

 private:
  void step(const std::string& text) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run kernels");
    if (options_.on_step) options_.on_step(text);
  }

  void note(LibraryFile& file) const {
    result_.library_version = std::move(file.version);
    result_.library_path = std::move(file.path);
  }

  void queue() const { computation_->queue(a_->inner(), b_->inner(), c_->inner()); }

  std::uint64_t memory_bytes() const {
    const std::uint64_t free_bytes = device_.memory().free_bytes;
    return std::min(free_bytes, device_.info().memory_total_bytes.value_or(free_bytes));
  }

  bool is_large() const { return is_large_product(problem_, options_.large_bytes); }

  /// The same with data of which the host keeps a part; one call each.
  bool judge_large(DataKind kind) {
    const LargeProduct product(*matmul_of(problem_), kind, options_.seed);
    a_->poison(stream_);
    b_->poison(stream_);
    c_->poison(stream_);
    product.write(a_->inner(), b_->inner(), stream_);
    step("the large product of " + std::string(to_string(kind)));
    queue();
    stream_.synchronize();
    step("judging the large product of " + std::string(to_string(kind)));
    Judgement judged = product.judge(c_->inner(), stream_, options_.judge_s, options_.cancel);
    if (judged.wrong && judged.wrong->first_index) {
      judged.wrong->reread_agrees = product.is_still_wrong(c_->inner(), *judged.wrong, stream_);
    }
    if (!take(std::move(judged), kind, "")) return false;
    std::string damage;
    if (!c_->has_intact_guards()) damage = "wrote outside of the result";
    if (!a_->has_intact_guards() || !b_->has_intact_guards() ||
        !product.is_intact(a_->inner(), b_->inner(), stream_)) {
      damage = "changed A or B";
    }
    if (!damage.empty()) refuse(kind, damage);
    return damage.empty();
  }

  /// False if a result was wrong.
  bool judge(DataKind kind) {
    const std::string name(to_string(kind));
    const ProblemData data = make_data(problem_, kind, options_.seed);
    a_->poison(stream_);
    b_->poison(stream_);
    a_->write(data.a);
    b_->write(data.b);
    const bool is_product = kind_of(problem_) == ProblemKind::matmul;
    const std::string noun(is_product ? "product" : noun_of(kind_of(problem_)));
    step("the first " + noun + " of " + name);
    const std::vector<std::byte> first = call();
    if (!accept(data, first, "") || !find_damage(data)) return false;
    step("the second " + noun + " of " + name);
    const std::vector<std::byte> second = call();
    if (second == first) return find_damage(data);
    result_.has_same_bits = false;
    return accept(data, second, "the second call is wrong, the first was right") &&
           find_damage(data);
  }

  std::vector<std::byte> call() {
    c_->poison(stream_);
    queue();
    stream_.synchronize();
    return c_->read();
  }

  bool accept(const ProblemData& data, const std::vector<std::byte>& found, const char* reason) {
    const auto* const pool = std::get_if<PoolProblem>(&problem_);
    Judgement judged =
        pool != nullptr
            ? judge_pooling(*pool, data, found)
            : judge_problem(problem_, data, found, options_.judge_s,
                            computation_->may_transform() ? Transforms::allowed : Transforms::none);
    if (judged.wrong) judged.wrong->reread_agrees = c_->read() == found;
    return take(std::move(judged), data.kind, reason);
  }

  bool take(Judgement judged, DataKind kind, const char* reason) {
    result_.checked += judged.checked;
    result_.max_error = std::max(result_.max_error, judged.max_error);
    if (kind == DataKind::random) result_.judged_share = judged.share;
    result_.terms_per_s = reference_terms_per_s(types_of(problem_).dtype);
    if (!judged.wrong) return true;
    refuse(kind, reason);
    result_.wrong = std::move(judged.wrong);
    result_.where = std::move(judged.where);
    result_.counts_all = judged.counts_all && judged.share == 1;
    return false;
  }

  void refuse(DataKind kind, const std::string& reason) {
    result_.status = Status::mismatch;
    result_.reason = reason;
    result_.data = to_string(kind);
  }

  bool find_damage(const ProblemData& data) {
    const bool is_product = kind_of(problem_) == ProblemKind::matmul;
    std::string damage;
    if (!c_->has_intact_guards()) damage = "wrote outside of the result";
    if (a_->read() != data.a || !a_->has_intact_guards())
      damage = is_product ? "changed A" : "changed the weights";
    if (b_->read() != data.b || !b_->has_intact_guards())
      damage = is_product ? "changed B" : "changed the images";
    if (!damage.empty()) refuse(data.kind, damage);
    return damage.empty();
  }

  double time_runs(KernelTimer& timer, std::size_t repeats) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run kernels");
    timer.start();
    for (std::size_t i = 0; i < repeats; ++i) queue();
    timer.stop();
    return timer.elapsed_s() / static_cast<double>(repeats);
  }

  void sample() {
    constexpr double least_sample_s = 0.0005;
    constexpr double long_s = 0.5;
    KernelTimer timer(stream_);
    const double once_s = std::max(time_runs(timer, 1), 1e-7);
    const auto repeats =
        static_cast<std::size_t>(std::clamp(std::ceil(least_sample_s / once_s), 1.0, 32.0));
    SamplingOptions sampling;
    sampling.least_warm_up_s = options_.warm_up_s;
    if (once_s > long_s) {
      sampling.least_samples = 3;
      sampling.most_warm_ups = 1;
    }
    if (options_.samples) {
      sampling.least_samples = *options_.samples;
      sampling.most_samples = *options_.samples;
      sampling.most_warm_ups = 1;
    }
    std::vector<double> seen;
    try {
      result_.samples_s = collect_samples(sampling, [&] {
        seen.push_back(time_runs(timer, repeats));
        return seen.back();
      });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || seen.empty()) throw;
      result_.samples_s = samples_until_cancelled(std::move(seen));
    }
  }

  void rate() {
    result_.median_s = base::median(result_.samples_s);
    if (*result_.median_s <= 0) return;
    result_.flops_per_s = flops_of(problem_) / *result_.median_s;
    set_share(share(), result_);
    if (!result_.share_of_limit) result_.limit_source.clear();
  }

  Share share() {
    if (is_pooling(kind_of(problem_))) {
      return no_share("a pooling is limited by memory, not by arithmetic");
    }
    const DeviceInfo info = device_.info();
    const ProblemTypes& types = types_of(problem_);
    const bool is_half = element_size_bytes(types.dtype) == 2;
    std::optional<double> per_clock;
    if (is_half) {
      per_clock = matrix_rate(info.arch);
    } else if (types.compute != Compute::tf32) {
      per_clock = multiply_add_rate(info.arch, to_string(types.dtype));
    }
    if (!per_clock) {
      return no_share("no public source states what " + info.arch + " does in a clock");
    }
    if (!info.clock_hz) return no_share("the clock is not known");
    result_.limit_source = "sku-table, clock nominal";
    const double peak = static_cast<double>(*info.clock_hz) * *per_clock *
                        static_cast<double>(info.compute_units.value_or(1));
    return share_of(*result_.flops_per_s, peak,
                    "the peak of " + report::format_value(peak, report::Unit::operations),
                    "matrix units may be faster");
  }

  Device device_;
  const LibraryOptions& options_;
  LibraryResult& result_;
  const Problem& problem_;
  Stream stream_;
  std::optional<GuardedMemory> a_;
  std::optional<GuardedMemory> b_;
  std::optional<GuardedMemory> c_;
  std::unique_ptr<Computation> computation_;
};

}  // namespace

LibraryResult start_result(const Problem& problem, const std::string& implementation,
                           const std::string& device) {
  LibraryResult result;
  const ProblemTypes& types = types_of(problem);
  result.problem = problem;
  result.library = implementation;
  result.kernel = to_string(kind_of(problem));
  result.kind = "library";
  result.group = result.kernel;
  result.destination = device;
  result.dtype = to_string(types.dtype);
  result.shape = shape_word(problem);
  result.size_word = result.shape;
  result.elements = c_count(problem);
  result.size_bytes = bytes_of(problem);
  result.tolerance = 1;
  std::string label = result.kernel + "." + result.dtype + "." + result.shape;
  for (const std::string& word : unusual_words(problem)) label += "." + word;
  result.id = label + "." + implementation + "@" + device;
  result.set_names();
  result.series = result.kernel + "." + result.dtype + "." + implementation;
  return result;
}

LibraryResult measure_problem(const Device& device, const Problem& problem,
                              const std::string& implementation, const LibraryOptions& options) {
  LibraryResult result = start_result(problem, implementation, device.id());
  try {
    LibraryRun(device, options, result).run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    note_failure(result, error);
  }
  return result;
}

}  // namespace hiptool::measure
