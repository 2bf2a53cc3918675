// SPDX-License-Identifier: MIT
#include "hiptool/plan_loader.hpp"
#include "base/clock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>

#include "core/platform_state.hpp"
#include "hiptool/error.hpp"
#include "hiptool/peer_access.hpp"
#include "hiptool/verification.hpp"
#include "load/place/check_layout.hpp"
#include "load/transfer/file_load.hpp"
#include "load/transfer/replicator.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t most_readers = 16;  // of one device, as of an AsyncLoader

/// Bytes of several devices in one sum.
class SharedProgress {
 public:
  SharedProgress(LoadObserver* shown, std::uint64_t total_bytes)
      : shown_(shown), total_bytes_(total_bytes) {}

  /// Of one device; progress of several threads may come in any order.
  class Part final : public LoadObserver {
   public:
    explicit Part(SharedProgress& whole) : whole_(whole) {}
    void on_progress(std::uint64_t done_bytes, std::uint64_t) noexcept override {
      std::uint64_t before = most_.load();
      while (before < done_bytes && !most_.compare_exchange_weak(before, done_bytes)) {
      }
      if (before < done_bytes) whole_.add(done_bytes - before);
    }

   private:
    SharedProgress& whole_;
    std::atomic<std::uint64_t> most_{0};
  };

 private:
  void add(std::uint64_t bytes) noexcept {
    const std::uint64_t done = done_bytes_.fetch_add(bytes) + bytes;
    if (shown_ != nullptr) shown_->on_progress(done, total_bytes_);
  }

  LoadObserver* shown_;
  std::uint64_t total_bytes_;
  std::atomic<std::uint64_t> done_bytes_{0};
};

}  // namespace

struct PlanLoader::Impl {
  const ModelFile model;  // both are copies: what the caller changes later was not checked
  const LoadPlan plan;
  AsyncLoader::Options options;
  std::vector<std::unique_ptr<AsyncLoader>> loaders;  // null: gets nothing, or a copy
  std::vector<bool> reaches_first;
  std::vector<Device> has_enabled;  // peer access to the first device, which ends with this object

  Impl(const ModelFile& of, const LoadPlan& with, AsyncLoader::Options chosen)
      : model(of),
        plan(with),
        options(std::move(chosen)),
        loaders(with.devices.size()),
        reaches_first(with.devices.size(), false) {
    load::check_plan(of, with, "make loader");
    check_streams();
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      if (is_read(i)) loaders[i] = make_loader(i);
    }
    if (is_copied()) find_peers();
  }

  ~Impl() {
    for (const Device& device : has_enabled) {
      try {
        disable_peer_access(device, plan.devices.front().device);
      } catch (const std::exception& error) {
        device.state().note("load", error.what());
      }
    }
  }

  bool is_copied() const { return plan.split == SplitKind::replicate; }
  bool is_empty(std::size_t i) const { return plan.devices[i].layout.placements.empty(); }
  // Whether the device's part is read from the files for it.
  bool is_read(std::size_t i) const { return !is_empty(i) && (i == 0 || !is_copied()); }

  std::uint32_t count_read() const {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < plan.devices.size(); ++i) count += is_read(i) ? 1u : 0u;
    return count;
  }

  void check_streams() const {
    for (const StreamRef& stream : options.external_streams) {
      const bool is_known =
          std::any_of(plan.devices.begin(), plan.devices.end(),
                      [&](const DevicePlan& part) { return part.device == stream.device(); });
      if (is_known) continue;
      throw Error(ErrorCode::invalid_argument, "make loader",
                  "a stream of " + stream.device().id() + " was given, which is not in the plan");
    }
  }

  std::unique_ptr<AsyncLoader> make_loader(std::size_t i) const {
    const Device& device = plan.devices[i].device;
    AsyncLoader::Options chosen = options;
    const std::uint32_t devices = std::max(1u, count_read());
    const std::uint32_t all =
        options.readers != 0 ? options.readers : load::choose_threads(1, most_readers * devices, 1);
    chosen.readers = std::max(1u, all / devices);
    if (devices > 1) chosen.stretches = std::max(1u, options.stretches / devices);
    chosen.external_streams.clear();
    for (const StreamRef& stream : options.external_streams) {
      if (stream.device() == device) chosen.external_streams.push_back(stream);
    }
    return std::make_unique<AsyncLoader>(device, std::move(chosen));
  }

  void find_peers() {
    const Device& first = plan.devices.front().device;
    for (std::size_t i = 1; i < plan.devices.size(); ++i) {
      const Device& device = plan.devices[i].device;
      try {
        if (!can_access_peer(device, first)) continue;
        if (enable_peer_access(device, first)) has_enabled.push_back(device);
        reaches_first[i] = true;
      } catch (const Error& error) {
        device.state().note("load", error.what());  // then the slots serve it
      }
    }
  }

  std::unique_ptr<load::Replicator> make_replicator(std::span<const Buffer> arenas,
                                                    load::ChunkSink* sink) const {
    if (!is_copied() || is_empty(0)) return nullptr;
    std::vector<load::Replicator::Target> targets;
    for (std::size_t i = 1; i < plan.devices.size(); ++i) {
      targets.push_back({arenas[i], reaches_first[i]});
    }
    return std::make_unique<load::Replicator>(arenas[0], sink, targets);
  }

  std::string lane_of(std::size_t i) const {
    return plan.devices.size() > 1 ? plan.devices[i].device.id() + " reader" : "reader";
  }
};

PlanLoader::PlanLoader(const ModelFile& model, const LoadPlan& plan)
    : PlanLoader(model, plan, AsyncLoader::Options{}) {}

PlanLoader::PlanLoader(const ModelFile& model, const LoadPlan& plan, AsyncLoader::Options options)
    : impl_(std::make_unique<Impl>(model, plan, std::move(options))) {}

PlanLoader::~PlanLoader() = default;

void PlanLoader::prepare() {
  load::run_for_each(impl_->loaders.size(), [this](std::size_t i, const std::atomic<bool>&) {
    if (impl_->loaders[i]) impl_->loaders[i]->prepare();
  });
}

std::vector<Buffer> PlanLoader::allocate() const {
  std::vector<Buffer> arenas(impl_->plan.devices.size());
  load::run_for_each(arenas.size(), [&](std::size_t i, const std::atomic<bool>&) {
    const DevicePlan& part = impl_->plan.devices[i];
    if (!impl_->is_empty(i)) arenas[i] = Buffer(part.device, part.layout.arena_bytes);
  });
  return arenas;
}

PlanStatistics PlanLoader::load(std::span<const Buffer> arenas, Verification* verification) {
  Impl& impl = *impl_;
  load::check_arenas(impl.model, impl.plan, arenas, "load");
  for (std::size_t i = 0; verification != nullptr && i < arenas.size(); ++i) {
    if (!impl.is_empty(i)) {
      verification->require(impl.model, impl.plan.devices[i].layout, arenas[i]);
    }
  }
  PlanStatistics statistics;
  statistics.devices.resize(arenas.size());
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    if (impl.is_read(i)) total_bytes += impl.plan.devices[i].layout.tensor_bytes;
  }
  SharedProgress progress(impl.options.observer, total_bytes);
  load::FileSet files(impl.model, impl.options.read);
  load::ChunkSink* const sink = verification != nullptr ? verification->sink() : nullptr;
  const auto replicator = impl.make_replicator(arenas, sink);
  const auto start = Clock::now();
  load::run_for_each(arenas.size(), [&](std::size_t i, const std::atomic<bool>& stop) {
    if (!impl.loaders[i]) return;
    SharedProgress::Part part_progress(progress);
    load::LoadPart part{
        impl.model, impl.plan.devices[i].layout, arenas[i], files, nullptr, &part_progress, {}};
    part.sink = replicator ? replicator.get() : sink;
    part.check = [&stop] {
      if (stop.load()) throw Error(ErrorCode::cancelled, "load", "another device failed");
    };
    part.lane = impl.lane_of(i);
    statistics.devices[i] = impl.loaders[i]->load_part(part);
  });
  if (replicator) {
    replicator->finish();
    for (std::size_t i = 1; i < arenas.size(); ++i) {
      LoadStatistics& copy = statistics.devices[i];
      copy.copied_bytes = impl.plan.devices[i].layout.arena_bytes;
      copy.copy_time_s = replicator->copy_time_s(i - 1);
      copy.load_time_s = base::seconds_since(start);
    }
  }
  LoadStatistics& total = statistics.total;
  total.load_time_s = base::seconds_since(start);
  for (const LoadStatistics& device : statistics.devices) {
    total.copy_time_s = std::max(total.copy_time_s, device.copy_time_s);
    total.copied_bytes += device.copied_bytes;
    total.readers += device.readers;
    total.slots += device.slots;
    total.slot_bytes = std::max(total.slot_bytes, device.slot_bytes);
  }
  files.report(total);
  files.check_unchanged();
  return statistics;
}

double PlanLoader::probe_read_bytes_per_s(std::span<const Buffer> arenas,
                                          std::uint64_t most_bytes) {
  Impl& impl = *impl_;
  load::check_arenas(impl.model, impl.plan, arenas, "load");
  std::vector<double> rates(impl.loaders.size());
  load::run_for_each(rates.size(), [&](std::size_t i, const std::atomic<bool>&) {
    if (!impl.loaders[i]) return;
    rates[i] = impl.loaders[i]->probe_read_bytes_per_s(impl.model, impl.plan.devices[i].layout,
                                                       arenas[i], most_bytes);
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

const std::vector<bool>& PlanLoader::reaches_first() const noexcept { return impl_->reaches_first; }

}  // namespace hiptool
