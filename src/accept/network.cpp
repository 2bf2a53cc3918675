// SPDX-License-Identifier: MIT
// The ports of a host's network, and data between the hosts of a job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "accept/network_reduce.hpp"
#include "accept/stages.hpp"
#include "base/host_error.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "report/report.hpp"
#include "system/network_port.hpp"
#include "system/tcp_peers.hpp"

namespace hiptool::accept {
namespace {

using system::NetworkPort;
using system::PortKind;

constexpr double tcp_timeout_share = 0.6;  // of the patience for a step

void add_port_fault(const char* code, const std::string& port, std::string reason,
                    std::string action, machine::Severity severity, report::Value expected,
                    report::Value got, StageWork& work) {
  Fault fault;
  fault.code = code;
  fault.what = port;
  fault.reason = port + ": " + std::move(reason);
  fault.action = std::move(action);
  fault.severity = severity;
  fault.expected = std::move(expected);
  fault.got = std::move(got);
  work.add(std::move(fault));
}

std::string gigabits_text(double bits_per_s) {
  return fmt::format("{:g} Gbit/s", bits_per_s / 1e9);
}

/// Of ports of one model one that has no link, or a slower one, stands out.
void judge_ports(const std::vector<NetworkPort>& ports, StageWork& work) {
  std::map<std::string, double> best;
  for (const NetworkPort& port : ports) {
    if (port.kind == PortKind::ethernet || !port.is_up) continue;
    best[port.model] = std::max(best[port.model], port.bits_per_s.value_or(0));
  }
  for (const NetworkPort& port : ports) {
    if (port.kind == PortKind::ethernet) continue;
    const std::string kind = to_string(port.kind);
    if (port.has_link && !port.is_up) {
      add_port_fault(machine::codes::net_port, port.name,
                     fmt::format("{} has a link, but the port is {}", kind, port.state),
                     port.kind == PortKind::infiniband
                         ? "start the subnet manager (opensm, or the one in the switch)"
                         : "bring its interface up: `ip link set IFACE up`",
                     machine::Severity::fail, "ACTIVE", port.state, work);
      continue;
    }
    const auto found = best.find(port.model);
    if (found == best.end()) continue;
    if (!port.is_up) {
      add_port_fault(machine::codes::net_port, port.name,
                     fmt::format("{} port is {}, others of its model are active", kind, port.state),
                     "check cable, transceiver and switch port; ignore it if nothing is plugged in",
                     machine::Severity::warn, "ACTIVE", port.state, work);
    } else if (port.bits_per_s.value_or(0) < found->second) {
      add_port_fault(
          machine::codes::net_rate, port.name,
          fmt::format("{} link runs at {}, others of its model at {}", kind,
                      gigabits_text(port.bits_per_s.value_or(0)), gigabits_text(found->second)),
          "reseat or replace the cable; check the speed that the switch port allows",
          machine::Severity::fail, gigabits_text(found->second),
          gigabits_text(port.bits_per_s.value_or(0)), work);
    }
  }
}

/// Links that went down refuse; single errors that were corrected or repeated warn.
void judge_growth(const std::vector<NetworkPort>& before, const std::vector<NetworkPort>& after,
                  StageWork& work) {
  for (const NetworkPort& port : after) {
    const auto earlier = std::find_if(before.begin(), before.end(), [&](const NetworkPort& one) {
      return one.name == port.name;
    });
    if (earlier == before.end()) continue;
    for (const auto& [name, count] : port.errors) {
      const auto old = earlier->errors.find(name);
      if (old == earlier->errors.end() || count <= old->second) continue;
      const bool is_link = name == "link_downed" || name == "link_error_recovery";
      add_port_fault(machine::codes::net_errors, port.name,
                     fmt::format("{} grew by {} during the stage", name, count - old->second),
                     "clean or replace cable and transceiver; look at the counters of the switch's "
                     "port, too",
                     is_link ? machine::Severity::fail : machine::Severity::warn,
                     std::uint64_t{old->second}, std::uint64_t{count}, work);
    }
  }
}

void add_port_figures(const std::vector<NetworkPort>& ports, StageWork& work) {
  std::map<std::string, std::size_t> counts;
  for (const NetworkPort& port : ports) {
    if (!port.is_up) continue;
    const std::string rate = port.bits_per_s ? " " + gigabits_text(*port.bits_per_s) : "";
    ++counts[to_string(port.kind) + rate];
  }
  for (const auto& [text, count] : counts)
    work.add_figure(count > 1 ? fmt::format("{} x {}", count, text) : text);
  if (counts.empty()) work.add_figure("no port is up");
}

void add_tcp(const system::TcpPeer& peer, const std::string& port, StageWork& work) {
  const std::string what = "tcp." + peer.host;
  Fault fault;
  fault.what = what;
  if (!peer.error.empty()) {
    fault.code = machine::codes::net_unreached;
    fault.reason = fmt::format("{}: {}", peer.host, peer.error);
    fault.action = "check that the other host runs this stage, its name and firewall, and port " +
                   port + " (--peer-port)";
    fault.expected = "a connection";
    fault.got = peer.error;
    work.add(std::move(fault));
    return;
  }
  if (peer.wrong_words > 0) {
    fault.code = machine::codes::net_data;
    fault.reason =
        fmt::format("{}: {} arrived changed", peer.host, base::count_of(peer.wrong_words, "word"));
    fault.action =
        "turn off the offloads of both cards (`ethtool -K IFACE rx off tx off`); "
        "replace the card or the memory that changes them";
    fault.error = Error(ErrorCode::data_mismatch, "network", fault.reason);
    work.add(std::move(fault));
    return;
  }
  StageMeasurement measured;
  measured.id = measured.label = measured.series = what;
  measured.kind = "tcp";
  measured.stage = "network";
  measured.bytes_per_s = peer.bytes_per_s;
  work.add_figure(fmt::format("{} {}", what, figure_text(measured)));
  work.add(std::move(measured));
}

void exchange_with_hosts(const std::vector<Device>& devices, const StageContext& context,
                         double patience_s, Heartbeat& heart, StageWork& work) {
  const CheckJob& job = context.job;
  if (!job.why_no_peers.empty()) {
    work.add_figure("no TCP: " + job.why_no_peers);
    return;
  }
  if (job.hosts.size() < 2) return;
  system::TcpOptions options;
  options.hosts = job.hosts;
  options.own = job.own;
  options.port = job.port;
  options.timeout_s = patience_s * tcp_timeout_share;
  options.cancel = context.cancel;
  heart.step(fmt::format("TCP with {}", base::count_of(job.hosts.size() - 1, "host")));
  const std::vector<system::TcpPeer> peers = exchange_with_peers(options);
  for (const system::TcpPeer& peer : peers) add_tcp(peer, std::to_string(job.port), work);
  reduce_over_hosts(devices, context, peers, patience_s, heart, work);
}

void run_network(const std::vector<Device>& devices, const StageContext& context, double patience_s,
                 Heartbeat& heart, StageWork& work) {
  try {
    heart.step("reading the state of the network");
    const std::vector<NetworkPort> before = system::read_network_ports(context.root);
    add_port_figures(before, work);
    judge_ports(before, work);
    exchange_with_hosts(devices, context, patience_s, heart, work);
    judge_growth(before, system::read_network_ports(context.root), work);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return;
    work.add(Fault{code_of(error), "network", "", error.what(), action_of(error), error});
  } catch (const std::exception& exception) {
    const Error error = base::to_error(exception);
    work.add(Fault{code_of(error), "network", "", error.what(), action_of(error), error});
  }
}

}  // namespace

JointStageEnd network_stage(const std::vector<Device>& devices, const SharedContext& context,
                            double patience_s, const std::vector<std::shared_ptr<StageWork>>& works,
                            const OnLook& on_look) {
  JointStageEnd end;
  if (!context->job.has_others) {
    works.back()->add_skip("not a job of several processes: start it with srun or mpirun");
    return end;
  }
  const std::shared_ptr<StageWork> work = works.back();
  const TaskEnd task = run_tasks({[devices, context, patience_s, work](Heartbeat& heart) {
                                   run_network(devices, *context, patience_s, heart, *work);
                                 }},
                                 patience_s, *context->cancel, on_look)
                           .front();
  end.has_left_threads = task.is_left_behind;
  if (!task.is_left_behind || context->cancel->is_cancelled()) return end;
  const Error error(ErrorCode::timed_out, "check",
                    fmt::format("no answer within {:g} s during: {}", patience_s, task.step));
  work->add(Fault{code_of(error), "network", "", error.what(),
                  action_for_hang(Platform::cpu, patience_s, error), error});
  return end;
}

}  // namespace hiptool::accept
