// SPDX-License-Identifier: MIT
#include "load/transfer/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "core/platform_state.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "load/device_work.hpp"
#include "load/layout/blocks.hpp"
#include "load/place/check_arenas.hpp"
#include "load/transfer/file_load.hpp"
#include "load/transfer/loader_access.hpp"
#include "load/transfer/replicator.hpp"
#include "load/transfer/staging_shape.hpp"
#include "load/verify/verification.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

using Clock = std::chrono::steady_clock;

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

struct Transfer::Impl {
  const ModelFile model;  // copies, which the caller cannot change
  const LoadPlan plan;
  TransferOptions options;
  std::vector<std::unique_ptr<AsyncLoader>> loaders;  // null: gets nothing, or a copy
  std::vector<WorkerThreads> readers;                 // by device
  std::vector<bool> reaches_first;
  std::vector<Device> has_enabled;  // peer access to the first device, which ends with this object
  std::vector<std::uint32_t> regions;  // of the last load, by device

  Impl(const ModelFile& of, const LoadPlan& with, TransferOptions chosen)
      : model(of),
        plan(with),
        options(std::move(chosen)),
        loaders(with.devices.size()),
        readers(with.devices.size()),
        reaches_first(with.devices.size(), false),
        regions(with.devices.size(), 0) {
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
        core::state_of(device).note("load", error.what());
      }
    }
  }

  DeviceRing& ring_of(std::size_t i) const { return LoaderAccess::ring_of(*loaders[i]); }

  bool is_copied() const { return plan.split == SplitKind::replicate; }
  bool is_empty(std::size_t i) const { return plan.devices[i].layout.placements.empty(); }
  // Whether the device's part is read from the files for it.
  bool is_read(std::size_t i) const { return !is_empty(i) && (i == 0 || !is_copied()); }

  std::uint32_t count_read() const {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < plan.devices.size(); ++i) count += is_read(i) ? 1u : 0u;
    return count;
  }

  std::uint32_t count_readers() const {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      count += loaders[i] ? ring_of(i).options().readers : 0;
    }
    return count;
  }

  void check_streams() const {
    for (const StreamRef& stream : options.external_streams) {
      const bool is_known = std::ranges::any_of(
          plan.devices, [&](const DevicePlan& part) { return part.device == stream.device(); });
      if (is_known) continue;
      throw Error(ErrorCode::invalid_argument, "make loader",
                  "a stream of " + stream.device().id() + " was given, which is not in the plan");
    }
  }

  std::unique_ptr<AsyncLoader> make_loader(std::size_t i) const {
    const Device& device = plan.devices[i].device;
    TransferOptions chosen = options;
    const std::uint32_t devices = std::max(1u, count_read());
    const bool is_staged = options.always_stage || !device.is_host_memory();
    const bool is_sized = options.slots != 0 || options.slot_bytes != 0;
    if (chosen.parts == 0 && (plan.devices.size() > 1 || !is_staged || is_sized)) chosen.parts = 1;
    const StagingShape shape =
        choose_staging(StagingHost::of_this_process(), devices, plan.devices[i].layout.arena_bytes,
                       chosen.parts != 1);
    if (chosen.parts == 0) chosen.parts = shape.parts;
    chosen.readers = options.readers != 0 ? std::max(1u, options.readers / devices) : shape.readers;
    if (chosen.slots == 0) chosen.slots = shape.slots;
    if (chosen.slot_bytes == 0) chosen.slot_bytes = shape.slot_bytes;
    if (devices > 1) chosen.regions = std::max(1u, options.regions / devices);
    chosen.external_streams.clear();
    for (const StreamRef& stream : options.external_streams) {
      if (stream.device() == device) chosen.external_streams.push_back(stream);
    }
    return LoaderAccess::make(device, std::move(chosen));
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
        core::state_of(device).note("load", error.what());  // then the slots serve it
      }
    }
  }

  std::unique_ptr<Replicator> make_replicator(std::span<const Buffer> arenas,
                                              ChunkSink* sink) const {
    if (!is_copied() || is_empty(0)) return nullptr;
    std::vector<Replicator::Target> targets;
    for (std::size_t i = 1; i < plan.devices.size(); ++i) {
      targets.push_back({arenas[i], reaches_first[i]});
    }
    return std::make_unique<Replicator>(arenas[0], sink, targets);
  }

  FileLoad::Options file_options(std::size_t i) const {
    const TransferOptions& resolved = ring_of(i).options();
    FileLoad::Options chosen;
    chosen.stages = ring_of(i).stages();
    chosen.readers = resolved.readers;
    chosen.parts = resolved.parts;
    chosen.check = [ring = &ring_of(i)] { ring->throw_if_cancelled(); };
    chosen.ramp = resolved.ramp;
    chosen.regions = resolved.regions;
    chosen.cpus = resolved.reader_cpus;
    return chosen;
  }

  LoadStatistics load_part(std::size_t i, FileSet& files, const Buffer& arena, ChunkSink* sink,
                           LoadObserver& observer, const std::atomic<bool>& stop) {
    FileLoad::Options chosen = file_options(i);
    if (chosen.regions == 0) chosen.regions = files.choose_regions();
    regions[i] = chosen.regions;
    chosen.check = [ring = &ring_of(i), &stop] {
      ring->throw_if_cancelled();
      if (stop.load()) throw Error(ErrorCode::cancelled, "load", "another device failed");
    };
    chosen.observer = &observer;
    chosen.sink = sink;
    chosen.timeline = options.timeline;
    if (plan.devices.size() > 1) chosen.track = plan.devices[i].device.id() + " reader";
    return FileLoad(model, plan.devices[i].layout, arena, files, ring_of(i).ring(), readers[i],
                    chosen)
        .run();
  }

  void require_slots_for(const ChunkSink* sink) const {
    if (sink == nullptr || options.slot_bytes == 0 || options.slot_bytes >= 2 * block_bytes) return;
    throw Error(ErrorCode::invalid_argument, "load",
                "load: slots of " + std::to_string(options.slot_bytes) +
                    " bytes are too small for digests of whole blocks");
  }

  std::uint64_t bytes_to_read() const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      if (loaders[i]) bytes += plan.devices[i].layout.tensor_bytes;
    }
    return bytes;
  }
};

Transfer::Transfer(const ModelFile& model, const LoadPlan& plan, TransferOptions options)
    : impl_(std::make_unique<Impl>(model, plan, std::move(options))) {}

Transfer::~Transfer() = default;

void Transfer::prepare() {
  run_for_each(impl_->loaders.size(), [this](std::size_t i, const std::atomic<bool>&) {
    if (!impl_->loaders[i] || !impl_->ring_of(i).stages()) return;
    impl_->readers[i].prepare(impl_->ring_of(i).options().readers);
    impl_->loaders[i]->prepare();
  });
}

std::vector<Buffer> Transfer::allocate() const {
  const LoadPlan& plan = impl_->plan;
  std::vector<Buffer> arenas(plan.devices.size());
  std::vector<bool> has_tensors(arenas.size());
  for (std::size_t i = 0; i < arenas.size(); ++i) has_tensors[i] = !impl_->is_empty(i);
  run_for_devices(plan, has_tensors, impl_->options.observer,
                  [&](std::size_t i, const std::atomic<bool>&) {
                    const DevicePlan& part = plan.devices[i];
                    arenas[i] = Buffer(part.device, part.layout.arena_bytes);
                  });
  return arenas;
}

TransferStatistics Transfer::load(std::span<const Buffer> arenas, Verification* verification) {
  Impl& impl = *impl_;
  // Before the files are opened: a wrong argument is the caller's error, whatever the files are.
  check_arenas(impl.plan, arenas, "load");
  for (std::size_t i = 0; verification != nullptr && i < arenas.size(); ++i) {
    if (!impl.is_empty(i)) {
      verification->require(impl.model, impl.plan.devices[i].layout, arenas[i]);
    }
  }
  ChunkSink* const sink = verification != nullptr ? verification->sink() : nullptr;
  impl.require_slots_for(sink);
  TransferStatistics statistics;
  statistics.devices.resize(arenas.size());
  SharedProgress progress(impl.options.observer, impl.bytes_to_read());
  FileSet files(impl.model, impl.options.read, impl.count_readers());
  const auto replicator = impl.make_replicator(arenas, sink);
  const auto start = Clock::now();
  std::vector<bool> is_read(arenas.size());
  for (std::size_t i = 0; i < arenas.size(); ++i) is_read[i] = impl.is_read(i);
  run_for_devices(impl.plan, is_read, impl.options.observer,
                  [&](std::size_t i, const std::atomic<bool>& stop) {
                    SharedProgress::Part part(progress);
                    ChunkSink* const all = replicator ? replicator.get() : sink;
                    statistics.devices[i] = impl.load_part(i, files, arenas[i], all, part, stop);
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

double Transfer::probe_read_bytes_per_s(std::span<const Buffer> arenas, std::uint64_t most_bytes) {
  Impl& impl = *impl_;
  check_arenas(impl.plan, arenas, "load");
  FileSet files(impl.model, impl.options.read, impl.count_readers());
  std::vector<double> rates(impl.loaders.size());
  run_for_each(rates.size(), [&](std::size_t i, const std::atomic<bool>&) {
    if (!impl.loaders[i]) return;
    FileLoad::Options options = impl.file_options(i);
    // The load has put files into the page cache, which must not choose now.
    if (options.regions == 0) options.regions = impl.regions[i];
    rates[i] = FileLoad(impl.model, impl.plan.devices[i].layout, arenas[i], files,
                        impl.ring_of(i).ring(), impl.readers[i], options)
                   .probe(most_bytes);
  });
  // Device memory that is read into in place must still hold what was verified.
  const bool writes_arenas = std::ranges::any_of(impl.loaders, [](const auto& loader) {
    return loader && !LoaderAccess::ring_of(*loader).stages();
  });
  if (writes_arenas) files.check_unchanged();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

std::uint32_t Transfer::readers() const noexcept { return impl_->count_readers(); }

const std::vector<bool>& Transfer::reaches_first() const noexcept { return impl_->reaches_first; }

std::span<std::byte> Transfer::staging(std::size_t device) noexcept {
  const bool is_read = impl_->loaders[device] != nullptr;
  return is_read ? impl_->ring_of(device).ring().memory() : std::span<std::byte>();
}

}  // namespace hiptool::load
