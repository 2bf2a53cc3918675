// SPDX-License-Identifier: MIT
#include "cli/document.hpp"

#include <fmt/chrono.h>

#include "cli/exit_code.hpp"
#include "hiptool/version.hpp"
#include "report/text.hpp"
#include "system/host.hpp"

namespace hiptool::cli {
std::string iso_time(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

report::Run make_run(const Environment& environment, std::string_view command,
                     std::string_view status) {
  const system::Host host = system::read_host(environment.system_root);
  const auto known = [](std::uint64_t number) {
    return number == 0 ? std::nullopt : std::optional(number);
  };
  report::Run run;
  run.command = command;
  run.tool_version = version();
  run.tool_commit = git_description();
  run.host = {host.name, host.kernel, host.cpu, known(host.cores), known(host.memory_bytes)};
  run.devices = environment.devices;
  run.started_at = iso_time(environment.started_at);
  run.status = status;
  return run;
}

int finish_run(report::Run& run, const Environment& environment, const Error* error,
               const std::vector<report::Failure>& failures, bool is_wrong) {
  int exit_code = failures.empty() ? exit_done : exit_check_failed;
  if (is_wrong) {
    exit_code = exit_code_of(ErrorCode::data_mismatch);
  } else if (error != nullptr) {
    run.set_error(*error);
    exit_code = exit_code_of(error->code(), environment.signal());
  }
  run.end(exit_code, failures);
  return exit_code;
}

report::Report failure_report(const Environment& environment, std::string_view command,
                              const Error& error) {
  report::Run run = make_run(environment, command, "failed");
  finish_run(run, environment, &error);
  report::Report report = report::start_report(std::move(run));
  report.verdict = {
      {report::Tone::bad, report::one_line(error.what()), error.code() == ErrorCode::cancelled}};
  return report;
}

}  // namespace hiptool::cli
