// SPDX-License-Identifier: MIT
#include "accept/network_reduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "accept/reduce_faults.hpp"
#include "hiptool/error.hpp"
#include "measure/collective/reduce.hpp"
#include "report/report.hpp"
#include "report/tree.hpp"
#include "system/host_group.hpp"

namespace hiptool::accept {
namespace {

using measure::ReduceEnd;
using measure::ReduceResult;
using report::member;

constexpr double connect_timeout_share = 0.6;  // as for TCP: a host that is missing costs it again
constexpr double hosts_patience = 4;           // a wait for the others, then for the first one

/// The GPUs that a host brings in.
std::vector<Device> gpus_of(const std::vector<Device>& devices) {
  std::vector<Device> gpus;
  for (const Device& device : devices) {
    const bool is_alike = gpus.empty() || gpus.front().platform() == device.platform();
    if (device.platform() != Platform::cpu && is_alike) gpus.push_back(device);
  }
  return gpus;
}

/// What a host says before: the first one's sizes are everyone's.
std::string offer_text(const std::vector<Device>& gpus, const measure::ReduceOptions& options) {
  return report::json_text(report::Object{
      {"platform", gpus.empty() ? "" : std::string(to_string(gpus.front().platform()))},
      {"gpus", std::uint64_t{gpus.size()}},
      {"size_bytes", options.size_bytes},
      {"samples", std::uint64_t{options.samples}}});
}

/// What a host found.
struct HostOutcome {
  std::string host;
  ReduceEnd end = ReduceEnd::done;
  std::string reason;
  bool is_of_others = false;
};

std::string outcome_text(const ReduceResult& result) {
  std::string reason = result.reason;
  if (result.wrong) reason = wrong_text(*result.wrong) + "; " + reason;
  return report::json_text(report::Object{{"end", static_cast<std::uint64_t>(result.end)},
                                          {"reason", reason},
                                          {"of_others", std::uint64_t{result.is_of_others}}});
}

HostOutcome outcome_of(const std::string& host, const std::optional<std::string>& text) {
  if (!text) return {host, ReduceEnd::failed, "the check ended", false};
  const report::Value record = report::parse_json(*text, "result of " + host);
  const auto whole = [&](const char* name) {
    return report::count_of(member(record, name)).value_or(0);
  };
  HostOutcome outcome;
  outcome.host = host;
  outcome.end = static_cast<ReduceEnd>(
      std::min<std::uint64_t>(whole("end"), static_cast<std::uint64_t>(ReduceEnd::hung)));
  outcome.reason = report::text_of(member(record, "reason"));
  outcome.is_of_others = whole("of_others") != 0;
  return outcome;
}

/// The kind of end that explains the others: who waits for a host that failed hangs.
std::optional<ReduceEnd> cause_of(const std::vector<HostOutcome>& outcomes) {
  for (const bool may_be_of_others : {false, true}) {
    for (const ReduceEnd end :
         {ReduceEnd::wrong, ReduceEnd::failed, ReduceEnd::missing, ReduceEnd::hung}) {
      const auto is_cause = [&](const HostOutcome& one) {
        return one.end == end && one.is_of_others == may_be_of_others;
      };
      if (std::any_of(outcomes.begin(), outcomes.end(), is_cause)) return end;
    }
  }
  return {};
}

/// "node1, node2: REASON; node3: REASON".
std::string reasons_text(const std::vector<HostOutcome>& outcomes, ReduceEnd cause) {
  const bool has_own = std::any_of(outcomes.begin(), outcomes.end(), [&](const HostOutcome& one) {
    return one.end == cause && !one.is_of_others;
  });
  std::vector<std::pair<std::string, std::vector<std::string>>> hosts_of_reason;
  for (const HostOutcome& one : outcomes) {
    if (one.end != cause || (one.is_of_others && has_own)) continue;
    const auto known = std::find_if(hosts_of_reason.begin(), hosts_of_reason.end(),
                                    [&](const auto& entry) { return entry.first == one.reason; });
    if (known == hosts_of_reason.end()) {
      hosts_of_reason.push_back({one.reason, {one.host}});
    } else {
      known->second.push_back(one.host);
    }
  }
  // All say the same of a library that is missing, with the hosts.
  if (cause == ReduceEnd::missing) return hosts_of_reason.front().first;
  std::vector<std::string> parts;
  for (const auto& [reason, hosts] : hosts_of_reason)
    parts.push_back(fmt::format("{}: {}", fmt::join(hosts, ", "), reason));
  return fmt::format("{}", fmt::join(parts, "; "));
}

class HostsReduce {
 public:
  HostsReduce(const std::vector<Device>& devices, const StageContext& context, double patience_s,
              Heartbeat& heart, StageWork& work)
      : gpus_(gpus_of(devices)),
        context_(context),
        patience_s_(patience_s),
        heart_(heart),
        work_(work),
        options_(reduce_options(context)) {}

  void run(const std::vector<system::TcpPeer>& peers) {
    heart_.step("connecting the hosts", hosts_patience);
    std::vector<bool> left_out;
    for (const system::TcpPeer& peer : peers) left_out.push_back(!peer.error.empty());
    left_out.insert(left_out.begin() + static_cast<std::ptrdiff_t>(context_.job.own), false);
    if (left_out.front()) return leave_out(context_.job.hosts.front() + " was not reached");
    system::HostGroupOptions options;
    options.hosts = context_.job.hosts;
    options.own = context_.job.own;
    options.left_out = std::move(left_out);
    options.port = context_.job.port;
    options.timeout_s = patience_s_ * connect_timeout_share;
    options.cancel = context_.cancel;
    system::HostGroup group(std::move(options));
    if (!agree(group.share(offer_text(gpus_, options_), patience_s_))) return;
    heart_.step(fmt::format("all-reduce over {} hosts", context_.job.hosts.size()), hosts_patience);
    const ReduceResult result = measure();
    std::vector<HostOutcome> outcomes;
    for (const auto& text : group.share(outcome_text(result), patience_s_))
      outcomes.push_back(outcome_of(context_.job.hosts[outcomes.size()], text));
    add(result, outcomes);
  }

 private:
  void leave_out(const std::string& reason) {
    work_.add_figure("no NCCL or RCCL over the hosts: " + reason);
  }

  /// Whether all hosts take part. Sets the job.
  bool agree(const system::HostGroup::Texts& offers) {
    measure::ReduceJob job;
    std::vector<std::string> absent;
    std::vector<std::string> without;
    std::vector<std::string> platforms;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      const std::string& host = context_.job.hosts[i];
      if (!offers[i]) {
        absent.push_back(host);
        continue;
      }
      const report::Value offer = report::parse_json(*offers[i], "GPUs of " + host);
      const auto whole = [&](const char* name) {
        return report::count_of(member(offer, name)).value_or(0);
      };
      if (i == 0) {
        options_.size_bytes = whole("size_bytes");
        options_.samples = whole("samples");
      }
      if (i == context_.job.own) job.first_rank = job.rank_count;
      job.rank_count += whole("gpus");
      if (whole("gpus") == 0) without.push_back(host);
      platforms.push_back(report::text_of(member(offer, "platform")));
    }
    if (!absent.empty()) {
      leave_out(fmt::format("not reached: {}", fmt::join(absent, ", ")));
      return false;
    }
    if (!without.empty()) {
      leave_out(fmt::format("no GPU on {}", fmt::join(without, ", ")));
      return false;
    }
    if (std::count(platforms.begin(), platforms.end(), platforms.front()) !=
        static_cast<std::ptrdiff_t>(platforms.size())) {
      leave_out("GPUs of different vendors");
      return false;
    }
    job.hosts = context_.job.hosts;
    job.own = context_.job.own;
    job.port = context_.job.port;
    job.timeout_s = patience_s_;
    options_.job = std::move(job);
    return true;
  }

  ReduceResult measure() const {
    const measure::LibraryChild& child = context_.child;
    return child.program.empty() ? measure_reduce(gpus_, options_)
                                 : reduce_in_child(child, gpus_, options_);
  }

  void add(const ReduceResult& result, const std::vector<HostOutcome>& outcomes) {
    const std::optional<ReduceEnd> cause = cause_of(outcomes);
    if (result.end != ReduceEnd::missing) {
      StageMeasurement measured;
      static_cast<report::Measurement&>(measured) = measurement_of(result);
      measured.stage = "network";
      work_.add(std::move(measured));
    }
    if (!cause) {
      work_.add_figure(fmt::format("{} {} over {} hosts, {} GPUs: {}", result.library,
                                   result.library_version, outcomes.size(),
                                   options_.job->rank_count, figure_text(result)));
      return;
    }
    ReduceResult all = result;
    all.end = *cause;
    all.reason = reasons_text(outcomes, *cause);
    all.wrong.reset();
    all.error = Error(*cause == ReduceEnd::wrong ? ErrorCode::data_mismatch : ErrorCode::device,
                      "network", all.reason);
    Fault fault = reduce_fault("network", all);
    if (result.wrong) {
      fault.expected = result.wrong->expected;
      fault.got = result.wrong->got;
    }
    work_.add(std::move(fault));
  }

  std::vector<Device> gpus_;
  const StageContext& context_;
  double patience_s_;
  Heartbeat& heart_;
  StageWork& work_;
  measure::ReduceOptions options_;
};

}  // namespace

void reduce_over_hosts(const std::vector<Device>& devices, const StageContext& context,
                       const std::vector<system::TcpPeer>& peers, double patience_s,
                       Heartbeat& heart, StageWork& work) {
  HostsReduce(devices, context, patience_s, heart, work).run(peers);
}

}  // namespace hiptool::accept
