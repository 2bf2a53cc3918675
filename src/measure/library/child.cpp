// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/library/measure.hpp"
#include "system/child_process.hpp"

namespace hiptool::measure {
namespace {

using report::member;
using report::Object;
using report::Value;

constexpr std::uint64_t most_file_bytes = 16u << 20;

// ---- problems and results as JSON

/// The shape is as the command line takes it.
Object problem_value(const Problem& problem) {
  const ProblemTypes& types = types_of(problem);
  Object value{{"kernel", to_string(kind_of(problem))},
               {"shape", shape_word(problem)},
               {"dtype", to_string(types.dtype)},
               {"result", to_string(types.result)},
               {"compute", to_string(types.compute)}};
  if (const MatmulProblem* const product = matmul_of(problem)) {
    value.emplace_back("batch", product->batch);
    value.emplace_back("transpose", transpose_word(*product));
  }
  return value;
}

std::uint64_t whole_of(const Value& value, std::string_view name) {
  return report::count_of(member(value, name)).value_or(0);
}

Problem problem_of(const Value& value) {
  const auto text = [&](std::string_view name) { return report::text_of(member(value, name)); };
  Problem problem;
  if (text("kernel") == to_string(ProblemKind::matmul)) {
    MatmulProblem product;
    product.batch = whole_of(value, "batch");
    set_transposes(product, text("transpose") + "nn");
    problem = product;
  } else {
    for (const ProblemKind kind : problem_kinds) {
      if (text("kernel") == to_string(kind)) problem = empty_problem(kind);
    }
  }
  set_shape(problem, text("shape"));
  ProblemTypes& types = types_of(problem);
  types.dtype = dtype_from_name(text("dtype")).value_or(DType::f32);
  types.result = dtype_from_name(text("result")).value_or(DType::f32);
  for (const Compute one :
       {Compute::f64, Compute::f32, Compute::tf32, Compute::f16, Compute::i32}) {
    if (to_string(one) == text("compute")) types.compute = one;
  }
  return problem;
}

Value wrong_record(const report::WrongData& wrong) {
  return Object{{"first", wrong.first_index}, {"expected", wrong.expected},
                {"got", wrong.got},           {"xor", wrong.xor_bits},
                {"count", wrong.count},       {"reread", wrong.reread_agrees}};
}

bool flag_of(const Value& value, std::string_view name) {
  const bool* const flag = std::get_if<bool>(&member(value, name).data());
  return flag != nullptr && *flag;
}

/// Numbers that JSON cannot hold are absent.
Value real_of(const Value& value, std::string_view name) {
  const auto number = report::number_of(member(value, name));
  return number ? Value(*number) : Value(std::nan(""));
}

report::WrongData wrong_of(const Value& value) {
  report::WrongData wrong;
  wrong.first_index = report::count_of(member(value, "first"));
  wrong.expected = real_of(value, "expected");
  wrong.got = real_of(value, "got");
  wrong.xor_bits = whole_of(value, "xor");
  wrong.count = whole_of(value, "count");
  wrong.reread_agrees = flag_of(value, "reread");
  return wrong;
}

Object result_record(const LibraryResult& result) {
  Object record{{"status", to_string(result.status)},
                {"reason", result.reason},
                {"checked", result.checked},
                {"max_error", result.max_error},
                {"samples_s", report::Array(result.samples_s.begin(), result.samples_s.end())},
                {"median_s", result.median_s},
                {"flops_per_s", result.flops_per_s},
                {"share", result.share_of_limit},
                {"limit_source", result.limit_source},
                {"share_reason", result.share_reason},
                {"is_above_limit", result.is_above_limit},
                {"version", result.library_version},
                {"path", result.library_path},
                {"data", result.data},
                {"where", result.where},
                {"counts_all", result.counts_all},
                {"judged_share", result.judged_share},
                {"terms_per_s", result.terms_per_s},
                {"has_same_bits", result.has_same_bits}};
  if (result.wrong) record.emplace_back("wrong", wrong_record(*result.wrong));
  return record;
}

void apply_record(const Value& record, LibraryResult& result) {
  const auto text = [&](std::string_view name) { return report::text_of(member(record, name)); };
  const auto number = [&](std::string_view name) {
    return report::number_of(member(record, name));
  };
  result.status = report::parse_status(text("status"));
  result.reason = text("reason");
  result.checked = whole_of(record, "checked");
  result.max_error = number("max_error").value_or(0);
  for (const Value& one : report::elements(member(record, "samples_s"))) {
    if (const auto sample = report::number_of(one)) result.samples_s.push_back(*sample);
  }
  result.median_s = number("median_s");
  result.flops_per_s = number("flops_per_s");
  result.share_of_limit = number("share");
  result.limit_source = text("limit_source");
  result.share_reason = text("share_reason");
  result.is_above_limit = flag_of(record, "is_above_limit");
  result.library_version = text("version");
  result.library_path = text("path");
  result.data = text("data");
  result.where = text("where");
  result.counts_all = flag_of(record, "counts_all");
  result.judged_share = number("judged_share").value_or(1);
  result.terms_per_s = number("terms_per_s").value_or(0);
  result.has_same_bits = flag_of(record, "has_same_bits");
  if (const Value& wrong = member(record, "wrong"); !wrong.is_absent()) {
    result.wrong = wrong_of(wrong);
  }
  if (result.status == Status::failed) {
    result.error = Error(ErrorCode::device, result.library, result.reason);
  } else if (result.status == Status::skipped) {
    result.error = Error(ErrorCode::unsupported, result.library, result.reason);
  }
}

/// The last complete lines of that kind in what the child wrote.
struct ChildWords {
  std::string step;
  Value result;

  explicit ChildWords(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      try {
        const Value record = report::parse_json(line, "measurement");
        const std::string name = report::text_of(member(record, "step"));
        if (!name.empty()) step = name;
        if (!member(record, "status").is_absent()) result = record;
      } catch (const Error&) {
        // The child ended while it wrote this line.
      }
    }
  }
};

std::string last_line(std::string text) {
  constexpr std::size_t most = 200;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t end = text.rfind('\n');
  if (end != std::string::npos) text.erase(0, end + 1);
  return text.substr(0, most);
}

void fail(LibraryResult& result, ErrorCode code, std::string reason) {
  result.status = Status::failed;
  result.error = Error(code, result.library, reason);
  result.reason = std::move(reason);
}

}  // namespace

LibraryResult measure_in_child(const LibraryChild& child, const Device& device,
                               const Problem& problem, const std::string& implementation,
                               const LibraryOptions& options) {
  LibraryResult result = start_result(problem, implementation, device.id());
  const system::WorkFolder folder;
  const std::string request_path = folder.file("request");
  const std::string result_path = folder.file("result");
  Object request = problem_value(problem);
  request.emplace_back("device", device.id());
  request.emplace_back("implementation", implementation);
  request.emplace_back("seed", options.seed);
  request.emplace_back("judge_s", options.judge_s);
  if (options.samples) request.emplace_back("samples", std::uint64_t{*options.samples});
  request.emplace_back("warm_up_s", options.warm_up_s);
  report::Array ordinals;
  for (const int ordinal : child.nvidia_ordinals) ordinals.emplace_back(ordinal);
  request.emplace_back("nvidia_ordinals", std::move(ordinals));
  request.emplace_back("system_root", child.system_root);
  std::ofstream(request_path) << report::json_text(request);
  system::ChildLimits limits;
  limits.time = std::chrono::milliseconds(static_cast<std::int64_t>(child.timeout_s * 1000));
  limits.memory_bytes = 0;
  limits.has_cpu_limit = false;
  system::ChildRun run;
  try {
    run = system::run_child({child.program, "measure-library", request_path, result_path}, folder,
                            limits, options.cancel);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    fail(result, error.code(), error.what());
    return result;
  }
  const ChildWords words(system::read_text(result_path));
  const std::string step = words.step.empty() ? "starting" : words.step;
  if (!run.status) {
    fail(result, ErrorCode::timed_out,
         implementation + " did not return within " + format_duration(child.timeout_s) +
             " and was killed during: " + step);
  } else if (!words.result.is_absent()) {
    apply_record(words.result, result);  // what happens at the exit of a library changes nothing
  } else {
    std::string reason = "the process of " + implementation + " " +
                         system::describe_end(*run.status) + " during: " + step;
    if (const std::string line = last_line(run.output); !line.empty())
      reason += "; it wrote: " + line;
    fail(result, ErrorCode::device, std::move(reason));
  }
  return result;
}

void run_library_child(
    const std::string& request_path, const std::string& result_path,
    const std::function<std::unique_ptr<Platforms>(Platforms::Options)>& make_platforms) {
  const Value request =
      report::parse_json(base::read_input_file(request_path, most_file_bytes), request_path);
  std::ofstream out(result_path, std::ios::binary);
  const auto write = [&](const Object& record) {
    out << report::json_text(record) << '\n';
    out.flush();
  };
  Platforms::Options platform_options = Platforms::Options::from_environment();
  platform_options.system_root = report::text_of(member(request, "system_root"));
  for (const Value& one : report::elements(member(request, "nvidia_ordinals"))) {
    platform_options.nvidia_ordinals.push_back(
        static_cast<int>(report::number_of(one).value_or(0)));
  }
  const auto platforms = make_platforms(std::move(platform_options));
  const Device device = find_device(*platforms, report::text_of(member(request, "device")));
  LibraryOptions options;
  options.seed = whole_of(request, "seed");
  options.judge_s = report::number_of(member(request, "judge_s")).value_or(options.judge_s);
  if (const auto samples = report::count_of(member(request, "samples"))) options.samples = *samples;
  options.warm_up_s = report::number_of(member(request, "warm_up_s")).value_or(0);
  options.on_step = [&](const std::string& step) { write({{"step", step}}); };
  write(result_record(measure_problem(
      device, problem_of(request), report::text_of(member(request, "implementation")), options)));
}

}  // namespace hiptool::measure
