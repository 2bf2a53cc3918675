// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/check/progress.hpp"
#include "cli/commands/check/run.hpp"
#include "cli/diagnosis.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output.hpp"
#include "cli/process/rank.hpp"
#include "hiptool/decoder_spec.hpp"
#include "system/host.hpp"
#include "system/tcp_peers.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t most_size_bytes = std::uint64_t{1} << 30;
// Of one run nobody knows how much the next one differs.
constexpr std::uint64_t usual_expect_repeats = 3;
constexpr std::uint64_t usual_peer_port = 29480;

double parse_percent(const std::string& text, const char* option, double usual) {
  if (text.empty()) return usual;
  const bool has_sign = text.back() == '%';
  const auto percent =
      base::parse_number<double>(std::string_view(text).substr(0, text.size() - has_sign));
  if (!percent || *percent < 0 || *percent >= 100) {
    throw usage_error(fmt::format("{}: '{}' is not a share from 0% to below 100%", option, text),
                      fmt::format("write {} 5%", option));
  }
  // Elsewhere 0.05 is a share, 5 %.
  if (!has_sign && *percent > 0 && *percent < 1) {
    throw usage_error(fmt::format("{}: '{}' is below 1 and has no % sign", option, text),
                      fmt::format("write {0} {1:g}%, or {0} {2}% for less than one percent", option,
                                  100 * *percent, text));
  }
  return *percent / 100;
}

/// What the options demand, read before a driver is opened.
struct CheckRequest {
  accept::AcceptRequest accept;
  double margin = report::steady_spread;
};

bool has_any(const std::vector<std::string>& stages, const std::vector<std::string>& wanted) {
  return std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
    return std::find(wanted.begin(), wanted.end(), stage) != wanted.end();
  });
}

/// Which of the hosts this is: by its name, else by the launcher's number.
std::optional<std::size_t> own_place(const std::vector<std::string>& hosts,
                                     const Environment& environment) {
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  const std::string own = system::read_host(environment.system_root).name;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i] == own || short_name(hosts[i]) == short_name(own)) return i;
  }
  const auto number =
      base::parse_number<std::size_t>(environment.getenv("SLURM_NODEID").value_or(""));
  return number && *number < hosts.size() ? number : std::nullopt;
}

/// One process of each host exchanges data with the others.
void choose_job(const CheckCommandOptions& options, const Environment& environment,
                accept::CheckOptions& check) {
  const std::optional<Rank> rank = find_rank(environment.getenv);
  accept::CheckJob& job = check.job;
  job.has_others = rank && rank->has_others;
  if (!job.has_others && options.peers.empty()) return;
  if (job.has_others && options.stages.empty() && check.level != accept::CheckLevel::prolog)
    base::add_once(check.stages, std::string("network"));
  job.port =
      static_cast<std::uint16_t>(options.peer_port > 0 ? options.peer_port : usual_peer_port);
  std::string list = options.peers;
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (list.empty()) list = environment.getenv(name).value_or("");
  }
  if (list.empty()) {
    job.why_no_peers = "the hosts of the job are not known; name them with --peers";
    return;
  }
  job.hosts = system::expand_hosts(list);
  for (const char* name : {"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    const std::string number = environment.getenv(name).value_or("0");
    if (number != "0") job.why_no_peers = "the first process of this host does it";
  }
  const auto own = own_place(job.hosts, environment);
  if (own) {
    job.own = *own;
  } else if (job.why_no_peers.empty()) {
    job.why_no_peers = "this host is not in the list of hosts";
  }
}

CheckRequest read_request(const CheckCommandOptions& options, const Context& context) {
  const Environment& environment = context.environment;
  CheckRequest request;
  accept::CheckOptions& check = request.accept.options;
  request.accept.selection = context.devices;
  request.accept.diagnosis = diagnosis_options(context);
  check.level = *accept::parse_check_level(options.level.value_or("quick"));
  check.stages = accept::stages_of_level(check.level);
  if (!options.stages.empty()) {
    check.stages.clear();
    for (const std::string& stage : split_list(options.stages, "--stage")) {
      base::add_once(check.stages, choice_of(stage, accept::names_of_stages(), "--stage"));
    }
  }
  if (!options.duration.empty()) {
    check.soak_s = parse_duration(options.duration, "--duration");
    base::add_once(check.stages, std::string("soak"));
  }
  request.margin = parse_percent(options.margin, "--margin", request.margin);
  check.spread = parse_percent(options.spread, "--spread", check.spread);
  if (!options.spread.empty() && machine::is_for_cpu_only(context.devices)) {
    throw usage_error("--spread compares GPUs of a kind, and only the processor was chosen",
                      "leave --spread out, or choose GPUs with --device");
  }
  if (!options.timeout.empty()) {
    check.patience_s = parse_timeout(options.timeout);
    request.accept.diagnosis.patience = machine::ProbePatience::of_seconds(check.patience_s);
  }
  check.size_bytes = options.size_bytes;
  if (options.size_bytes % 4096 != 0 || options.size_bytes > most_size_bytes) {
    throw usage_error(fmt::format("--size: {} is not a multiple of 4 KiB up to 1 GiB",
                                  format_size(options.size_bytes)),
                      "write --size 16MiB");
  }
  check.cancel = &environment.cancel;
  check.root = environment.system_root;
  if (!options.margin.empty() && options.write_expect.empty()) {
    throw usage_error("--margin is for --write-expect", "give --write-expect FILE too");
  }
  if (!options.write_expect.empty())
    request.accept.repeats = options.repeats > 0 ? options.repeats : usual_expect_repeats;
  const std::vector<std::string> rated = accept::names_of_stages(&accept::Stage::is_rated);
  if (!options.write_expect.empty() && !has_any(check.stages, rated)) {
    throw usage_error("--write-expect: none of the chosen stages measures a rate",
                      fmt::format("add one of {} to --stage", fmt::join(rated, ", ")));
  }
  if (!options.expect.empty()) {
    check.expectations = accept::read_expectations(options.expect, &environment.cancel);
  }
  if (!options.model.empty()) {
    const ModelFile model = context.open_model(options.model, {});
    static_cast<void>(DecoderSpec::read(model));
    check.model = {model.path(), false};
  }
  choose_job(options, environment, check);
  check.child = {environment.program, check.patience_s, context.devices.nvidia_ordinals,
                 environment.system_root.string()};
  return request;
}

}  // namespace

void run_check_steps(const CheckCommandOptions& options, Context& context,
                     accept::CheckOutcome& outcome) {
  Environment& environment = context.environment;
  CheckRequest request = read_request(options, context);
  std::optional<ExportFile> expectations;
  if (!options.write_expect.empty()) {
    expectations.emplace(options.write_expect, "--write-expect FILE");
  }
  outcome.expect = options.expect;
  outcome.has_every_line = context.verbose;
  if (!options.model.empty()) outcome.model = request.accept.options.model.path.string();
  const std::shared_ptr<Platforms> platforms = context.make_platforms();
  CheckProgress progress(environment.console, context.quiet, environment.cancel);
  request.accept.on_devices = [&](const std::vector<Device>& devices) {
    note_devices(environment, *platforms, devices);
    std::vector<std::string> ids;
    for (const Device& device : devices) ids.push_back(device.id());
    environment.console.set_step({});
    progress.begin(ids, outcome.stages);
  };
  request.accept.options.on_stage = [&progress](const accept::StageResult& stage) {
    progress.on_stage(stage);
  };
  request.accept.options.on_progress = [&progress](const accept::StageProgress& now) {
    progress.on_progress(now);
  };
  environment.console.set_step("starting the devices");
  accept_machine(std::move(request.accept), *platforms, *context.notes, outcome);
  // Threads that a driver holds go on using the platforms.
  if (outcome.result.has_left_threads && environment.keep) environment.keep(platforms);
  const bool is_good = !outcome.error && outcome.result.worst() == nullptr;
  if (!is_good) outcome.not_written = options.write_expect;
  if (expectations && is_good) {
    const bool is_written = context.output.write_file(
        *expectations, accept::expectations_of(outcome, request.margin,
                                               iso_time(std::chrono::system_clock::now())));
    if (is_written) outcome.written = options.write_expect;
  }
}

}  // namespace hiptool::cli
