// SPDX-License-Identifier: MIT
#include "cli/document.hpp"

#include <fmt/chrono.h>

#include "cli/exit_code.hpp"
#include "hiptool/version.hpp"
#include "report/text.hpp"
#include "system/host.hpp"

namespace hiptool::cli {
namespace {

report::Value number_or_absent(std::uint64_t number) {
  return number == 0 ? report::Value() : report::Value(number);
}

report::Value native_value(const Error& error) {
  if (!error.native()) return {};
  const NativeError& native = *error.native();
  return report::Object{
      {"platform", native.platform}, {"code", native.code}, {"name", native.name}};
}

}  // namespace

std::string iso_time(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

report::Object make_document(const Environment& environment, std::string_view command,
                             std::string_view status) {
  const system::Host host = system::read_host(environment.system_root);
  return {{"schema", "hiptool." + std::string(command) + "/1"},
          {"tool", report::Object{{"version", version()}, {"commit", git_description()}}},
          {"host", report::Object{{"name", text_or_absent(host.name)},
                                  {"kernel", text_or_absent(host.kernel)},
                                  {"cpu", text_or_absent(host.cpu)},
                                  {"cores", number_or_absent(host.cores)},
                                  {"memory_bytes", number_or_absent(host.memory_bytes)}}},
          {"started_at", iso_time(environment.started_at)},
          {"status", status}};
}

void add_error(report::Object& document, const Error& error) {
  const report::Value status = error.code() == ErrorCode::cancelled ? "interrupted" : "failed";
  bool has_status = false;
  for (auto& [key, value] : document) {
    if (key != "status") continue;
    value = status;
    has_status = true;
  }
  if (!has_status) document.emplace_back("status", status);
  document.emplace_back("error", report::Object{{"code", to_string(error.code())},
                                                {"message", error.what()},
                                                {"hint", text_or_absent(error.hint())},
                                                {"native", native_value(error)}});
}

int finish_document(report::Object& document, const Environment& environment, const Error* error,
                    const std::vector<report::Failure>& failures) {
  int exit_code = failures.empty() ? exit_done : exit_check_failed;
  if (error != nullptr) {
    add_error(document, *error);
    exit_code = exit_code_of(error->code(), environment.signal());
  }
  report::set_verdict(document, exit_code, failures);
  return exit_code;
}

report::Report failure_report(const Environment& environment, std::string_view command,
                              const Error& error) {
  report::Report report;
  report.document = make_document(environment, command, "failed");
  finish_document(report.document, environment, &error);
  report.verdict = {{report::Tone::bad, report::one_line(error.what())}};
  return report;
}

}  // namespace hiptool::cli
