// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "measure/ops/sweep.hpp"
#include "report/document.hpp"
#include "report/remarks.hpp"
#include "results/run_kernel/report.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using measure::KernelResult;
using measure::LayoutResult;
using report::Status;
using report::Table;
using report::Tone;
using report::Unit;
using report::Value;

/// All types of one operation on one device.
struct SweptOperation {
  std::span<const KernelResult> types;

  const KernelResult& first() const { return types.front(); }
  /// Wrong outranks failed, and a part that was skipped does not matter.
  Status status() const {
    Status worst = Status::skipped;
    for (const Status rank : {Status::ok, Status::failed, Status::mismatch}) {
      if (report::count_status(types, rank) > 0) worst = rank;
    }
    return worst;
  }
  std::uint64_t cases() const {
    std::uint64_t sum = 0;
    for (const KernelResult& type : types) sum += type.cases;
    return sum;
  }
  std::uint64_t checked() const {
    std::uint64_t sum = 0;
    for (const KernelResult& type : types) sum += type.checked;
    return sum;
  }
  std::vector<std::string> layouts() const {
    std::vector<std::string> names;
    for (const KernelResult& type : types) {
      for (const LayoutResult& layout : type.layouts) base::add_once(names, layout.layout);
    }
    return names;
  }
  /// Of the digests of its types.
  std::string digest() const {
    std::vector<std::uint64_t> digests;
    for (const KernelResult& type : types) {
      digests.push_back(base::parse_number<std::uint64_t>(type.digest, 16).value_or(0));
    }
    return measure::join_digests(digests);
  }
};

std::vector<SweptOperation> group_operations(std::span<const KernelResult> results) {
  std::vector<SweptOperation> list;
  for (std::size_t begin = 0; begin < results.size();) {
    std::size_t end = begin;
    while (end < results.size() && results[end].kernel == results[begin].kernel &&
           results[end].destination == results[begin].destination) {
      ++end;
    }
    list.push_back({results.subspan(begin, end - begin)});
    begin = end;
  }
  return list;
}

Value operation_value(const SweptOperation& operation) {
  const auto dtype = [](const KernelResult& type) { return type.dtype; };
  const auto layouts = operation.layouts();
  return report::Object{{"name", operation.first().kernel},
                        {"group", operation.first().group},
                        {"device", operation.first().destination},
                        {"dtypes", report::array_of(operation.types, dtype)},
                        {"layouts", report::Array(layouts.begin(), layouts.end())},
                        {"status", to_string(operation.status())},
                        {"cases", operation.cases()},
                        {"checked", operation.checked()},
                        {"digest", operation.digest()}};
}

Table operations_table(const std::vector<SweptOperation>& operations) {
  Table table;
  table.columns = {{"operation", "Operation"},
                   {"device", "Device"},
                   {"types", "Types", Unit::count},
                   {"layouts", "Layouts", Unit::count},
                   {"cases", "Cases", Unit::count},
                   {"checked", "Elements", Unit::count},
                   {"status", "Result"}};
  for (const SweptOperation& one : operations) {
    table.rows.push_back({one.first().kernel, one.first().destination,
                          std::uint64_t{one.types.size()}, std::uint64_t{one.layouts().size()},
                          one.cases(), one.checked(), verdict_word(one.status())});
  }
  return table;
}

void add_wrong_lines(const KernelResult& result, std::vector<report::Line>& notes) {
  for (const LayoutResult& layout : result.layouts) {
    if (!layout.has_wrong) continue;
    std::string text = fmt::format("wrong: {} {} {}", result.id, layout.layout, layout.reason);
    if (layout.wrong) {
      text += fmt::format(": {}, xor 0x{:x}; {} wrong; {}",
                          report::expected_text(layout.wrong->expected, layout.wrong->got),
                          layout.wrong->xor_bits, base::count_of(layout.wrong->count, "element"),
                          report::second_read_text(*layout.wrong));
    }
    notes.push_back({Tone::bad, std::move(text)});
  }
}

void add_type_notes(const std::vector<KernelResult>& results, std::vector<report::Line>& notes) {
  std::vector<report::Remark> remarks;
  for (const KernelResult& result : results) {
    add_wrong_lines(result, notes);
    const bool is_failed = result.status == Status::failed;
    if (!is_failed && result.status != Status::skipped) continue;
    remarks.push_back(report::remark_of(result, is_failed ? Tone::bad : Tone::plain,
                                        fmt::format("{}: ", to_string(result.status)),
                                        result.reason));
  }
  for (report::Line& line : lines_of(remarks)) notes.push_back(std::move(line));
}

std::vector<report::Line> sweep_verdict(const BuiltinOutcome& outcome,
                                        const std::vector<SweptOperation>& operations) {
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t skipped = 0;
  std::uint64_t cases = 0;
  for (const SweptOperation& one : operations) {
    const Status status = one.status();
    right += status == Status::ok ? 1 : 0;
    wrong += status == Status::mismatch ? 1 : 0;
    skipped += status == Status::skipped ? 1 : 0;
    cases += one.cases();
  }
  std::string text =
      fmt::format("{} of {} right on {}: {}, every element compared; seed {}", right,
                  base::count_of(operations.size() - skipped, "operation"),
                  devices_of(outcome.results), base::count_of(cases, "case"), outcome.seed);
  if (skipped > 0) text += fmt::format("; {} skipped", skipped);
  return report::parts_verdict({.wrong = wrong,
                                .wrong_on = devices_with(outcome.results, Status::mismatch),
                                .error = outcome.error ? &*outcome.error : nullptr,
                                .counts = operations.empty() ? std::string() : std::move(text),
                                .first = "an operation"});
}

}  // namespace

std::string describe_operation(std::span<const KernelResult> types) {
  const SweptOperation one{types};
  return fmt::format("{}: {}, {}, {}: {}", one.first().kernel, base::count_of(types.size(), "type"),
                     base::count_of(one.layouts().size(), "layout"),
                     base::count_of(one.cases(), "case"), verdict_word(one.status()));
}

report::Report sweep_report(report::Run run, const BuiltinOutcome& outcome) {
  report::Report report = report::start_report(std::move(run));
  const std::vector<SweptOperation> operations = group_operations(outcome.results);
  report.verdict = sweep_verdict(outcome, operations);
  add_action_lines(report);
  std::vector<report::Measurement> measurements;
  for (const KernelResult& result : outcome.results) {
    measurements.push_back(measurement_of(result));
  }
  add_type_notes(outcome.results, report.notes);
  set_measurements(report, std::move(measurements));
  report.document.emplace_back("operations", report::array_of(operations, operation_value));
  report.document.emplace_back("sweep", outcome.sweep);
  report.document.emplace_back("seed", outcome.seed);
  report.tables = {operations_table(operations)};
  return report;
}

}  // namespace hiptool::results
