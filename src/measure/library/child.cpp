// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/library/child_run.hpp"
#include "measure/library/measure.hpp"

namespace hiptool::measure {
namespace {

using report::member;
using report::Object;
using report::Value;

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
  Object request = problem_value(problem);
  request.emplace_back("device", device.id());
  request.emplace_back("implementation", implementation);
  request.emplace_back("seed", options.seed);
  request.emplace_back("judge_s", options.judge_s);
  if (options.samples) request.emplace_back("samples", std::uint64_t{*options.samples});
  request.emplace_back("warm_up_s", options.warm_up_s);
  const ChildEnd end = run_measuring_child(child, "measure-library", implementation,
                                           std::move(request), options.cancel);
  if (end.record.is_absent()) {
    fail(result, end.code, end.reason);
  } else {
    apply_record(end.record, result);
  }
  return result;
}

void run_library_child(
    const std::string& request_path, const std::string& result_path,
    const std::function<std::unique_ptr<Platforms>(Platforms::Options)>& make_platforms) {
  ChildRequest child(request_path, result_path, make_platforms);
  const Value& request = child.request();
  const Device device = find_device(child.platforms(), report::text_of(member(request, "device")));
  LibraryOptions options;
  options.seed = whole_of(request, "seed");
  options.judge_s = report::number_of(member(request, "judge_s")).value_or(options.judge_s);
  if (const auto samples = report::count_of(member(request, "samples"))) options.samples = *samples;
  options.warm_up_s = report::number_of(member(request, "warm_up_s")).value_or(0);
  options.on_step = [&](const std::string& step) { child.write({{"step", step}}); };
  child.write(result_record(measure_problem(
      device, problem_of(request), report::text_of(member(request, "implementation")), options)));
}

}  // namespace hiptool::measure
