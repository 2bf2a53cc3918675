// SPDX-License-Identifier: MIT
// The copies of a check, one after the other, so that none takes another's bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "accept/load_sensors.hpp"
#include "accept/paths.hpp"
#include "accept/stages.hpp"
#include "base/host_error.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/bench.hpp"
#include "system/host.hpp"
#include "system/numa.hpp"

namespace hiptool::accept {
namespace {

// Copies of 64 MiB differ by a tenth from run to run on machines that are in order.
constexpr std::uint64_t gpu_copy_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t small_gpu_copy_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t cpu_copy_bytes = std::uint64_t{16} << 20;
constexpr const char* wrong_copy_action =
    "reseat the device and check PCIe errors with `sudo dmesg | grep -i -e aer -e xid`; turn off "
    "the "
    "IOMMU's translation (iommu=pt) and ACS if copies between devices are wrong";
constexpr const char* peer_action =
    "see `hiptool devices --doctor` (p2p, acs, iommu) and `hiptool devices --topology`; restart "
    "the fabric manager of NVSwitch machines";

std::vector<measure::CopyTemplate> templates_for(CheckLevel level, std::size_t devices) {
  std::vector<measure::CopyTemplate> templates;
  const auto add = [&](std::initializer_list<measure::CopyKind> kinds) {
    for (const measure::CopyKind kind : kinds) {
      templates.push_back({kind});
    }
  };
  const bool is_quick = level <= CheckLevel::quick;
  if (level == CheckLevel::prolog) {
    add({measure::CopyKind::h2d});
    return templates;
  }
  add({measure::CopyKind::h2d, measure::CopyKind::d2h, measure::CopyKind::d2d});
  if (!is_quick) add({measure::CopyKind::bidir});
  if (devices < 2) return templates;
  add({measure::CopyKind::h2d_all, measure::CopyKind::d2h_all, measure::CopyKind::p2p_write});
  if (!is_quick)
    add({measure::CopyKind::p2p_read, measure::CopyKind::p2p_bidir, measure::CopyKind::all_to_all});
  return templates;
}

/// The large size if a quarter of the memory of each GPU and of the host has room for the two
/// buffers of each copy that runs at once; what is free now must not change the measurement.
std::uint64_t size_for_gpus(const std::vector<Device>& devices, const StageContext& context) {
  const std::uint64_t at_once = 2 * devices.size();
  const bool has_host_room =
      system::read_host(context.root).memory_bytes / 4 / at_once >= gpu_copy_bytes;
  const bool has_room =
      has_host_room && std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
        return device.info().memory_total_bytes.value_or(0) / 4 / at_once >= gpu_copy_bytes;
      });
  return has_room ? gpu_copy_bytes : small_gpu_copy_bytes;
}

std::vector<measure::PlannedCopy> plan_check(const std::vector<Device>& devices,
                                             const StageContext& context) {
  std::map<Platform, std::vector<Device>> groups;
  for (const Device& device : devices) groups[device.platform()].push_back(device);
  std::vector<measure::PlannedCopy> plan;
  for (const auto& [platform, group] : groups) {
    measure::CopyRequest request;
    request.devices = group;
    request.templates = templates_for(context.level, group.size());
    request.memories = {measure::HostKind::pinned};
    request.sizes = {platform == Platform::cpu ? cpu_copy_bytes : size_for_gpus(group, context)};
    if (context.size_bytes > 0) request.sizes = {context.size_bytes};
    for (measure::PlannedCopy& planned : plan_copies(request)) plan.push_back(std::move(planned));
  }
  return plan;
}

measure::CopyBenchOptions copy_options(const StageContext& context) {
  measure::CopyBenchOptions options;
  options.sampling.time_budget_s = context.level <= CheckLevel::quick      ? 0.05
                                   : context.level == CheckLevel::standard ? 0.2
                                                                           : 1;
  options.root = context.root;
  options.cancel = context.cancel;
  return options;
}

/// Measures with the thread, and so the host memory, on the node of the device.
measure::CopyResult measure_near(const measure::PlannedCopy& planned, measure::CopyBench& bench,
                                 const std::filesystem::path& root) {
  std::vector<int> cpus;
  if (planned.spec.devices.size() == 1) {
    const DeviceInfo info = planned.spec.devices.front().info();
    if (info.pci_bus_id) cpus = system::cpus_near(root, *info.pci_bus_id);
  }
  const system::CpuBinding bound(cpus);
  return bench.measure(planned);
}

/// The copies of a thread that may be left behind.
struct CopyRound {
  SharedContext context;
  std::vector<Device> devices;
  std::vector<measure::PlannedCopy> plan;
  std::mutex mutex;
  std::size_t working = 0;  ///< of the plan: what is measured now, or gives its memory back
  std::vector<measure::CopyResult> results;
  std::vector<Heartbeat::Clock::time_point> started_at;  ///< of each result
  std::vector<Heartbeat::Clock::time_point> ended_at;
  std::optional<Error> error;
  std::shared_ptr<LoadSensors> sensors;  ///< null until they are open
  CopyPaths paths;
};

/// The devices of a copy are read while it runs.
void watch_copy(const measure::CopySpec& spec, const std::shared_ptr<LoadSensors>& sensors,
                measure::CopyBenchOptions& options) {
  std::vector<std::string> ids;
  for (const Device& device : spec.devices) ids.push_back(device.id());
  options.while_copying = [sensors, ids] {
    for (const std::string& id : ids) sensors->look(id);
  };
}

void run_round(CopyRound& round, Heartbeat& heart) {
  try {
    heart.step("opening the sensors");
    const auto sensors = std::make_shared<LoadSensors>(round.devices, round.context->root,
                                                       round.context->sensor_patience);
    heart.step("reading the links of the GPUs");
    CopyPaths paths(round.devices, round.context->root, round.context->sensor_patience);
    {
      const std::lock_guard lock(round.mutex);
      round.sensors = sensors;
      round.paths = std::move(paths);
    }
    for (std::size_t i = 0; i < round.plan.size(); ++i) {
      if (round.context->cancel->is_cancelled()) return;
      {
        const std::lock_guard lock(round.mutex);
        round.working = i;
      }
      heart.step(measure::id_of(round.plan[i].spec));
      measure::CopyBenchOptions options = copy_options(*round.context);
      watch_copy(round.plan[i].spec, sensors, options);
      measure::CopyBench bench(std::move(options));
      const auto start = Heartbeat::Clock::now();
      measure::CopyResult result = measure_near(round.plan[i], bench, round.context->root);
      const std::lock_guard lock(round.mutex);
      round.started_at.push_back(start);
      round.ended_at.push_back(Heartbeat::Clock::now());
      round.results.push_back(std::move(result));
    }
  } catch (const Error& error) {
    const std::lock_guard lock(round.mutex);
    if (error.code() != ErrorCode::cancelled) round.error = error;
  } catch (const std::exception& exception) {
    const std::lock_guard lock(round.mutex);
    round.error = base::to_error(exception);
  }
}

bool takes_part(const measure::CopySpec& spec, const std::string& id) {
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [&](const Device& device) { return device.id() == id; });
}

bool is_pair(measure::CopyKind kind) {
  return kind == measure::CopyKind::p2p_read || kind == measure::CopyKind::p2p_write ||
         kind == measure::CopyKind::p2p_bidir;
}

/// Whether a fault of the copy is one of its first device, not of all of them together.
bool is_of_first(const measure::CopySpec& spec) {
  return spec.devices.size() == 1 || (spec.devices.size() == 2 && is_pair(spec.kind));
}

/// Adds results to the works of the devices.
class CopyResults {
 public:
  CopyResults(const std::vector<Device>& devices, const SharedContext& context,
              const std::vector<std::shared_ptr<StageWork>>& works)
      : devices_(devices), context_(context), works_(works) {}

  /// The last work is for copies of all devices at once.
  StageWork& work_of(const measure::CopySpec& spec) const {
    if (!is_of_first(spec)) return *works_.back();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i] == spec.devices.front()) return *works_[i];
    }
    return *works_.back();
  }

  void add(const CopyRound& round, std::size_t i) {
    const measure::PlannedCopy& planned = round.plan[i];
    const measure::CopyResult& result = round.results[i];
    StageWork& work = work_of(planned.spec);
    if (result.status == measure::Status::skipped && measure::uses_peers(planned.spec.kind)) {
      missing_.emplace_back(planned.spec, result.reason);
    }
    if (result.status == measure::Status::ok && is_pair(planned.spec.kind)) {
      has_peers_.insert(planned.spec.devices.front().info().name);
      peer_speeds_[planned.spec.devices.front().id()].push_back(result.bytes_per_s.value_or(0));
    } else if (result.status == measure::Status::ok) {
      work.add_figure(std::string(to_string(planned.spec.kind)) + " " + figure_text(result));
    }
    if (result.status == measure::Status::ok) {
      StageMeasurement measured;
      static_cast<report::Measurement&>(measured) = measurement_of(result);
      measured.stage = "copy";
      measured.started_at = round.started_at[i];
      measured.ended_at = round.ended_at[i];
      measured.path_bytes_per_s = round.paths.best_of(result);
      const SharedContext context = context_;
      measured.again = [context, planned]() -> report::Measurement {
        measure::CopyBench bench(copy_options(*context));
        return measurement_of(measure_near(planned, bench, context->root));
      };
      measured.wrong_data_action = wrong_copy_action;
      work.add(std::move(measured));
      return;
    }
    add_measured("copy", result, wrong_copy_action, work);
  }

  /// Where some devices of a kind reach each other, all must.
  void judge_peers() {
    for (const auto& [spec, reason] : missing_) {
      if (!is_pair(spec.kind) || has_peers_.count(spec.devices.front().info().name) == 0) continue;
      work_of(spec).add(Fault{machine::codes::peer_missing, measure::id_of(spec), "",
                              reason + "; other devices of this kind can", peer_action,
                              std::nullopt, "access to the peer", "none"});
    }
    for (const auto& [id, speeds] : peer_speeds_) {
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (devices_[i].id() != id) continue;
        report::Measurement slowest;
        slowest.bytes_per_s = *std::min_element(speeds.begin(), speeds.end());
        works_[i]->add_figure((speeds.size() > 1 ? "peers from " : "peer ") + figure_text(slowest));
      }
    }
  }

 private:
  const std::vector<Device>& devices_;
  const SharedContext& context_;
  const std::vector<std::shared_ptr<StageWork>>& works_;
  std::vector<std::pair<measure::CopySpec, std::string>> missing_;
  std::set<std::string> has_peers_;  ///< names of kinds of devices
  std::map<std::string, std::vector<double>> peer_speeds_;
};

void add_once(const std::vector<std::string>& words, std::vector<std::string>& list) {
  for (const std::string& word : words) {
    if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
  }
}

/// What a thread was left behind with.
void add_hang(const measure::CopySpec& spec, double patience_s, StageWork& work) {
  const std::string id = measure::id_of(spec);
  const Error error(ErrorCode::timed_out, "check",
                    fmt::format("{} did not end within {:.0f} s", id, patience_s));
  work.add(Fault{code_of(error), id, "", error.what(), action_of(error), error});
}

}  // namespace

JointStageEnd copy_stage(const std::vector<Device>& devices, const SharedContext& context,
                         double patience_s, const std::vector<std::shared_ptr<StageWork>>& works,
                         const OnLook& on_look) {
  JointStageEnd end;
  std::map<std::string, std::vector<std::string>> reasons;  // for throttling, by device
  CopyResults results(devices, context, works);
  std::vector<measure::PlannedCopy> plan = plan_check(devices, *context);
  while (!plan.empty() && !context->cancel->is_cancelled()) {
    const auto round = std::make_shared<CopyRound>();
    round->context = context;
    round->devices = devices;
    round->plan = plan;
    const TaskEnd task = run_tasks({[round](Heartbeat& heart) { run_round(*round, heart); }},
                                   patience_s, *context->cancel, on_look)
                             .front();
    const std::lock_guard lock(round->mutex);
    for (std::size_t i = 0; i < round->results.size(); ++i) results.add(*round, i);
    for (const Device& device : devices) {
      if (round->sensors) add_once(round->sensors->reasons(device.id()), reasons[device.id()]);
    }
    if (round->error) {
      const Error& error = *round->error;
      works.back()->add(Fault{code_of(error), "copy", "", error.what(), action_of(error), error});
    }
    end.has_left_threads = end.has_left_threads || task.is_left_behind;
    if (!task.is_left_behind) break;
    // It may hang after its measurement, while it gives memory back.
    const std::size_t hung_at = round->working;
    const measure::CopySpec hung = plan[hung_at].spec;
    if (context->cancel->is_cancelled()) break;
    const bool is_first = context->hung.empty() && end.lost.empty();
    if (is_first) add_hang(hung, patience_s, results.work_of(hung));
    for (const Device& device : hung.devices) {
      const bool is_accused =
          is_first && (!is_of_first(hung) || device.id() == hung.devices.front().id());
      if (!is_accused) end.held_up.push_back(device.id());
      end.lost.push_back(device.id());
    }
    plan.erase(plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(hung_at) + 1);
    std::erase_if(plan, [&](const measure::PlannedCopy& planned) {
      return std::any_of(end.lost.begin(), end.lost.end(),
                         [&](const std::string& id) { return takes_part(planned.spec, id); });
    });
  }
  results.judge_peers();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    add_slowdown(devices[i].id(), reasons[devices[i].id()], *works[i]);
  }
  return end;
}

}  // namespace hiptool::accept
