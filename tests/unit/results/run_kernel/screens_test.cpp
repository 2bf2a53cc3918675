// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <sstream>

#include "kept_screen.hpp"
#include "report/text.hpp"
#include "results/run_kernel/library.hpp"
#include "results/run_kernel/report.hpp"
#include "results/seconds.hpp"

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

namespace {

// With --together the results are in the order of kernels, without it in that of devices.
results::BuiltinOutcome kernels_of_gpus(int gpus, const std::vector<std::string>& names,
                                        bool is_together) {
  results::BuiltinOutcome outcome;
  const int kernels = static_cast<int>(names.size());
  for (int i = 0; i < gpus * kernels; ++i) {
    const int kernel = is_together ? i / gpus : i % kernels;
    KernelResult result = kernel_of(names[static_cast<std::size_t>(kernel)], "f32", 1e-3);
    result.destination = "nvidia:" + std::to_string(is_together ? i % gpus : i / kernels);
    result.id = measure::label_of(result) + "@" + result.destination;
    result.set_names();
    result.bytes_per_s = 1e12;
    outcome.results.push_back(result);
  }
  return outcome;
}

// "TITLE: first cell, first cell" of each table.
std::vector<std::string> outlines_of(const std::vector<report::Table>& tables) {
  std::vector<std::string> outlines;
  for (const report::Table& table : tables) {
    std::string text = table.title + ":";
    for (const auto& row : table.rows) text += " " + report::text_of(row.front());
    outlines.push_back(text + " (" + table.columns.front().key + ")");
  }
  return outlines;
}

}  // namespace

TEST_CASE("results of several devices: the fewest tables, each with all of its rows") {
  using Outlines = std::vector<std::string>;
  for (const bool is_together : {false, true}) {
    CAPTURE(is_together);
    const auto tables_of = [&](int gpus, const std::vector<std::string>& names) {
      return outlines_of(results::kernel_results_report(run_kernel_head(0),
                                                        kernels_of_gpus(gpus, names, is_together))
                             .tables);
    };
    CHECK(tables_of(3, {"copy", "fma"}) ==
          Outlines{"copy.f32.1GiB: nvidia:0 nvidia:1 nvidia:2 (device)",
                   "fma.f32.1GiB: nvidia:0 nvidia:1 nvidia:2 (device)"});
    CHECK(tables_of(2, {"copy", "fma"}) ==
          Outlines{"nvidia:0: copy fma (kernel)", "nvidia:1: copy fma (kernel)"});
    CHECK(tables_of(1, {"copy", "fma"}) == Outlines{": copy fma (kernel)"});
    CHECK(tables_of(2, {"copy"}) == Outlines{"copy.f32.1GiB: nvidia:0 nvidia:1 (device)"});
  }
}

TEST_CASE("rates of each second: a table for each measurement, or of one device one") {
  const auto measured_on = [](int gpus) {
    std::vector<report::Measurement> list;
    for (const char* name : {"soak.memory", "soak.products"}) {
      for (int i = 0; i < gpus; ++i) {
        report::Measurement one;
        one.label = name;
        one.destination = "nvidia:" + std::to_string(i);
        one.bytes_per_s = 2e12;
        one.details = {{"interval_s", 1.0},
                       {"least_per_s", 1e12},
                       {"median_per_s", 2e12},
                       {"most_per_s", 3e12},
                       {"deviation_per_s", 1e11}};
        list.push_back(std::move(one));
      }
    }
    list.emplace_back().label = "copy";  // has no seconds
    return list;
  };
  using Outlines = std::vector<std::string>;
  CHECK(outlines_of(results::seconds_tables(measured_on(2))) ==
        Outlines{"rates of each second: soak.memory: nvidia:0 nvidia:1 (device)",
                 "rates of each second: soak.products: nvidia:0 nvidia:1 (device)"});
  CHECK(outlines_of(results::seconds_tables(measured_on(1))) ==
        Outlines{"rates of each second on nvidia:0: soak.memory soak.products (measurement)"});
  CHECK(results::seconds_tables(measured_on(0)).empty());
  const auto csv = results::seconds_csv(measured_on(2));
  REQUIRE(csv);
  CHECK(csv->rows.size() == 4);
  CHECK(csv->columns[1].key == "device");
  CHECK(report::number_of(csv->rows[0][2]) == 1e12);
  CHECK_FALSE(results::seconds_csv(measured_on(0)));
}
