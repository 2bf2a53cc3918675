// SPDX-License-Identifier: MIT
#include "results/run_kernel/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "report/document.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using report::Value;
using user_kernel::KernelArgument;
using user_kernel::UserKernelRun;

/// The buffer that represents the run: one that is compared or printed, else the first.
const KernelArgument* main_buffer(const UserKernelRun& run) {
  if (!run.expected.empty()) return &run.arguments[run.expected.front().argument];
  if (!run.outputs.empty()) return &run.arguments[run.outputs.front()];
  const auto found = std::find_if(run.arguments.begin(), run.arguments.end(),
                                  [](const KernelArgument& one) { return one.is_buffer; });
  return found == run.arguments.end() ? nullptr : &*found;
}

/// Absent where an interrupt left no sample.
std::optional<double> median_of(const user_kernel::UserKernelResult& result) {
  if (result.samples_s.empty()) return std::nullopt;
  return base::median(result.samples_s);
}

/// Per second of the median launch; absent without a count.
std::optional<double> rate_of_count(std::uint64_t count,
                                    const user_kernel::UserKernelResult& result) {
  const std::optional<double> median_s = median_of(result);
  if (count == 0 || !median_s || *median_s <= 0) return std::nullopt;
  return static_cast<double>(count) / *median_s;
}

std::string rates_text(const UserKernelRun& run, const user_kernel::UserKernelResult& result) {
  std::string text;
  if (const auto rate = rate_of_count(run.bytes, result)) {
    text += ", " + report::format_value(*rate, report::Unit::rate);
  }
  if (const auto rate = rate_of_count(run.flops, result)) {
    text += ", " + report::format_value(*rate, report::Unit::operations);
  }
  return text;
}

Value dimensions_value(const Dim3& dimensions) {
  return report::Array{dimensions.x, dimensions.y, dimensions.z};
}

Value outside_value(const std::vector<user_kernel::OutsideWrite>& writes) {
  return report::array_of(writes, [](const user_kernel::OutsideWrite& write) {
    return report::Object{{"argument", std::uint64_t{write.argument}},
                          {"before_bytes", write.before_bytes},
                          {"behind_bytes", write.behind_bytes}};
  });
}

report::Array elements_of(const KernelArgument& argument, std::span<const std::byte> bytes,
                          std::uint64_t count) {
  const std::size_t size = user_kernel::size_bytes(argument.type);
  report::Array values;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.push_back(user_kernel::value_of(argument.type, bytes.subspan(i * size, size)));
  }
  return values;
}

Value outputs_value(const UserKernelRun& run, const std::vector<OutputWord>& words,
                    const user_kernel::UserKernelResult& result) {
  report::Array outputs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const KernelArgument& argument = run.arguments[words[i].argument];
    report::Object output{{"argument", std::uint64_t{words[i].argument}},
                          {"dtype", user_kernel::to_string(argument.type)}};
    const auto& printed = words[i].print_count;
    const auto& bytes = result.outputs[i].bytes;
    output.emplace_back("values", printed ? elements_of(argument, bytes, *printed) : Value());
    output.emplace_back("file", printed ? Value() : words[i].file);
    outputs.emplace_back(std::move(output));
  }
  return outputs;
}

Value rtol_value(const UserKernelRun& run) {
  if (!run.tolerance || run.tolerance->of_larger) return {};
  return run.tolerance->relative;
}

/// The samples during which the clocks were held down; absent if nobody was asked.
Value throttled_value(const user_kernel::UserKernelResult& result) {
  if (result.throttle_reasons.empty()) return {};
  report::Array samples;
  for (std::size_t i = 0; i < result.throttle_reasons.size(); ++i) {
    if (result.throttle_reasons[i].empty()) continue;
    samples.push_back(
        report::Object{{"sample", std::uint64_t{i}}, {"reason", result.throttle_reasons[i]}});
  }
  return samples;
}

Value unwritten_value(const user_kernel::UserKernelResult& result) {
  return report::array_of(result.unwritten, [](const user_kernel::Unwritten& one) {
    return report::Object{{"argument", std::uint64_t{one.argument}},
                          {"count", one.count},
                          {"first_index", one.first_index}};
  });
}

Value difference_value(const user_kernel::UserKernelResult& result) {
  if (!result.difference) return {};
  const report::WrongData& wrong = result.difference->wrong;
  return report::Object{{"repeat", result.difference->repeat},
                        {"argument", std::uint64_t{wrong.argument}},
                        {"first_index", *wrong.first_index},
                        {"first", wrong.expected},
                        {"got", wrong.got},
                        {"count", wrong.count}};
}

report::Object details_of(const UserKernelRun& run, const std::vector<OutputWord>& words,
                          const UserKernelOutcome& outcome) {
  const user_kernel::UserKernelResult& result = outcome.result;
  const KernelArgument* const buffer = main_buffer(run);
  return {{"kernel", outcome.kernel},
          {"elements", buffer == nullptr ? Value() : Value(buffer->count)},
          {"image", outcome.image},
          {"grid", dimensions_value(run.config.grid)},
          {"block", dimensions_value(run.config.block)},
          {"shared_bytes", run.config.shared_bytes},
          {"outside", outside_value(result.outside)},
          {"outputs", outputs_value(run, words, result)},
          {"timer", result.is_device_time ? "events" : "host"},
          {"cache", run.is_cold ? "cold" : "warm"},
          {"flush_bytes", result.flush_bytes},
          {"rtol", rtol_value(run)},
          {"atol",
           run.tolerance && !run.tolerance->of_larger ? Value(run.tolerance->absolute) : Value()},
          {"refused_zeros", result.refused_zeros},
          {"throttled", throttled_value(result)},
          {"repeats", result.repeats},
          {"seed", run.repeats > 1 ? Value(run.seed) : Value()},
          {"digest", result.digest ? Value(base::to_hex(*result.digest)) : Value()},
          {"unwritten", unwritten_value(result)},
          {"difference", difference_value(result)}};
}

/// Samples before an interrupt are good; without one there is nothing to compare.
report::Status module_status(const user_kernel::UserKernelResult& result) {
  if (!result.is_right()) return report::Status::mismatch;
  return result.samples_s.empty() ? report::Status::interrupted : report::Status::ok;
}

report::Measurement measurement_of(const UserKernelRun& run, const std::vector<OutputWord>& words,
                                   const UserKernelOutcome& outcome) {
  const user_kernel::UserKernelResult& result = outcome.result;
  report::Measurement measured;
  const KernelArgument* const buffer = main_buffer(run);
  if (buffer != nullptr) measured.dtype = user_kernel::to_string(buffer->type);
  measured.kind = "module";
  measured.series = outcome.kernel;
  if (buffer != nullptr) measured.series += "." + measured.dtype;
  measured.label = measured.series;
  if (buffer != nullptr) measured.label += "." + std::to_string(buffer->count);
  measured.id = measured.label + "." + outcome.device;
  measured.destination = outcome.device;
  measured.devices = {outcome.device};
  measured.status = module_status(result);
  if (measured.status == report::Status::interrupted) measured.reason = "interrupted";
  measured.wrong = result.wrong;
  measured.samples_s = result.samples_s;
  measured.median_s = median_of(result);
  measured.bytes_per_s = rate_of_count(run.bytes, result);
  measured.flops_per_s = rate_of_count(run.flops, result);
  if (!run.expected.empty()) measured.checked = result.checked;
  measured.max_error = result.max_error.value_or(0);
  const bool is_of_larger = !run.tolerance || run.tolerance->of_larger;
  if (result.max_error && is_of_larger) {
    measured.tolerance = run.tolerance ? *run.tolerance->of_larger : 0;
  }
  measured.details = details_of(run, words, outcome);
  return measured;
}

std::string zeros_text(const user_kernel::UserKernelResult& result) {
  if (result.refused_zeros == 0) return {};
  return fmt::format(
      "; {} within the tolerance, as the output of a kernel that writes nothing would be",
      base::count_of(result.refused_zeros, "zero"));
}

/// ", cold cache, 3 of 20 samples throttled (power cap), median of the others 5 us"
std::string conditions_text(const UserKernelRun& run, const user_kernel::UserKernelResult& result) {
  std::string text = run.is_cold ? ", cold cache" : "";
  std::vector<double> others;
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < result.throttle_reasons.size(); ++i) {
    if (result.throttle_reasons[i].empty()) {
      others.push_back(result.samples_s[i]);
    } else {
      base::add_once(reasons, result.throttle_reasons[i]);
    }
  }
  if (reasons.empty()) return text;
  const std::size_t count = result.samples_s.size();
  text += fmt::format(", {} of {} throttled ({})", count - others.size(),
                      base::count_of(count, "sample"), base::first_of(reasons, 3));
  if (!others.empty()) {
    text += ", median of the others " +
            report::format_value(base::median(others), report::Unit::duration);
  }
  return text;
}

report::Line verdict_line(const UserKernelRun& run, const UserKernelOutcome& outcome) {
  const auto& result = outcome.result;
  const std::string subject = fmt::format("{} on {}", outcome.kernel, outcome.device);
  if (result.wrong) {
    const report::WrongData& wrong = *result.wrong;
    return report::failure_line(
        fmt::format("wrong result of {}: {} of {} of argument {} differ, first at {}: "
                    "{}, xor 0x{:x}; {}{}",
                    subject, wrong.count,
                    base::plain_count_of(run.arguments[wrong.argument].count, "element"),
                    wrong.argument, *wrong.first_index,
                    report::expected_text(wrong.expected, wrong.got), wrong.xor_bits,
                    report::second_read_text(wrong),
                    wrong.reread_agrees ? "" : ": suspect the memory or the copy") +
        zeros_text(result));
  }
  const std::optional<double> median_s = median_of(result);
  const std::string time =
      (median_s ? " in " + report::format_value(*median_s, report::Unit::duration) : "") +
      rates_text(run, result) + conditions_text(run, result);
  const std::string same =
      result.repeats > 1 ? fmt::format(", {} repeats with the same results", result.repeats) : "";
  if (run.expected.empty()) {
    return {result.repeats > 1 ? report::Tone::good : report::Tone::plain,
            fmt::format("ran {}{}{}{}", subject, time, same,
                        result.repeats > 1 ? "" : ", result not checked")};
  }
  return {report::Tone::good, fmt::format("ran {}{}, {} as expected{}", subject, time,
                                          base::plain_count_of(result.checked, "element"), same)};
}

/// How far each device came.
void add_interrupts(const UserKernelRun& run, const std::vector<UserKernelOutcome>& outcomes,
                    std::vector<report::Line>& verdict) {
  const std::size_t before = verdict.size();
  for (const UserKernelOutcome& outcome : outcomes) {
    const user_kernel::UserKernelResult& result = outcome.result;
    if (!result.was_interrupted) continue;
    const bool in_repeats = result.repeats < run.repeats;
    verdict.push_back(
        report::failure_line(fmt::format("interrupted on {} after {} of {}", outcome.device,
                                         in_repeats ? result.repeats : result.samples_s.size(),
                                         in_repeats ? base::count_of(run.repeats, "repeat")
                                                    : base::count_of(run.samples, "sample"))));
  }
  if (verdict.size() == before) {
    verdict.push_back(report::failure_line(
        fmt::format("interrupted after {}", base::count_of(outcomes.size(), "device"))));
  }
}

void add_repeats(const UserKernelRun& run, const UserKernelOutcome& outcome,
                 std::vector<report::Line>& verdict) {
  const std::string subject = fmt::format("{} on {}", outcome.kernel, outcome.device);
  for (const user_kernel::Unwritten& one : outcome.result.unwritten) {
    const KernelArgument& argument = run.arguments[one.argument];
    verdict.push_back(report::failure_line(
        fmt::format("wrong: {} did not write {} of {} of argument {} ({}), the first at {}",
                    subject, one.count, base::plain_count_of(argument.count, "element"),
                    one.argument, argument.text, one.first_index)));
  }
  if (!outcome.result.difference) return;
  const report::WrongData& wrong = outcome.result.difference->wrong;
  const auto [before, now] = report::distinct_texts(wrong.expected, wrong.got, report::Unit::none);
  verdict.push_back(report::failure_line(fmt::format(
      "wrong: {} gave another result in repeat {}: {} of {} of argument {} differ, first at {}: "
      "{}, before {}",
      subject, outcome.result.difference->repeat + 1, wrong.count,
      base::plain_count_of(run.arguments[wrong.argument].count, "element"), wrong.argument,
      *wrong.first_index, now, before)));
}

/// The cause is a buffer that is too small, or a kernel that does not check its index.
void add_outside(const UserKernelRun& run, const UserKernelOutcome& outcome,
                 std::vector<report::Line>& verdict) {
  for (const user_kernel::OutsideWrite& write : outcome.result.outside) {
    std::string text =
        fmt::format("wrong: {} on {} wrote outside argument {} ({}):", outcome.kernel,
                    outcome.device, write.argument, run.arguments[write.argument].text);
    if (write.before_bytes > 0) {
      text += " " + base::plain_count_of(write.before_bytes, "byte") + " before it";
    }
    if (write.behind_bytes > 0) {
      text += " " + base::plain_count_of(write.behind_bytes, "byte") + " after its end";
    }
    verdict.push_back(report::failure_line(std::move(text)));
  }
}

report::Table results_table(const UserKernelRun& run,
                            const std::vector<UserKernelOutcome>& outcomes) {
  report::Table table;
  table.columns = {{"kernel", "Kernel"},
                   {"device", "Device"},
                   {"image", "Image"},
                   {"samples", "Samples", report::Unit::count},
                   {"median_s", "Median", report::Unit::duration}};
  if (run.bytes > 0) table.columns.push_back({"bytes_per_s", "Rate", report::Unit::rate});
  if (run.flops > 0) table.columns.push_back({"flops_per_s", "Flops", report::Unit::operations});
  table.columns.push_back({"checked", "Checked", report::Unit::count});
  table.columns.push_back({"max_error", "Max error"});
  table.columns.push_back({"status", "Status"});
  for (const UserKernelOutcome& outcome : outcomes) {
    const auto& result = outcome.result;
    std::vector<Value> row{outcome.kernel, outcome.device, outcome.image,
                           std::uint64_t{result.samples_s.size()}, median_of(result)};
    if (run.bytes > 0) row.emplace_back(rate_of_count(run.bytes, result));
    if (run.flops > 0) row.emplace_back(rate_of_count(run.flops, result));
    row.push_back(run.expected.empty() ? Value() : Value(result.checked));
    row.emplace_back(result.max_error);
    row.emplace_back(report::to_string(module_status(result)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_printed(const UserKernelRun& run, const std::vector<OutputWord>& words,
                 const UserKernelOutcome& outcome, std::vector<report::Line>& notes) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].print_count) continue;
    const KernelArgument& argument = run.arguments[words[i].argument];
    std::string line = fmt::format("{} argument {} ({}):", outcome.device, words[i].argument,
                                   user_kernel::to_string(argument.type));
    for (const Value& value :
         elements_of(argument, outcome.result.outputs[i].bytes, *words[i].print_count)) {
      line += " " + report::format_value(value, report::Unit::none);
    }
    notes.push_back({report::Tone::plain, std::move(line)});
  }
}

}  // namespace

std::vector<report::Failure> failures_of(const UserKernelRun& run,
                                         const std::vector<OutputWord>& outputs,
                                         const std::vector<UserKernelOutcome>& outcomes) {
  std::vector<report::Measurement> measurements;
  for (const UserKernelOutcome& one : outcomes) {
    measurements.push_back(measurement_of(run, outputs, one));
  }
  std::vector<report::Failure> failures;
  add_failures_of_wrong(measurements, failures);
  return failures;
}

report::Report user_kernel_report(report::Run head, const UserKernelRun& run,
                                  const std::vector<OutputWord>& outputs,
                                  const std::vector<UserKernelOutcome>& outcomes,
                                  bool is_interrupted) {
  report::Report report = report::start_report(std::move(head));
  std::vector<report::Measurement> measurements;
  for (const UserKernelOutcome& outcome : outcomes) {
    measurements.push_back(measurement_of(run, outputs, outcome));
    const bool has_other_fault = !outcome.result.wrong && !outcome.result.is_right();
    if (!has_other_fault) report.verdict.push_back(verdict_line(run, outcome));
    add_outside(run, outcome, report.verdict);
    add_repeats(run, outcome, report.verdict);
    add_printed(run, outputs, outcome, report.notes);
  }
  if (is_interrupted) add_interrupts(run, outcomes, report.verdict);
  // Devices with wrong results come first, then interrupts.
  std::stable_partition(report.verdict.begin(), report.verdict.end(),
                        [](const report::Line& line) { return line.tone == report::Tone::bad; });
  set_measurements(report, std::move(measurements));
  report.tables = {results_table(run, outcomes)};
  return report;
}

}  // namespace hiptool::results
