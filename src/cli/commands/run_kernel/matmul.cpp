// SPDX-License-Identifier: MIT
// `run-kernel matmul`: our kernels and vendors' libraries on the same matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/run_kernel/matmul_report.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/document.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "measure/threshold.hpp"

namespace hiptool::cli {
namespace {

using measure::MatmulProblem;
using measure::MatmulResult;
using measure::Threshold;
using measure::ThresholdKind;
using report::Status;

constexpr std::uint64_t most_shapes_bytes = 1u << 20;
constexpr std::uint64_t cpu_side = 256;
constexpr std::uint64_t gpu_side = 4096;

/// One product that is measured with every implementation.
struct MatmulTask {
  MatmulProblem problem;
  std::string trap;
};

struct MatmulPlan {
  std::vector<MatmulTask> tasks;
  bool has_shapes = false;  ///< else the side depends on the device
  std::vector<std::string> libraries;
  bool is_every_library = false;
  measure::MatmulOptions options;
  double timeout_s = 300;
};

std::vector<DType> parse_dtypes(const RunKernelOptions& options) {
  std::vector<DType> types;
  for (const std::string& list : options.dtypes) {
    for (const std::string& word : split_list(list, "--dtype")) {
      check_choice(word, {"f32", "f64", "f16", "bf16"}, "--dtype");
      add_once(types, *dtype_from_name(word));
    }
  }
  return types;
}

MatmulProblem usual_problem(const RunKernelOptions& options, DType dtype) {
  MatmulProblem problem;
  if (!options.shape.empty()) set_shape(problem, options.shape);
  if (options.transpose) set_transposes(problem, *options.transpose);
  problem.batch = std::max<std::uint64_t>(options.batch, 1);
  problem.dtype = dtype;
  problem.result = dtype;
  problem.compute = measure::usual_compute(dtype);
  if (options.compute == "tf32") problem.compute = measure::MatmulCompute::tf32;
  if (options.compute == "f16") problem.compute = measure::MatmulCompute::f16;
  return problem;
}

void require_compute(const MatmulProblem& problem) {
  const std::string type(to_string(problem.dtype));
  const bool is_wrong =
      (problem.compute == measure::MatmulCompute::tf32 && problem.dtype != DType::f32) ||
      (problem.compute == measure::MatmulCompute::f16 && problem.dtype != DType::f16);
  if (!is_wrong) return;
  throw usage_error(fmt::format("--compute {} is not for {}", to_string(problem.compute), type),
                    "tf32 needs --dtype f32, and f16 needs --dtype f16");
}

void add_traps(const RunKernelOptions& options, MatmulPlan& plan) {
  const std::vector<DType> types = parse_dtypes(options);
  for (const measure::MatmulTrap& trap : measure::matmul_traps()) {
    const DType dtype = trap.problem.dtype;
    if (!types.empty() && std::find(types.begin(), types.end(), dtype) == types.end()) continue;
    plan.tasks.push_back({trap.problem, trap.report + ": " + trap.what});
  }
  if (plan.tasks.empty()) {
    throw usage_error("no shape of --shapes traps has that type", "leave out --dtype");
  }
}

/// Ids are unique in a document.
void leave_out_repeated(std::vector<MatmulTask>& tasks) {
  std::vector<std::string> seen;
  std::vector<MatmulTask> once;
  for (MatmulTask& task : tasks) {
    const std::string id = measure::start_matmul_result(task.problem, "own", "").id;
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    once.push_back(std::move(task));
  }
  tasks = std::move(once);
}

void plan_tasks(const RunKernelOptions& options, const CancelToken& cancel, MatmulPlan& plan) {
  plan.has_shapes = !options.shapes.empty() || !options.shape.empty();
  if (!options.shapes.empty() && !options.shape.empty()) {
    throw usage_error("--shape and --shapes both give shapes", "leave out one of the two");
  }
  if (options.shapes == "traps") {
    const bool has_own = options.transpose || options.batch > 0 || options.compute;
    if (has_own) {
      throw usage_error("--shapes traps has its own --transpose, --batch and --compute",
                        "leave them out");
    }
    return add_traps(options, plan);
  }
  std::vector<DType> types = parse_dtypes(options);
  if (types.empty()) types.push_back(options.compute == "f16" ? DType::f16 : DType::f32);
  if (options.shapes.empty()) {
    for (const DType dtype : types) plan.tasks.push_back({usual_problem(options, dtype), ""});
  } else {
    const std::string text = base::read_input_file(options.shapes, most_shapes_bytes, &cancel);
    const MatmulProblem usual = usual_problem(options, types.front());
    for (const MatmulProblem& one : measure::parse_shapes(text, options.shapes, usual, types)) {
      plan.tasks.push_back({one, ""});
    }
  }
  for (const MatmulTask& task : plan.tasks) require_compute(task.problem);
  leave_out_repeated(plan.tasks);
}

double read_timeout(const Environment& environment) {
  constexpr const char* name = "HIPTOOL_LIBRARY_TIMEOUT";
  const std::string text = environment.getenv(name).value_or("");
  if (text.empty()) return measure::MatmulChild().timeout_s;
  const auto seconds = base::parse_number<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= 1e6)) {
    throw usage_error(fmt::format("invalid value '{}' of {}", text, name),
                      "write seconds, such as 60");
  }
  return *seconds;
}

MatmulPlan make_matmul_plan(const RunKernelOptions& options, Context& context) {
  MatmulPlan plan;
  plan_tasks(options, context.environment.cancel, plan);
  std::vector<std::string> choices = measure::matmul_implementations();
  choices.emplace_back("all");
  for (const std::string& list : options.libraries) {
    for (const std::string& word : split_list(list, "--lib")) {
      check_choice(word, choices, "--lib");
      if (word == "all") {
        plan.is_every_library = true;
      } else {
        add_once(plan.libraries, word);
      }
    }
  }
  if (options.libraries.empty()) plan.libraries = {"own"};
  plan.options.seed = parse_seed(options.seed);
  if (options.samples > 0) plan.options.samples = options.samples;
  plan.options.cancel = &context.environment.cancel;
  plan.timeout_s = read_timeout(context.environment);
  return plan;
}

std::vector<std::string> libraries_for(const MatmulPlan& plan, Platform platform) {
  std::vector<std::string> names;
  if (plan.is_every_library) names = measure::matmul_implementations(platform);
  for (const std::string& name : plan.libraries) add_once(names, name);
  return names;
}

/// The share of the fastest right one of the same product on the same device.
void compare_rates(std::vector<MatmulResult>& results, std::size_t first) {
  double fastest = 0;
  std::size_t measured = 0;
  for (std::size_t i = first; i < results.size(); ++i) {
    fastest = std::max(fastest, results[i].flops_per_s.value_or(0));
    measured += results[i].flops_per_s ? 1u : 0u;
  }
  if (measured < 2) return;
  for (std::size_t i = first; i < results.size(); ++i) {
    if (results[i].flops_per_s) results[i].share_of_fastest = *results[i].flops_per_s / fastest;
  }
}

void tell_product(Context& context, const MatmulResult& result, std::size_t done,
                  std::size_t total) {
  if (context.quiet) return;
  context.environment.console.err(
      fmt::format("[{}/{}] {}\n", done, total, printable(describe_matmul(result))));
}

void multiply_on(const Device& device, const MatmulPlan& plan, Context& context,
                 std::vector<MatmulResult>& results) {
  const std::vector<std::string> names = libraries_for(plan, device.platform());
  const measure::MatmulChild child{context.environment.program, plan.timeout_s,
                                   context.devices.nvidia_ordinals,
                                   context.environment.system_root.string()};
  std::size_t done = 0;
  for (const MatmulTask& task : plan.tasks) {
    MatmulProblem problem = task.problem;
    if (!plan.has_shapes) {
      problem.m = problem.n = problem.k = device.is_host_memory() ? cpu_side : gpu_side;
    }
    std::string scaled;
    if (!task.trap.empty()) {
      scaled = measure::shrink_to_fit(problem, device.memory().free_bytes);
    }
    const std::size_t first = results.size();
    for (const std::string& name : names) {
      if (context.environment.cancel.is_cancelled()) return;
      try {
        const bool has_child = measure::is_library(name) && !child.program.empty();
        results.push_back(
            has_child ? measure::measure_matmul_in_child(child, device, problem, name, plan.options)
                      : measure::measure_matmul(device, problem, name, plan.options));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) return;
        throw;
      }
      results.back().trap = task.trap;
      results.back().scaled = scaled;
      tell_product(context, results.back(), ++done, plan.tasks.size() * names.size());
    }
    compare_rates(results, first);
  }
}

// ---- thresholds

bool is_product_selected(const MatmulResult& result, const std::string& selector) {
  const std::vector<std::string> unusual = measure::unusual_words(result.problem);
  bool is_first = true;
  for (std::size_t start = 0; start <= selector.size(); is_first = false) {
    const std::size_t dot = std::min(selector.find('.', start), selector.size());
    const std::string word = selector.substr(start, dot - start);
    start = dot + 1;
    if (is_first && word == "matmul") continue;
    const bool is_known =
        !is_first &&
        (word == result.dtype || word == result.shape || word == result.implementation ||
         word == result.destination || word == measure::transpose_word(result.problem) ||
         std::find(unusual.begin(), unusual.end(), word) != unusual.end());
    if (!is_known) return false;
  }
  return true;
}

[[noreturn]] void refuse_product_threshold(const Threshold& threshold, const std::string& why) {
  throw usage_error("the threshold '" + threshold.text + "' " + why,
                    "write matmul and after dots a type, a shape, a library or a device of the "
                    "run: 'matmul.bf16.4096x4096x4096.rocblas>=70%'");
}

/// A threshold that no planned product can meet.
void require_product(const std::vector<Threshold>& thresholds, const MatmulPlan& plan,
                     const std::vector<Device>& devices) {
  for (const Threshold& threshold : thresholds) {
    bool is_named = false;
    for (const Device& device : devices) {
      for (const MatmulTask& task : plan.tasks) {
        MatmulProblem problem = task.problem;
        if (!plan.has_shapes) {
          problem.m = problem.n = problem.k = device.is_host_memory() ? cpu_side : gpu_side;
        }
        for (const std::string& name : libraries_for(plan, device.platform())) {
          is_named = is_named ||
                     is_product_selected(measure::start_matmul_result(problem, name, device.id()),
                                         threshold.selector);
        }
      }
    }
    if (!is_named) refuse_product_threshold(threshold, "names no product that will run");
  }
}

report::ThresholdResult judge_product_threshold(const Threshold& threshold,
                                                const std::vector<MatmulResult>& results) {
  report::ThresholdResult judged;
  judged.threshold = threshold.text;
  bool is_measured = false;
  const bool is_share = threshold.of == Threshold::Of::share;
  const auto text = [&](double value) {
    return is_share ? format_share(value) : report::format_value(value, report::Unit::operations);
  };
  for (const MatmulResult& result : results) {
    if (!is_for(threshold, result.destination)) continue;
    if (!is_product_selected(result, threshold.selector)) continue;
    is_measured = is_measured || !result.samples_s.empty();
    // Without a published peak the fastest of the run is what there is to compare with.
    const std::optional<double> share =
        result.share_of_limit ? result.share_of_limit : result.share_of_fastest;
    if (is_share && result.status == Status::ok && !share) {
      refuse_product_threshold(threshold, "is a share, but " + result.id +
                                              " has none: " + result.share_reason +
                                              ", and no other was measured; give TFLOP/s");
    }
    const std::optional<double> value = is_share ? share : result.flops_per_s;
    if (result.status == Status::ok && value && *value >= threshold.least) continue;
    judged.failures.push_back({threshold.text + " " + result.id, threshold.least, value});
    judged.missed.push_back(result.id + ": " +
                            (value ? text(*value) + ", below " : "not known, so not ") +
                            text(threshold.least));
  }
  if (!is_measured) refuse_product_threshold(threshold, "names no product that was measured");
  judged.is_met = judged.missed.empty();
  return judged;
}

void judge_thresholds(const std::vector<Threshold>& thresholds, MatmulOutcome& outcome) {
  for (const Threshold& threshold : thresholds) {
    try {
      outcome.thresholds.push_back(judge_product_threshold(threshold, outcome.results));
    } catch (const Error& error) {
      if (!outcome.error) outcome.error = error;  // reported with the results
    }
  }
}

// ---- the verdict

std::optional<Error> find_product_error(const MatmulOutcome& outcome) {
  for (const MatmulResult& result : outcome.results) {
    if (result.status == Status::failed) return result.error;
  }
  if (outcome.count(Status::skipped) < outcome.results.size()) return outcome.error;
  for (const MatmulResult& result : outcome.results) {
    if (result.error && result.error->code() == ErrorCode::out_of_memory) return *result.error;
  }
  constexpr std::size_t most_reasons = 3;
  return Error(ErrorCode::unavailable, "run-kernel",
               fmt::format("no product was computed: {}",
                           first_of(report::distinct_reasons(outcome.results), most_reasons, "; ")),
               "choose other libraries with --lib; --lib all measures those of the platform");
}

int write_outcome(Context& context, MatmulOutcome& outcome) {
  Environment& environment = context.environment;
  const bool is_wrong = outcome.count(Status::mismatch) > 0;
  if (environment.cancel.is_cancelled()) {
    outcome.error = Error(ErrorCode::cancelled, "run-kernel", "interrupted");
  } else if (!is_wrong) {
    outcome.error = find_product_error(outcome);
    if (outcome.error) print_error(environment.console, *outcome.error);
  }
  report::Run run = make_run(environment, "run-kernel", is_wrong ? "mismatch" : "ok");
  const int exit_code = finish_run(run, environment, outcome.error ? &*outcome.error : nullptr,
                                   failures_of(outcome.thresholds), is_wrong);
  context.output.write(matmul_report(std::move(run), outcome));
  return exit_code;
}

}  // namespace

bool is_matmul(const RunKernelOptions& options) {
  const bool is_alone = options.names == std::vector<std::string>{"matmul"};
  const std::pair<const char*, bool> own[] = {{"--lib", !options.libraries.empty()},
                                              {"--shapes", !options.shapes.empty()},
                                              {"--transpose", options.transpose.has_value()},
                                              {"--batch", options.batch > 0},
                                              {"--compute", options.compute.has_value()}};
  // What only other modes take.
  const std::pair<const char*, bool> other[] = {{"--list", options.list},
                                                {"--sweep", options.sweep.has_value()},
                                                {"--layout", !options.layouts.empty()},
                                                {"--size", !options.size.empty()},
                                                {"--seconds", options.seconds > 0}};
  const auto is_given = [](const auto& one) { return one.second; };
  const auto* const first_own = std::find_if(std::begin(own), std::end(own), is_given);
  const auto* const first_other = std::find_if(std::begin(other), std::end(other), is_given);
  if (first_own == std::end(own)) return is_alone && first_other == std::end(other);
  if (!is_alone) {
    throw usage_error(fmt::format("{} applies to matmul alone", first_own->first),
                      "hiptool run-kernel matmul " + std::string(first_own->first) + " ...");
  }
  if (first_other != std::end(other)) {
    throw usage_error(
        fmt::format("{} and {} cannot be combined", first_own->first, first_other->first),
        "leave out one of the two");
  }
  return true;
}

int run_matmul(const RunKernelOptions& options, Context& context) {
  const MatmulPlan plan = make_matmul_plan(options, context);
  measure::plain_thresholds(options.fail_below, ThresholdKind::kernels);  // rejects wrong ones
  const auto platforms = context.make_platforms();
  const std::vector<Device> devices = choose_devices(*platforms, context.devices);
  const std::vector<Threshold> thresholds = measure::collect_thresholds(
      options.fail_below, devices, ThresholdKind::kernels, &context.environment.cancel);
  for (const Threshold& threshold : thresholds) {
    if (threshold.of == Threshold::Of::bytes_per_s) {
      refuse_product_threshold(threshold, "is in bytes, and products have a rate in FLOP/s");
    }
  }
  require_product(thresholds, plan, devices);
  MatmulOutcome outcome;
  outcome.seed = plan.options.seed;
  for (const Device& device : devices) {
    if (context.environment.cancel.is_cancelled()) break;
    multiply_on(device, plan, context, outcome.results);
  }
  const bool has_run = outcome.count(Status::skipped) < outcome.results.size();
  if (has_run && !context.environment.cancel.is_cancelled()) judge_thresholds(thresholds, outcome);
  return write_outcome(context, outcome);
}

}  // namespace hiptool::cli
