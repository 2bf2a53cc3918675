// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/reference.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/platform_state.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_summary.hpp"
#include "load/phase_timer.hpp"
#include "load/place/place.hpp"
#include "load/read/read_ahead.hpp"
#include "load/status.hpp"
#include "load/transfer/link_probe.hpp"
#include "load/transfer/staging_memory.hpp"
#include "load/transfer/staging_shape.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "load/verify/file_digests.hpp"
#include "load/verify/published.hpp"
#include "load/verify/readback.hpp"
#include "load/verify/self_test.hpp"
#include "load/verify/value_check.hpp"
#include "load/verify/verification.hpp"
#include "load/verify/verify_mode.hpp"
#include "load/workers.hpp"
#include "system/numa.hpp"
#include "system/pci.hpp"

namespace hiptool {
namespace {

// A share of the link is meaningful only for a load that takes longer than its own start.
constexpr std::uint64_t least_measured_bytes = 1u << 30;
constexpr std::chrono::milliseconds progress_interval{100};
// Threads that begin and pages that are touched take the lock of the address space, which a driver
// needs to map its library and memory: on machines with one H200 a load of 13 GiB ends 20 to 30 ms
// sooner where the first of them begins after this time.
constexpr std::chrono::milliseconds driver_maps_for{15};
constexpr std::uint32_t most_readers_while_driver_starts = 16;

/// Passes progress on and remembers it for the report.
class CountingObserver final : public LoadObserver {
 public:
  explicit CountingObserver(LoadObserver* shown) : shown_(shown) {}
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    // Readers report in any order.
    std::uint64_t most = done_bytes_.load(std::memory_order_relaxed);
    while (most < done_bytes && !done_bytes_.compare_exchange_weak(most, done_bytes)) {
    }
    if (shown_ != nullptr) shown_->on_progress(done_bytes, total_bytes);
  }
  void on_waiting(std::span<const std::string> devices) noexcept override {
    if (shown_ != nullptr) shown_->on_waiting(devices);
  }
  std::uint64_t done_bytes() const { return done_bytes_.load(std::memory_order_relaxed); }

 private:
  LoadObserver* shown_;
  std::atomic<std::uint64_t> done_bytes_{0};
};

void check_options(const LoadOptions& options) {
  if (options.self_test && !load::has_digests(options.verify)) {
    throw Error(ErrorCode::invalid_argument, "load",
                "a self-test needs a load that is verified by digests",
                "choose the verification auto, full, fast or published");
  }
  if (!options.sha256.empty() && options.verify != VerifyMode::published) {
    throw Error(ErrorCode::invalid_argument, "load",
                "a given SHA-256 is compared only by the verification published",
                "choose the verification published, or give no SHA-256");
  }
  if (options.context_tokens == 0) return;
  if (options.split.kind == SplitKind::proportions) {
    throw Error(ErrorCode::invalid_argument, "load",
                "a KV cache keeps layers whole, which a split by proportions does not",
                "split by layer or replicate");
  }
  if (!options.arenas.empty()) {
    throw Error(ErrorCode::invalid_argument, "load",
                "whether a KV cache fits is not checked for arenas of the caller",
                "leave out context_tokens or arenas");
  }
}

/// One call of load_model().
class ModelLoad {
 public:
  ModelLoad(const ModelFile& model, const LoadOptions& options, LoadReport& report)
      : model_(model), options_(options), report_(report) {}

  std::vector<Buffer> run(const OpenDevices& open_devices, std::uint32_t expected_devices,
                          bool opens_always) {
    check_options(options_);
    load::choose_verify_mode(model_, options_.verify, report_);
    // Reports missing metadata before any device is started.
    if (options_.context_tokens > 0) {
      static_cast<void>(
          kv_cache_bytes(summarize(model_), options_.context_tokens, options_.kv_cache));
    }
    const bool is_empty = model_.tensors().empty();
    if (is_published()) report_.published = load::find_published(model_, options_.sha256);
    std::future<void> host_work;
    {
      std::promise<void> opening;
      host_work = start_host_work(is_empty ? 0 : expected_devices, opening.get_future().share());
      if (opens_always || !is_empty) start(open_devices);
    }
    host_work.get();
    std::vector<Buffer> arenas;
    if (is_empty) {
      report_.status = LoadStatus::empty;
      if (report_.plan) arenas.resize(report_.plan->devices.size());
    } else {
      arenas = load();
    }
    if (is_published() && report_.status != LoadStatus::mismatch) {
      if (is_empty) wait_for_sha256();
      load::check_published(model_, file_digests_->sha256(), report_.published);
    }
    return arenas;
  }

 private:
  load::PhaseTimer phase(const char* name) {
    return {report_, base::pointer_to(options_.timeline), base::pointer_to(options_.observer),
            name};
  }
  bool is_published() const { return report_.verify_mode == VerifyMode::published; }
  bool is_warm() const { return load::is_warm(model_, report_); }
  void note(const char* source, const std::string& text) const {
    core::state_of(report_.plan->devices.front().device).note(source, text);
  }

  // What needs no device, while the driver starts, which takes longer. `opening` becomes ready
  // when its promise is destroyed: the devices are open, or opening failed.
  std::future<void> start_host_work(std::uint32_t expected_devices,
                                    const std::shared_future<void>& opening) {
    const auto work = [this, expected_devices, opening] {
      opening.wait_for(driver_maps_for);
      start_file_digests();
      start_read_ahead(expected_devices);
      touch_staging_memory(expected_devices);
    };
    try {
      return std::async(std::launch::async, work);
    } catch (const std::system_error&) {  // no thread to be had
      return std::async(std::launch::deferred, work);
    }
  }

  void start_file_digests() {
    if (model_.tensors().empty() && !is_published()) return;
    if (report_.verify_mode != VerifyMode::full && !is_published()) return;
    load::FileDigests::Options options;
    for (const PublishedHash& hash : report_.published) options.sha256_of.push_back(hash.file);
    options.cancel = base::pointer_to(options_.cancel);
    options.timeline = base::pointer_to(options_.timeline);
    file_digests_ = std::make_shared<load::FileDigests>(model_, options);
    // The driver starts on a few threads, which wait where all cores read, and for the lock of the
    // address space where many do: with 32 cores 16 end sooner than 24, by 10 ms.
    const std::uint32_t cores = load::choose_threads(1, UINT32_MAX, 1);
    file_digests_->limit_threads(std::min(cores - cores / 4, most_readers_while_driver_starts));
  }

  // A disk works while the driver starts. A second reader reads the files then in any case.
  void start_read_ahead(std::uint32_t devices) {
    if (devices == 0 || is_warm() || file_digests_) return;
    if (options_.read.mode == ReadMode::direct) return;  // nothing through the page cache
    read_ahead_ = std::make_unique<load::ReadAhead>(model_, base::pointer_to(options_.timeline));
  }

  // Also during the driver's start. (Of several NUMA nodes the right one is known only later.)
  void touch_staging_memory(std::uint32_t devices) {
    if (devices == 0) return;
    devices = std::min(devices, static_cast<std::uint32_t>(system::identify_gpus("/").size()));
    if (devices == 0 || system::numa_node_count("/") > 1) return;
    const bool shares_slots = devices == 1 && is_warm();
    if (options_.split.kind == SplitKind::replicate) devices = 1;  // only one reads
    const std::uint64_t most_gap_bytes = model_.tensors().size() * tensor_alignment_bytes;
    const load::StagingShape shape =
        load::choose_staging(load::StagingHost::of_this_process(), devices,
                             model_.tensor_bytes() + most_gap_bytes, shares_slots);
    staging_memory_ = std::make_shared<load::StagingMemory>(devices, shape.total_bytes());
  }

  void start(const OpenDevices& open_devices) {
    const auto timer = phase("start");
    const std::vector<Device> devices = open_devices();
    if (options_.arenas.empty()) {
      load::place_model(model_, devices, options_.split,
                        {options_.context_tokens, options_.kv_cache}, report_.plan, report_.fit);
    } else {
      report_.plan = plan_load(model_, devices, options_.split);
    }
  }

  // From a disk both read at its rate, and SHA-256 takes longer than the copies: they share the
  // cores until the second reader is nearly done.
  bool is_second_reader_busy() const {
    return (!is_warm() || is_published()) && file_digests_ &&
           file_digests_->statistics().bytes < model_.tensor_bytes() / 4 * 3;
  }

  static std::uint32_t half_of_cores() {
    return std::max(1u, load::choose_threads(1, UINT32_MAX, 1) / 2);
  }

  // Of the second reader while data is copied: the cores that readers of a cached file leave. All
  // cores read the rest after the load. With half of the cores for each, copies and verdict come
  // later (40 GiB on an H200 with 16 cores: after 1.80 s in place of 1.44 s).
  std::uint32_t threads_beside(const load::Transfer& transfer, bool is_shared) const {
    if (is_shared) return half_of_cores();
    const std::uint32_t cores = load::choose_threads(1, UINT32_MAX, 1);
    return is_warm() && cores > transfer.readers() ? cores - transfer.readers() : 1;
  }

  load::TransferOptions transfer_options(LoadObserver& observer, bool is_shared) const {
    load::TransferOptions options;
    options.external_streams = options_.streams;
    options.read = options_.read;
    options.cancel = base::pointer_to(options_.cancel);
    options.observer = &observer;
    options.timeline = base::pointer_to(options_.timeline);
    options.memory = staging_memory_;
    // A reader that waits for a disk must not hold up others.
    if (!is_warm()) options.parts = 1;
    if (is_shared) {
      const auto devices = static_cast<std::uint32_t>(report_.plan->devices.size());
      options.readers = std::min(half_of_cores(), load::most_readers * devices);
    }
    return options;
  }

  load::VerifyOptions verify_options(LoadObserver* observer) const {
    load::VerifyOptions options;
    options.cancel = base::pointer_to(options_.cancel);
    options.observer = observer;
    options.compiler_program = options_.compiler_program;
    options.timeline = base::pointer_to(options_.timeline);
    return options;
  }

  std::vector<Buffer> load() {
    CountingObserver observer(base::pointer_to(options_.observer));
    const bool is_shared = is_second_reader_busy();
    load::Transfer transfer(model_, *report_.plan, transfer_options(observer, is_shared));
    // Pinning takes as long as allocating and loading the kernel.
    const std::jthread pinning = start_pinning(transfer);
    std::vector<Buffer> arenas = options_.arenas;
    std::unique_ptr<load::Verification> verification;
    {
      const auto timer = phase("allocate");
      if (arenas.empty()) arenas = transfer.allocate();
      verification = start_verification(arenas);
    }
    if (file_digests_) file_digests_->limit_threads(threads_beside(transfer, is_shared));
    transfer_tensors(transfer, arenas, verification.get(), observer);
    if (is_published()) wait_for_sha256();
    if (verification) {
      compare_digests(*verification);
    } else if (report_.is_read_back) {
      read_back(arenas, observer);
    }
    check_values(arenas);
    report_.verdict_time_s =
        std::chrono::duration<double>(LoadReport::Clock::now() - report_.start).count();
    if (is_measured()) measure_limits(transfer, arenas);
    if (options_.self_test && report_.status == LoadStatus::verified) {
      const auto timer = phase("self-test");
      report_.self_test = load::run_self_test(model_, *report_.plan, arenas, *verification);
    }
    return arenas;
  }

  // A failure here occurs again, and is reported, when the load needs the slot.
  std::jthread start_pinning(load::Transfer& transfer) const {
    const auto pin = [&transfer, this] {
      try {
        transfer.prepare();
      } catch (const std::exception& error) {
        note("prepare", error.what());
      }
    };
    try {
      return std::jthread(pin);
    } catch (const std::system_error& error) {
      note("prepare", error.what());
      return {};
    }
  }

  // Digests on the device, or a read-back where no kernel is available for it.
  std::unique_ptr<load::Verification> start_verification(std::span<const Buffer> arenas) {
    if (report_.verify_mode == VerifyMode::none || report_.is_read_back) return nullptr;
    try {
      return std::make_unique<load::Verification>(
          model_, *report_.plan, arenas, file_digests_,
          verify_options(base::pointer_to(options_.observer)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || options_.self_test) throw;
      report_.is_read_back = true;
      if (!is_published()) {
        file_digests_.reset();
        report_.verify_mode = VerifyMode::readback;
      }
      // A compiler's log may be long; the whole of it goes to the trace.
      const std::string reason = error.what();
      report_.verify_note = base::one_line_of(reason);
      note("load kernel", reason);
      return nullptr;
    }
  }

  void transfer_tensors(load::Transfer& transfer, std::span<const Buffer> arenas,
                        load::Verification* verification, const CountingObserver& observer) {
    try {
      const auto timer = phase("load");
      const auto ahead = read_ahead_ ? read_ahead_->stop() : load::ReadAhead::Result();
      load::TransferStatistics statistics = transfer.load(arenas, verification);
      report_.statistics = std::move(statistics.total);
      report_.device_statistics = std::move(statistics.devices);
      add_read_ahead(ahead);
    } catch (...) {
      report_.done_bytes = observer.done_bytes();
      throw;
    }
    report_.done_bytes = observer.done_bytes();
    report_.status = LoadStatus::loaded;
    if (options_.verify == VerifyMode::automatic) load::note_cost_of_full(report_);
    // Other ways of reading matter only where they were requested.
    if (is_warm() && options_.read.mode != ReadMode::direct) {
      report_.statistics->read_notes.clear();
    }
  }

  // These reads were the first of the load.
  void add_read_ahead(const load::ReadAhead::Result& ahead) {
    if (ahead.bytes == 0) return;
    report_.statistics->load_time_s += ahead.duration_s;
    for (LoadStatistics& device : report_.device_statistics) {
      device.load_time_s += ahead.duration_s;
    }
    report_.statistics->read_notes.push_back("the first " + format_size(ahead.bytes) +
                                             " while the driver started");
  }

  // The devices' pass over their memory is a phase of its own.
  void compare_digests(load::Verification& verification) {
    auto timer = phase("digest");
    VerifyResult found = verification.finish();
    timer.ended_after(found.digest_time_s, "verify");
    if (report_.verify_note.empty()) {
      report_.verify_note = "kernel image " + verification.image();
    }
    judge(std::move(found));
  }

  // A file that changed explains a difference before a device does.
  void judge(VerifyResult found) {
    const bool is_equal = found.mismatch_count == 0;
    if (!is_equal) load::blame_changed_files(model_, found, base::pointer_to(options_.cancel));
    report_.verification = std::move(found);
    report_.status = is_equal ? LoadStatus::verified : LoadStatus::mismatch;
  }

  void read_back(std::span<const Buffer> arenas, LoadObserver& observer) {
    const auto timer = phase("verify");
    std::vector<VerifyResult> results(arenas.size());
    for (std::size_t i = 0; i < arenas.size(); ++i) {
      const ArenaLayout& layout = report_.plan->devices[i].layout;
      if (layout.placements.empty()) continue;
      const std::string id = report_.plan->devices[i].device.id();
      if (arenas.size() > 1) observer.on_waiting({&id, 1});
      results[i] = load::verify_readback(model_, layout, arenas[i], verify_options(&observer));
    }
    judge(load::join_results(model_, *report_.plan, results));
    if (!is_published() || report_.status != LoadStatus::verified) return;
    // SHA-256 must be of the bytes that were compared.
    load::require_same_reading(model_, report_.verification->tensor_digests,
                               load::tensor_digests(model_, file_digests_->get()));
  }

  // A phase also where hashing is done already, so that a report's phases do not depend on time.
  void wait_for_sha256() {
    const auto timer = phase("sha256");
    file_digests_->limit_threads(UINT32_MAX);
    const std::uint64_t before = file_digests_->statistics().bytes;
    bool is_done = file_digests_->wait_for(std::chrono::milliseconds(0));
    while (!is_done) {
      is_done = file_digests_->wait_for(progress_interval);
      const auto [bytes, total_bytes, duration_s] = file_digests_->statistics();
      if (!options_.observer) continue;
      options_.observer->get().on_progress(bytes - before, total_bytes - before);
    }
  }

  // Values of bytes that are not the file's say nothing about the model.
  void check_values(std::span<const Buffer> arenas) {
    if (!options_.check_values || report_.status == LoadStatus::mismatch) return;
    const auto timer = phase("values");
    // Copies are equal, as the verification shows.
    const std::size_t count = report_.plan->split == SplitKind::replicate ? 1 : arenas.size();
    ValueCheckResult values;
    try {
      for (std::size_t i = 0; i < count; ++i) {
        const ArenaLayout& layout = report_.plan->devices[i].layout;
        if (layout.placements.empty()) continue;
        load::check_values(model_, layout, arenas[i],
                           {base::pointer_to(options_.cancel), options_.compiler_program}, values);
      }
    } catch (const Error& error) {
      const bool is_interrupted = error.code() == ErrorCode::cancelled && values.checked > 0;
      if (is_interrupted) report_.values = std::move(values);
      throw;
    }
    report_.values = std::move(values);
  }

  /// Not after wrong data: a device that damages bytes may fail too, and its rate says nothing.
  bool is_measured() const {
    if (report_.status == LoadStatus::mismatch) return false;
    std::uint64_t bytes = 0;
    for (const DevicePlan& part : report_.plan->devices) bytes += part.layout.arena_bytes;
    return options_.measure_limits && bytes >= least_measured_bytes;
  }

  void measure_limits(load::Transfer& transfer, std::span<const Buffer> arenas) {
    const auto timer = phase("probe");
    report_.limits = load::measure_limits(
        transfer, *report_.plan, arenas, report_.copied_bytes_per_s().value_or(0),
        !is_warm() || report_.statistics->direct_bytes > 0, base::pointer_to(options_.cancel));
  }

  const ModelFile& model_;
  const LoadOptions& options_;
  LoadReport& report_;
  std::shared_ptr<load::FileDigests> file_digests_;  // null in modes that need none
  std::shared_ptr<load::StagingMemory> staging_memory_;
  std::unique_ptr<load::ReadAhead> read_ahead_;  // null where nothing is read ahead
};

LoadedModel run_load(const ModelFile& model, const OpenDevices& open_devices,
                     std::uint32_t expected_devices, bool opens_always,
                     const LoadOptions& options) {
  LoadReport own;
  LoadReport& report = options.report ? options.report->get() : own;
  try {
    std::vector<Buffer> arenas =
        ModelLoad(model, options, report).run(open_devices, expected_devices, opens_always);
    return LoadedModel(model, std::move(arenas), report);
  } catch (const Error& error) {
    report.status = load::status_after(report.status, error);
    throw;
  } catch (...) {
    if (report.status != LoadStatus::mismatch) report.status = LoadStatus::failed;
    throw;
  }
}

}  // namespace

LoadedModel load_model(const ModelFile& model, std::span<const Device> devices,
                       const LoadOptions& options) {
  const auto gpus =
      std::ranges::count_if(devices, [](const Device& device) { return !device.is_host_memory(); });
  return run_load(
      model, [devices] { return std::vector<Device>(devices.begin(), devices.end()); },
      static_cast<std::uint32_t>(gpus), true, options);
}

LoadedModel load_model(const ModelFile& model, const Device& device, const LoadOptions& options) {
  return load_model(model, std::span(&device, 1), options);
}

LoadedModel load_model(const ModelFile& model, const OpenDevices& open_devices,
                       std::uint32_t expected_devices, const LoadOptions& options) {
  if (!open_devices) {
    throw Error(ErrorCode::invalid_argument, "load", "the function that opens devices is empty");
  }
  return run_load(model, open_devices, expected_devices, false, options);
}

}  // namespace hiptool
