// SPDX-License-Identifier: MIT
// `run-kernel matmul`, `conv2d` and, with --lib, poolings: our kernels and vendors' libraries on
// the same problems.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/contains.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/run_kernel/library_thresholds.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/document.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "measure/threshold.hpp"
#include "report/text.hpp"
#include "results/run_kernel/library.hpp"

namespace hiptool::cli {
namespace {

using measure::LibraryResult;
using measure::Problem;
using measure::ProblemKind;
using measure::Threshold;
using measure::ThresholdKind;
using report::Status;

constexpr std::uint64_t most_shapes_bytes = 1u << 20;

/// One problem that is measured with every implementation.
struct LibraryTask {
  Problem problem;
  std::string trap;
};

struct LibraryPlan {
  ProblemKind kind = ProblemKind::matmul;
  std::vector<LibraryTask> tasks;
  bool has_shapes = false;  ///< else the shape depends on the device
  std::vector<std::string> libraries;
  bool is_every_library = false;
  measure::LibraryOptions options;
  double timeout_s = 300;
};

std::vector<DType> parse_dtypes(const RunKernelOptions& options, ProblemKind kind) {
  std::vector<std::string> choices{"f32", "f64", "f16", "bf16"};
  if (kind == ProblemKind::matmul) choices.emplace_back("i8");
  std::vector<DType> types;
  for (const std::string& list : options.dtypes) {
    for (const std::string& word : split_list(list, "--dtype")) {
      base::add_once(types, *dtype_from_name(choice_of(word, choices, "--dtype")));
    }
  }
  return types;
}

Problem usual_problem(const RunKernelOptions& options, ProblemKind kind, DType dtype) {
  Problem problem = measure::default_problem(kind, true);
  if (!options.shape.empty()) set_shape(problem, options.shape);
  if (auto* const product = std::get_if<measure::MatmulProblem>(&problem)) {
    if (options.transpose) set_transposes(*product, *options.transpose);
    product->batch = std::max<std::uint64_t>(options.batch, 1);
  }
  measure::ProblemTypes& types = types_of(problem);
  types = {dtype, measure::usual_result(dtype), measure::usual_compute(dtype)};
  if (options.compute == "tf32") types.compute = measure::Compute::tf32;
  if (options.compute == "f16") types.compute = measure::Compute::f16;
  if (options.compute == "f32") types.compute = measure::Compute::f32;
  return problem;
}

/// The problem of a task on that device.
Problem problem_on(const LibraryPlan& plan, const LibraryTask& task, const Device& device) {
  if (plan.has_shapes) return task.problem;
  // Only the shape depends on the device.
  Problem problem = task.problem;
  set_shape(problem, shape_word(measure::default_problem(plan.kind, device.is_host_memory())));
  return problem;
}

void require_compute(const Problem& problem) {
  const measure::ProblemTypes& types = types_of(problem);
  const std::string compute(to_string(types.compute));
  if (is_pooling(kind_of(problem)) && types.compute != measure::usual_compute(types.dtype)) {
    throw usage_error(fmt::format("--compute {} is not for poolings", compute), "leave it out");
  }
  if (types.compute == measure::Compute::f16 && kind_of(problem) == ProblemKind::conv2d) {
    throw usage_error("--compute f16 is not for conv2d",
                      "leave it out: libraries choose how they sum halves");
  }
  const bool is_wrong = (types.compute == measure::Compute::tf32 && types.dtype != DType::f32) ||
                        (types.compute == measure::Compute::f16 && types.dtype != DType::f16) ||
                        (types.compute == measure::Compute::f32 &&
                         (types.dtype == DType::f64 || types.dtype == DType::i8));
  if (!is_wrong) return;
  throw usage_error(fmt::format("--compute {} is not for {}", compute, to_string(types.dtype)),
                    "tf32 needs --dtype f32, f16 needs --dtype f16, and f32 is for f32, f16 and "
                    "bf16");
}

void add_traps(const RunKernelOptions& options, LibraryPlan& plan) {
  if (measure::traps_of(plan.kind).empty()) {
    throw usage_error(fmt::format("no shape is known on which a library was reported wrong for {}",
                                  to_string(plan.kind)),
                      "name the shapes with --shapes FILE or --shape");
  }
  const std::vector<DType> types = parse_dtypes(options, plan.kind);
  for (const measure::Trap& trap : measure::traps_of(plan.kind)) {
    const DType dtype = types_of(trap.problem).dtype;
    if (!types.empty() && std::find(types.begin(), types.end(), dtype) == types.end()) continue;
    plan.tasks.push_back({trap.problem, trap.report + ": " + trap.what});
  }
  if (plan.tasks.empty()) {
    throw usage_error("no shape of --shapes traps has that type", "leave out --dtype");
  }
}

/// Ids are unique in a document.
void leave_out_repeated(std::vector<LibraryTask>& tasks) {
  std::vector<std::string> seen;
  std::vector<LibraryTask> once;
  for (LibraryTask& task : tasks) {
    const std::string id = measure::start_result(task.problem, "own", "").id;
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    once.push_back(std::move(task));
  }
  tasks = std::move(once);
}

std::vector<std::string> ids_of(const std::vector<Problem>& problems) {
  std::vector<std::string> ids;
  for (const Problem& one : problems) ids.push_back(measure::start_result(one, "own", "").id);
  return ids;
}

/// The shapes of the file of --shapes; refuses an option where each line has its own word instead.
std::vector<Problem> read_shapes(const RunKernelOptions& options, ProblemKind kind,
                                 const std::vector<DType>& types, const CancelToken& cancel) {
  const std::string text = base::read_input_file(options.shapes, most_shapes_bytes, &cancel);
  const auto parse = [&](const RunKernelOptions& chosen, const std::vector<DType>& of_types) {
    return measure::parse_shapes(text, options.shapes,
                                 usual_problem(chosen, kind, of_types.front()), of_types);
  };
  std::vector<Problem> problems = parse(options, types);
  const auto require_effect = [&](const char* option, const std::vector<Problem>& otherwise) {
    if (ids_of(problems) != ids_of(otherwise)) return;
    throw usage_error(
        fmt::format("{} has no effect: every line of {} has its own", option, options.shapes),
        "leave it out, or remove the word from the lines");
  };
  if (options.transpose) {
    RunKernelOptions other = options;
    other.transpose = options.transpose == "tt" ? "nn" : "tt";
    require_effect("--transpose", parse(other, types));
  }
  if (options.batch > 0) {
    RunKernelOptions other = options;
    ++other.batch;
    require_effect("--batch", parse(other, types));
  }
  if (!options.dtypes.empty()) {
    const DType other = types == std::vector{DType::f64} ? DType::f32 : DType::f64;
    require_effect("--dtype", parse(options, {other}));
  }
  return problems;
}

void plan_tasks(const RunKernelOptions& options, const CancelToken& cancel, LibraryPlan& plan) {
  plan.has_shapes = !options.shapes.empty() || !options.shape.empty();
  if (!options.shapes.empty() && !options.shape.empty()) {
    throw usage_error("--shape and --shapes both give shapes", "leave out one of the two");
  }
  if (base::equals_ignoring_case(options.shapes, "traps")) {
    const bool has_own = options.transpose || options.batch > 0 || options.compute;
    if (has_own) {
      throw usage_error("--shapes traps has its own --transpose, --batch and --compute",
                        "leave them out");
    }
    return add_traps(options, plan);
  }
  std::vector<DType> types = parse_dtypes(options, plan.kind);
  if (types.empty()) types.push_back(options.compute == "f16" ? DType::f16 : DType::f32);
  if (options.shapes.empty()) {
    for (const DType dtype : types)
      plan.tasks.push_back({usual_problem(options, plan.kind, dtype), ""});
  } else {
    for (const Problem& one : read_shapes(options, plan.kind, types, cancel)) {
      plan.tasks.push_back({one, ""});
    }
  }
  for (const LibraryTask& task : plan.tasks) require_compute(task.problem);
  leave_out_repeated(plan.tasks);
}

double read_timeout(const Environment& environment) {
  constexpr const char* name = "HIPTOOL_LIBRARY_TIMEOUT";
  const std::string text = environment.getenv(name).value_or("");
  if (text.empty()) return measure::LibraryChild().timeout_s;
  const auto seconds = base::parse_number<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= 1e6)) {
    throw usage_error(fmt::format("invalid value '{}' of {}", text, name),
                      "write seconds, such as 60");
  }
  return *seconds;
}

ProblemKind kind_of_run(const RunKernelOptions& options) {
  return *std::ranges::find(measure::problem_kinds, std::string_view(options.names.front()),
                            [](ProblemKind kind) { return to_string(kind); });
}

LibraryPlan make_library_plan(const RunKernelOptions& options, Context& context) {
  LibraryPlan plan;
  plan.kind = kind_of_run(options);
  if (plan.kind != ProblemKind::matmul && (options.transpose || options.batch > 0)) {
    throw usage_error(
        fmt::format("{} applies to matmul alone", options.transpose ? "--transpose" : "--batch"),
        "leave it out; n in the shape is the number of images");
  }
  plan_tasks(options, context.environment.cancel, plan);
  std::vector<std::string> choices = measure::implementations_of(plan.kind);
  choices.emplace_back("all");
  for (const std::string& list : options.libraries) {
    for (const std::string& given : split_list(list, "--lib")) {
      const std::string word = choice_of(given, choices, "--lib");
      if (word == "all") {
        plan.is_every_library = true;
      } else {
        base::add_once(plan.libraries, word);
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

std::vector<std::string> libraries_for(const LibraryPlan& plan, Platform platform) {
  std::vector<std::string> names;
  if (plan.is_every_library) names = measure::implementations_of(plan.kind, platform);
  for (const std::string& name : plan.libraries) base::add_once(names, name);
  return names;
}

/// The share of the fastest right one of the same problem on the same device.
void compare_rates(std::vector<LibraryResult>& results, std::size_t first) {
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

void tell_result(Context& context, const LibraryResult& result, std::size_t done,
                 std::size_t total) {
  if (context.quiet) return;
  context.environment.console.err(fmt::format(
      "[{}/{}] {}\n", done, total, report::printable_lines(results::describe_result(result))));
}

/// Until a cancellation.
void measure_on(const Device& device, const LibraryPlan& plan, Context& context,
                std::vector<LibraryResult>& results) {
  const std::vector<std::string> names = libraries_for(plan, device.platform());
  const measure::LibraryChild child{context.environment.program, plan.timeout_s,
                                    context.devices.nvidia_ordinals,
                                    context.environment.system_root.string()};
  std::size_t done = 0;
  for (const LibraryTask& task : plan.tasks) {
    if (context.environment.cancel.is_cancelled()) return;
    Problem problem = problem_on(plan, task, device);
    std::string scaled;
    if (!task.trap.empty()) {
      scaled = measure::fit_trap(problem, device.is_host_memory(), device.memory().free_bytes);
    }
    const std::size_t first = results.size();
    for (const std::string& name : names) {
      if (context.environment.cancel.is_cancelled()) break;
      context.environment.console.set_step(
          fmt::format("measuring {} with {} on {}", noun_of(plan.kind), name, device.id()),
          fmt::format("{} of {} done", done, plan.tasks.size() * names.size()));
      try {
        const bool has_child = measure::is_library(name) && !child.program.empty();
        results.push_back(
            has_child ? measure::measure_in_child(child, device, problem, name, plan.options)
                      : measure::measure_problem(device, problem, name, plan.options));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) break;
        throw;
      }
      results.back().trap = task.trap;
      results.back().scaled = scaled;
      tell_result(context, results.back(), ++done, plan.tasks.size() * names.size());
    }
    compare_rates(results, first);
  }
}

/// A threshold that nothing planned can meet.
void require_result(const std::vector<Threshold>& thresholds, const LibraryPlan& plan,
                    const std::vector<Device>& devices) {
  for (const Threshold& threshold : thresholds) {
    bool is_named = false;
    for (const Device& device : devices) {
      for (const LibraryTask& task : plan.tasks) {
        const Problem problem = problem_on(plan, task, device);
        for (const std::string& name : libraries_for(plan, device.platform())) {
          is_named =
              is_named || is_result_selected(measure::start_result(problem, name, device.id()),
                                             threshold.selector);
        }
      }
    }
    if (!is_named)
      refuse_library_threshold(threshold, plan.kind,
                               fmt::format("names no {} that will run", noun_of(plan.kind)));
  }
}

// ---- the verdict

std::optional<Error> find_library_error(const results::LibraryOutcome& outcome) {
  for (const LibraryResult& result : outcome.results) {
    if (result.status == Status::failed) return result.error;
  }
  if (outcome.count(Status::skipped) < outcome.results.size()) return outcome.error;
  for (const LibraryResult& result : outcome.results) {
    if (result.error && result.error->code() == ErrorCode::out_of_memory) return *result.error;
  }
  constexpr std::size_t most_reasons = 3;
  return Error(
      ErrorCode::unavailable, "run-kernel",
      fmt::format("no {} was computed: {}", noun_of(outcome.kind),
                  base::first_of(report::distinct_reasons(outcome.results), most_reasons, "; ")),
      "choose other libraries with --lib; --lib all measures every library of the platform");
}

int write_outcome(Context& context, results::LibraryOutcome& outcome) {
  Environment& environment = context.environment;
  const bool is_wrong = outcome.count(Status::mismatch) > 0;
  if (environment.cancel.is_cancelled()) {
    outcome.error = Error(ErrorCode::cancelled, "run-kernel", "interrupted");
  } else if (!is_wrong) {
    outcome.error = find_library_error(outcome);
    if (outcome.error) print_error(environment.console, *outcome.error);
  }
  report::Run run = make_run(environment, "run-kernel", is_wrong ? "mismatch" : "ok");
  const int exit_code = finish_run(run, environment, outcome.error ? &*outcome.error : nullptr,
                                   results::failures_of(outcome), is_wrong);
  context.output.write(results::library_report(std::move(run), outcome));
  return exit_code;
}

}  // namespace

bool is_library_run(const RunKernelOptions& options) {
  const auto& names = options.names;
  const bool is_one = names.size() == 1;
  const bool is_usual = is_one && (names[0] == "matmul" || names[0] == "conv2d");
  const bool is_alone =
      is_usual || (is_one && (names[0] == "avg_pool2d" || names[0] == "max_pool2d"));
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
                                                {"--time", !options.time.empty()}};
  const auto is_given = [](const auto& one) { return one.second; };
  const auto* const first_own = std::find_if(std::begin(own), std::end(own), is_given);
  const auto* const first_other = std::find_if(std::begin(other), std::end(other), is_given);
  if (first_own == std::end(own)) return is_usual && first_other == std::end(other);
  if (!is_alone) {
    throw usage_error(fmt::format("{} applies to matmul, conv2d, avg_pool2d or max_pool2d alone",
                                  first_own->first),
                      "hiptool run-kernel matmul " + std::string(first_own->first) + " ...");
  }
  if (first_other != std::end(other)) {
    throw usage_error(
        fmt::format("{} and {} cannot be combined", first_own->first, first_other->first),
        "leave out one of the two");
  }
  return true;
}

int run_libraries(const RunKernelOptions& options, Context& context) {
  const LibraryPlan plan = make_library_plan(options, context);
  measure::plain_thresholds(options.fail_below, ThresholdKind::kernels);  // rejects wrong ones
  const auto platforms = context.make_platforms();
  const std::vector<Device> devices = context.choose_devices(*platforms);
  const std::vector<Threshold> thresholds = measure::collect_thresholds(
      options.fail_below, devices, ThresholdKind::kernels, &context.environment.cancel);
  for (const Threshold& threshold : thresholds) {
    if (threshold.of == Threshold::Of::bytes_per_s) {
      refuse_library_threshold(
          threshold, plan.kind,
          fmt::format("is in bytes, and {}s have a rate in FLOP/s", noun_of(plan.kind)));
    }
  }
  require_result(thresholds, plan, devices);
  results::LibraryOutcome outcome;
  outcome.seed = plan.options.seed;
  outcome.kind = plan.kind;
  for (const Device& device : devices) {
    if (context.environment.cancel.is_cancelled()) break;
    measure_on(device, plan, context, outcome.results);
  }
  const bool has_run = outcome.count(Status::skipped) < outcome.results.size();
  if (has_run && !context.environment.cancel.is_cancelled())
    judge_library_thresholds(thresholds, outcome);
  return write_outcome(context, outcome);
}

}  // namespace hiptool::cli
