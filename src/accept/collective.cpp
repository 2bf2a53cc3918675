// SPDX-License-Identifier: MIT
// Exchanges between all devices: by running kernels of ours, then by the vendor's library.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "accept/reduce_faults.hpp"
#include "accept/stages.hpp"
#include "base/host_error.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "measure/collective/exchange.hpp"
#include "measure/collective/reduce.hpp"
#include "report/report.hpp"

namespace hiptool::accept {
namespace {

// Of the patience for a step. A busy processor may take long.
constexpr double exchange_timeout_share = 0.2;
constexpr double cpu_timeout_share = 0.8;
constexpr const char* exchange_action =
    "reset both devices; turn PCIe ACS and the IOMMU's translation off (iommu=pt); check the links "
    "with `hiptool devices --doctor`";

measure::ExchangeOptions exchange_options(const StageContext& context, bool is_cpu,
                                          double patience_s) {
  measure::ExchangeOptions options;
  options.size_bytes = is_cpu                                  ? std::uint64_t{256} << 10
                       : context.level <= CheckLevel::quick    ? std::uint64_t{8} << 20
                       : context.level == CheckLevel::standard ? std::uint64_t{64} << 20
                                                               : std::uint64_t{128} << 20;
  if (context.size_bytes > 0) options.size_bytes = context.size_bytes;
  options.rounds = context.level <= CheckLevel::quick ? 4 : 16;
  options.samples = context.level <= CheckLevel::quick ? 3 : 9;
  options.timeout_s = patience_s * (is_cpu ? cpu_timeout_share : exchange_timeout_share);
  options.cancel = context.cancel;
  return options;
}

/// What the thread and the stage share.
struct CollectiveRound {
  SharedContext context;
  std::vector<Device> devices;
  double patience_s = 0;
  std::vector<std::shared_ptr<StageWork>> works;  ///< of these devices, then of the machine
};

Fault exchange_fault(const measure::ExchangeResult& result) {
  Fault fault = fault_of(machine::codes::exchange_data, result);
  if (result.status == report::Status::mismatch) {
    fault.reason = result.reason;
    fault.action = exchange_action;
    fault.error = Error(ErrorCode::data_mismatch, "collective", result.id + ": " + result.reason);
    if (result.wrong) {
      fault.expected = result.wrong->expected;
      fault.got = result.wrong->got;
    }
    return fault;
  }
  const Error error = result.error.value_or(Error(ErrorCode::device, "collective", result.reason));
  fault.reason = error.what();
  fault.error = error;
  fault.code = result.has_timed_out ? machine::codes::exchange_lost : code_of(error);
  fault.action = result.has_timed_out ? exchange_action : action_of(error);
  return fault;
}

void add_exchange(const CollectiveRound& round, const measure::ExchangeResult& result) {
  StageWork& machine = *round.works.back();
  StageMeasurement measured;
  static_cast<report::Measurement&>(measured) = measurement_of(result);
  measured.stage = "collective";
  machine.add(measured);
  if (result.has_failed()) {
    machine.add(exchange_fault(result));
    return;
  }
  machine.add_figure(fmt::format("{} {}", to_string(result.exchange), figure_text(result)));
  if (!result.through_host_reason.empty())
    machine.add_figure("through the host: " + result.through_host_reason);
  const std::string text = fmt::format("{}: {} right", to_string(result.exchange),
                                       base::count_of(result.checked, "word"));
  for (std::size_t i = 0; i + 1 < round.works.size(); ++i) round.works[i]->add_figure(text);
}

// ---- the vendor's library

constexpr double reduce_patience = 2;  // the child has its own limit, and is ended first
// A library that is well has at least the rate of our kernels, which know no topology.
constexpr double least_share_of_exchange = 0.8;
constexpr double faster_without = 1.1;  // as GPUs are compared with their siblings

class Reduces {
 public:
  Reduces(const CollectiveRound& round, Heartbeat& heart, std::optional<double> exchange_rate)
      : round_(round),
        heart_(heart),
        exchange_rate_(exchange_rate),
        options_(reduce_options(*round.context)) {}

  void run() {
    const measure::ReduceResult all = measure(round_.devices);
    if (all.end != measure::ReduceEnd::missing) add(all);
    if (!is_done(all)) return;
    StageWork& machine = *round_.works.back();
    machine.add_figure(fmt::format("{} {} {}", all.library, all.library_version, figure_text(all)));
    const bool is_behind =
        exchange_rate_ && *all.bytes_per_s < least_share_of_exchange * *exchange_rate_;
    const bool is_thorough = round_.context->level > CheckLevel::quick;
    if (round_.devices.size() > 2 && (is_behind || is_thorough)) find_slow(all);
  }

 private:
  measure::ReduceResult measure(const std::vector<Device>& devices) {
    const measure::LibraryChild& child = round_.context->child;
    heart_.step("all-reduce by the vendor's library", reduce_patience);
    return child.program.empty() ? measure_reduce(devices, options_)
                                 : reduce_in_child(child, devices, options_);
  }

  void add(const measure::ReduceResult& result) {
    StageMeasurement measured;
    static_cast<report::Measurement&>(measured) = measurement_of(result);
    measured.stage = "collective";
    round_.works.back()->add(std::move(measured));
  }

  /// Adds the fault of any other end.
  bool is_done(const measure::ReduceResult& result) {
    if (result.end == measure::ReduceEnd::done) return true;
    round_.works.back()->add(reduce_fault("collective", result));
    return false;
  }

  /// Nothing after a fault, which is added.
  std::optional<double> rate_of(const std::vector<Device>& devices) {
    const measure::ReduceResult result = measure(devices);
    if (is_done(result)) return *result.bytes_per_s;
    if (devices.size() < round_.devices.size()) add(result);  // of all GPUs the first one is there
    return {};
  }

  std::optional<double> rate_without(std::size_t left_out) {
    std::vector<Device> others = round_.devices;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    return rate_of(others);
  }

  /// A GPU without which all others are faster, twice.
  void find_slow(const measure::ReduceResult& all) {
    std::vector<double> without;
    for (std::size_t i = 0; i < round_.devices.size(); ++i) {
      const std::optional<double> rate = rate_without(i);
      if (!rate) return;
      without.push_back(*rate);
    }
    const auto best = std::max_element(without.begin(), without.end());
    const auto slow = static_cast<std::size_t>(best - without.begin());
    double others = *all.bytes_per_s;
    for (std::size_t i = 0; i < without.size(); ++i) {
      if (i != slow) others = std::max(others, without[i]);
    }
    if (*best <= faster_without * others) return;
    const std::optional<double> all_again = rate_of(round_.devices);
    if (!all_again) return;
    others = std::max(others, *all_again);
    const std::optional<double> again = rate_without(slow);
    if (!again || std::min(*best, *again) <= faster_without * others) return;
    report::Measurement faster;
    faster.bytes_per_s = std::min(*best, *again);
    Fault fault = fault_of(machine::codes::nccl_rate, all);
    fault.what = all.label;
    fault.device = round_.devices[slow].id();
    fault.reason = fmt::format("{} with it, {} without it; without another one it is not faster",
                               figure_text(all), figure_text(faster));
    fault.action =
        "compare its links, clocks and PCIe errors with the other GPUs: "
        "`hiptool devices --doctor`; reset it";
    fault.expected = *faster.bytes_per_s;
    fault.got = *all.bytes_per_s;
    round_.works[slow]->add(std::move(fault));
  }

  const CollectiveRound& round_;
  Heartbeat& heart_;
  std::optional<double> exchange_rate_;
  measure::ReduceOptions options_;
};

void run_collectives(const CollectiveRound& round, Heartbeat& heart) {
  StageWork& machine = *round.works.back();
  try {
    const bool is_cpu = round.devices.front().platform() == Platform::cpu;
    measure::ExchangeOptions options = exchange_options(*round.context, is_cpu, round.patience_s);
    options.on_step = [&heart](const std::string& step) { heart.step(step); };
    std::optional<double> ring_rate;
    for (const auto kind : {measure::ExchangeKind::ring, measure::ExchangeKind::all_to_all}) {
      options.on_result = [&](const measure::ExchangeResult& result) {
        add_exchange(round, result);
        heart.step(fmt::format("{} of {}", releasing_step, to_string(kind)));
      };
      const measure::ExchangeResult result = measure_exchange(round.devices, kind, options);
      const bool is_lost = result.error && result.error->code() == ErrorCode::device_lost;
      if (is_lost) return;
      if (kind == measure::ExchangeKind::ring) ring_rate = result.bytes_per_s;
    }
    if (!is_cpu) Reduces(round, heart, ring_rate).run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return;
    machine.add(Fault{code_of(error), "collective", "", error.what(), action_of(error), error});
  } catch (const std::exception& exception) {
    const Error error = base::to_error(exception);
    machine.add(Fault{code_of(error), "collective", "", error.what(), action_of(error), error});
  }
}

}  // namespace

JointStageEnd collective_stage(const std::vector<Device>& devices, const SharedContext& context,
                               double patience_s,
                               const std::vector<std::shared_ptr<StageWork>>& works,
                               const OnLook& on_look) {
  JointStageEnd end;
  std::map<Platform, std::shared_ptr<CollectiveRound>> groups;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto& group = groups[devices[i].platform()];
    if (!group) group = std::make_shared<CollectiveRound>();
    group->devices.push_back(devices[i]);
    group->works.push_back(works[i]);
  }
  for (const auto& [platform, round] : groups) {
    if (round->devices.size() < 2) {
      works.back()->add_skip(platform == Platform::cpu ? "one device: nothing to exchange"
                                                       : "one GPU: nothing to exchange");
      continue;
    }
    if (context->cancel->is_cancelled()) break;
    round->context = context;
    round->patience_s = patience_s;
    round->works.push_back(works.back());
    const TaskEnd task =
        run_tasks({[round = round](Heartbeat& heart) { run_collectives(*round, heart); }},
                  patience_s, *context->cancel, on_look)
            .front();
    if (!task.is_left_behind) continue;
    end.has_left_threads = true;
    if (!context->hung.empty()) {
      works.back()->add_skip(
          fmt::format("no answer during: {}; {} hung before, which holds up the driver", task.step,
                      context->hung));
      if (task.step.starts_with(releasing_step)) continue;  // nothing runs on the devices
    }
    for (const Device& device : round->devices) end.lost.push_back(device.id());
    if (context->cancel->is_cancelled()) break;
    if (!context->hung.empty()) continue;
    const Error error(ErrorCode::timed_out, "check",
                      fmt::format("no answer within {:g} s during: {}", patience_s, task.step));
    works.back()->add(Fault{code_of(error), "collective", "", error.what(),
                            action_for_hang(platform, patience_s, error), error});
  }
  return end;
}

}  // namespace hiptool::accept
