// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <sstream>

#include "kept_screen.hpp"
#include "report/text.hpp"
#include "results/run_kernel/library.hpp"
#include "results/run_kernel/report.hpp"

using namespace hiptool;
using measure::KernelResult;
using measure::LibraryResult;

namespace {

report::Run run_kernel_head(int exit_code, std::vector<report::Failure> failures = {}) {
  report::Run run;
  run.command = "run-kernel";
  run.end(exit_code, std::move(failures));
  return run;
}

template <class Result>
void set_time(Result& result, double median_s) {
  for (const double step : {0.0, 0.01, -0.01}) result.samples_s.push_back(median_s * (1 + step));
  result.median_s = median_s;
}

KernelResult kernel_of(const std::string& name, const std::string& dtype, double median_s) {
  KernelResult result;
  result.kernel = name;
  result.kind = "kernel";
  result.dtype = dtype;
  result.destination = "nvidia:0";
  result.size_bytes = std::uint64_t{1} << 30;
  result.size_word = "1GiB";
  result.id = measure::label_of(result) + "@" + result.destination;
  result.set_names();
  result.checked = std::uint64_t{1} << 28;
  set_time(result, median_s);
  return result;
}

results::BuiltinOutcome builtin_kernels() {
  results::BuiltinOutcome outcome;
  KernelResult triad = kernel_of("stream-triad", "f32", 1.07e-3);
  triad.bytes_per_s = 3.01e12;
  triad.share_of_limit = 0.898;
  KernelResult fma = kernel_of("fma", "f32", 2.0e-3);
  fma.flops_per_s = 60.1e12;
  fma.share_of_limit = 0.9;
  KernelResult skipped = kernel_of("wmma", "f64", 0);
  skipped.status = report::Status::skipped;
  skipped.reason = "no kernel image of this package runs on sm_60";
  skipped.samples_s.clear();
  skipped.median_s.reset();
  skipped.checked = 0;
  outcome.results = {triad, fma, skipped};
  return outcome;
}

results::BuiltinOutcome wrong_kernels() {
  results::BuiltinOutcome outcome = builtin_kernels();
  KernelResult& bad = outcome.results.front();
  bad.status = report::Status::mismatch;
  bad.wrong = report::WrongData{1000, 2.5, 2.25, 0x100000, 3, true, 0};
  return outcome;
}

results::LibraryOutcome matmuls() {
  results::LibraryOutcome outcome;
  const measure::Problem problem = measure::default_problem(measure::ProblemKind::matmul, false);
  for (const auto& [library, rate] :
       std::vector<std::pair<std::string, double>>{{"own", 4.1e12}, {"cublas", 51e12}}) {
    LibraryResult result = measure::start_result(problem, library, "nvidia:0");
    result.checked = result.elements;
    result.max_error = 0.21;
    result.flops_per_s = rate;
    set_time(result, flops_of(problem) / rate);
    result.share_of_fastest = rate / 51e12;
    if (library != "own") {
      result.library_version = "12.4.5";
      result.library_path = "/usr/local/cuda/lib64/libcublas.so.12";
    }
    outcome.results.push_back(std::move(result));
  }
  LibraryResult missing = measure::start_result(problem, "cublaslt", "nvidia:0");
  missing.status = report::Status::skipped;
  missing.reason = "libcublasLt.so was not found";
  outcome.results.push_back(std::move(missing));
  return outcome;
}

struct ModuleRun {
  user_kernel::UserKernelRun run;
  std::vector<results::OutputWord> words;
  results::UserKernelOutcome outcome;

  report::Report written(int exit_code) const {
    return results::user_kernel_report(run_kernel_head(exit_code), run, words, {outcome},
                                       outcome.result.was_interrupted);
  }
};

ModuleRun module_run() {
  ModuleRun made;
  user_kernel::UserKernelRun& run = made.run;
  run.config.grid = {4, 1, 1};
  run.config.block = {256, 1, 1};
  run.samples = 5;
  run.bytes = 12288;
  run.arguments.push_back(user_kernel::parse_kernel_argument("buf:f32:1024:zeros"));
  run.arguments.push_back(user_kernel::parse_kernel_argument("i32:1024"));
  run.outputs = {0};
  run.expected = {{0, run.arguments[0].bytes}};
  made.words.emplace_back();
  made.words.back().argument = 0;
  made.words.back().print_count = 4;
  made.outcome.device = "nvidia:0";
  made.outcome.kernel = "saxpy";
  made.outcome.image = "compiled for sm_90";
  made.outcome.result.samples_s = {5.0e-6, 5.1e-6, 4.9e-6, 5.2e-6, 5.0e-6};
  made.outcome.result.checked = 1024;
  made.outcome.result.outputs = {{0, run.arguments[0].bytes}};
  return made;
}

ModuleRun interrupted_module(std::size_t samples) {
  ModuleRun made = module_run();
  made.outcome.result.samples_s.resize(samples);
  made.outcome.result.was_interrupted = true;
  return made;
}

std::string first_line(const report::Report& report) { return report.verdict.front().text; }

}  // namespace

TEST_CASE("the screens of run-kernel") {
  test::check_kept_screen("run-kernel",
                          results::kernel_results_report(run_kernel_head(0), builtin_kernels()));
  test::check_kept_screen("run-kernel-wrong",
                          results::kernel_results_report(run_kernel_head(5), wrong_kernels()));
  test::check_kept_screen("run-kernel-list",
                          results::kernel_list_report(run_kernel_head(0), measure::list_kernels()));
  test::check_kept_screen("run-kernel-matmul",
                          results::library_report(run_kernel_head(0), matmuls()));
  test::check_kept_screen("run-kernel-module", module_run().written(0));
  test::check_kept_screen("run-kernel-module-interrupted", interrupted_module(2).written(130));
}

TEST_CASE("an interrupted kernel of a module keeps its samples, or else its check") {
  const report::Report some = interrupted_module(2).written(130);
  CHECK(first_line(some) == "interrupted on nvidia:0 after 2 of 5 samples");
  CHECK(some.verdict[1].text.starts_with("ran saxpy on nvidia:0 in 5.05 us, 2.43 GB/s"));
  CHECK(some.measurements.front().status == report::Status::ok);
  CHECK(some.measurements.front().samples_s.size() == 2);
  const report::Report none = interrupted_module(0).written(130);
  CHECK(first_line(none) == "interrupted on nvidia:0 after 0 of 5 samples");
  CHECK(none.verdict[1].text == "ran saxpy on nvidia:0, 1024 elements as expected");
  CHECK(none.measurements.front().status == report::Status::interrupted);
  CHECK_FALSE(none.measurements.front().median_s);
  ModuleRun repeats = interrupted_module(0);
  repeats.run.repeats = 3;
  CHECK(first_line(repeats.written(130)) == "interrupted on nvidia:0 after 1 of 3 repeats");
  // A wrong result stays the first word.
  ModuleRun bad = interrupted_module(2);
  bad.outcome.result.wrong = report::WrongData{7, 1.0, 2.0, 1, 1, true, 0};
  const report::Report wrong = bad.written(5);
  CHECK(first_line(wrong).starts_with("wrong result of saxpy on nvidia:0"));
  CHECK(wrong.measurements.front().status == report::Status::mismatch);
}
