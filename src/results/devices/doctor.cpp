// SPDX-License-Identifier: MIT
#include "results/devices/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "machine/codes.hpp"
#include "machine/vendor_tools.hpp"
#include "report/fields.hpp"
#include "report/verdict.hpp"

namespace hiptool::results {
namespace {

using machine::Check;
using machine::Severity;

std::size_t count_of(const std::vector<Check>& checks, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [severity](const Check& check) { return check.severity == severity; }));
}

std::string ids_of(const std::vector<Check>& checks, std::initializer_list<Severity> severities) {
  std::vector<std::string> ids;
  for (const Severity severity : severities) {
    for (const Check& check : checks) {
      if (check.severity == severity) base::add_once(ids, check.id);
    }
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

report::Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::pass: return report::Tone::good;
    case Severity::warn: return report::Tone::warning;
    case Severity::fail: return report::Tone::bad;
    case Severity::info:
    case Severity::unknown: break;
  }
  return report::Tone::plain;
}

// "12 errors" of "nvidia:0: 12 errors".
std::string_view without_device(const Check& check) {
  std::string_view read = check.read;
  const bool is_named = !check.device.empty() && read.starts_with(check.device + ": ");
  if (is_named) read.remove_prefix(check.device.size() + 2);
  return read;
}

bool is_same_finding(const Check& left, const Check& right) {
  const auto platform_of = [](const Check& check) {
    return std::string_view(check.device).substr(0, check.device.find(':'));
  };
  const std::string_view read = without_device(left);
  return platform_of(left) == platform_of(right) && left.id == right.id &&
         left.code == right.code && read != left.read && read == without_device(right);
}

/// A finding of one severity, and all devices that have it.
struct SharedCheck {
  const Check* first;
  std::vector<std::string> devices;
  std::vector<std::string> fixes;  ///< of each device

  std::string read() const {
    if (devices.size() < 2) return first->read;
    return base::ranges_of(devices) + ": " + std::string(without_device(*first));
  }
};

// In the verbose list each device has its line, because sources may differ.
std::vector<SharedCheck> shared_checks(const std::vector<Check>& checks, Severity severity,
                                       bool verbose) {
  std::vector<SharedCheck> list;
  for (const Check& check : checks) {
    if (check.severity != severity) continue;
    auto same = std::find_if(list.begin(), list.end(), [&](const SharedCheck& one) {
      return !verbose && is_same_finding(*one.first, check);
    });
    if (same == list.end()) same = list.insert(list.end(), SharedCheck{&check, {}, {}});
    same->devices.push_back(check.device);
    if (!check.fix.empty()) same->fixes.push_back(check.fix);
  }
  return list;
}

void add_in_full(const SharedCheck& shared, bool verbose, std::vector<report::Line>& lines) {
  const Check& check = *shared.first;
  lines.push_back({tone_of(check.severity),
                   std::string(to_string(check.severity)) + " " + check.id + ": " + shared.read() +
                       (check.code.empty() ? "" : " [" + check.code + "]")});
  for (const std::string& fix : machine::joined_fixes(shared.fixes)) {
    lines.push_back({report::Tone::plain, "  fix: " + fix});
  }
  if (!verbose) return;
  std::string text = "  read from " + check.source;
  if (!check.expected.empty()) text += "; expected: " + check.expected;
  lines.push_back({report::Tone::plain, std::move(text)});
}

void add_unknown(const std::vector<Check>& checks, std::vector<report::Line>& lines) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Check& check : checks) {
    if (check.severity != Severity::unknown) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& reason) { return reason.first == check.read; });
    if (same == reasons.end()) {
      reasons.emplace_back(check.read, check.id);
    } else {
      same->second += ", " + check.id;
    }
  }
  for (const auto& [reason, ids] : reasons) {
    lines.push_back({report::Tone::plain, "unknown " + ids + ": " + reason});
  }
}

}  // namespace

report::Table libraries_table(const std::vector<machine::LibraryAnswer>& libraries) {
  using Library = machine::LibraryAnswer;
  return report::Fields<Library>{
      {{"platform"}, [](const Library& one) { return to_string(one.platform); }},
      {{"name"}, &Library::name},
      {{"version"}, report::text_or_absent(&Library::version)},
      {{"path"}, report::text_or_absent(&Library::path)},
      {{"reason"}, report::text_or_absent(&Library::reason)}}
      .rows(libraries);
}

report::Table checks_table(const std::vector<Check>& checks) {
  return report::Fields<Check>{
      {{"id"}, &Check::id},
      {{"severity"}, [](const Check& one) { return to_string(one.severity); }},
      {{"device"}, report::text_or_absent(&Check::device)},
      {{"read"}, report::text_or_absent(&Check::read)},
      {{"source"}, &Check::source},
      {{"expected"}, report::text_or_absent(&Check::expected)},
      {{"fix"}, report::text_or_absent(&Check::fix)},
      {{"code"}, report::text_or_absent(&Check::code)},
      {{"action_class"},
       [](const Check& one) { return report::text_or_absent(machine::action_class_of(one.code)); }},
      {{"applies"}, [](const Check& one) { return !one.is_moot; }}}
      .rows(checks);
}

report::Line doctor_verdict(const std::vector<Check>& checks, bool has_gpu) {
  const std::size_t failed = count_of(checks, Severity::fail);
  const std::size_t warnings = count_of(checks, Severity::warn);
  const std::size_t passed = count_of(checks, Severity::pass);
  const std::size_t unknown = count_of(checks, Severity::unknown);
  const std::string rest = fmt::format("; {} passed, {} unknown", passed, unknown);
  if (failed + warnings == 0) {
    if (has_gpu) return {report::Tone::good, "no check failed" + rest};
    return {report::Tone::good, fmt::format("{} passed, {} unknown without a GPU",
                                            base::count_of(passed, "host check"), unknown)};
  }
  std::string counts = failed > 0 ? base::count_of(failed, "check") + " failed" : "";
  if (warnings > 0) {
    if (failed > 0) counts += ", ";
    counts += failed > 0 ? std::to_string(warnings) : base::count_of(warnings, "check");
    counts += warnings == 1 ? " warns" : " warn";
  }
  return {failed > 0 ? report::Tone::bad : report::Tone::warning,
          counts + ": " + ids_of(checks, {Severity::fail, Severity::warn}) + rest};
}

std::vector<report::Line> finding_lines(const std::vector<Check>& checks, bool verbose) {
  std::vector<report::Line> lines;
  std::vector<Severity> in_full{Severity::fail, Severity::warn, Severity::info};
  if (verbose) in_full.insert(in_full.end(), {Severity::unknown, Severity::pass});
  for (const Severity severity : in_full) {
    for (const SharedCheck& shared : shared_checks(checks, severity, verbose)) {
      add_in_full(shared, verbose, lines);
    }
  }
  if (verbose) return lines;
  add_unknown(checks, lines);
  const std::string passed = ids_of(checks, {Severity::pass});
  if (!passed.empty()) lines.push_back({report::Tone::good, "pass " + passed});
  return lines;
}

std::vector<report::Failure> doctor_failures(const std::vector<Check>& checks) {
  std::vector<report::Failure> failures;
  for (const Check& check : checks) {
    if (check.severity != Severity::fail) continue;
    failures.push_back({check.device.empty() ? check.id : check.id + " " + check.device,
                        report::text_or_absent(check.expected),
                        report::text_or_absent(check.read),
                        report::FailureKind::finding,
                        {.device = check.device},
                        check.read,
                        check.fix,
                        check.code,
                        machine::action_class_of(check.code)});
  }
  return failures;
}

int doctor_exit_code(const std::vector<Check>& checks) noexcept {
  return count_of(checks, Severity::fail) > 0 ? report::exit_check_failed : report::exit_done;
}

}  // namespace hiptool::results
