// SPDX-License-Identifier: MIT
#include "cli/commands/load/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "base/text.hpp"
#include "cli/commands/load/demo.hpp"
#include "cli/commands/load/fit.hpp"
#include "cli/commands/load/hashes.hpp"
#include "cli/commands/load/model_files.hpp"
#include "cli/progress.hpp"
#include "hiptool/error.hpp"
#include "hiptool/file_digests.hpp"
#include "hiptool/plan_loader.hpp"
#include "hiptool/self_test.hpp"
#include "hiptool/verification.hpp"
#include "load/transfer/link_probe.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "system/host.hpp"
#include "system/numa.hpp"
#include "system/pci.hpp"
#include "system/residency.hpp"

namespace hiptool::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A share of the link says something only about a load that takes longer than its own start.
constexpr std::uint64_t least_probed_bytes = 1u << 30;
constexpr std::uint64_t read_probe_bytes = 1'000'000'000;
constexpr std::uint64_t cold_read_probe_bytes = 256u << 20;  // a disk is slow

// Shows progress and remembers how far it came.
class CountingObserver final : public LoadObserver {
 public:
  explicit CountingObserver(LoadObserver& shown) : shown_(shown) {}
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    done_bytes_.store(done_bytes, std::memory_order_relaxed);
    shown_.on_progress(done_bytes, total_bytes);
  }
  std::uint64_t done_bytes() const { return done_bytes_.load(std::memory_order_relaxed); }

 private:
  LoadObserver& shown_;
  std::atomic<std::uint64_t> done_bytes_{0};
};

// Of the files' bytes, as far as the system tells.
std::optional<std::uint64_t> cached_bytes(const ModelFile& model) {
  std::uint64_t cached = 0;
  for (const ModelPart& part : model.files()) {
    const auto bytes = system::estimate_cached_bytes(part.path);
    if (!bytes) return std::nullopt;
    cached += *bytes;
  }
  return cached;
}

// The devices whose bytes come from the host: copies that come from another device use no link.
std::vector<Device> linked_devices(const LoadPlan& plan, const PlanLoader& loader) {
  std::vector<Device> devices;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    const bool is_linked = !part.layout.placements.empty() && !part.device.is_host_memory();
    if (is_linked && !loader.reaches_first()[i]) devices.push_back(part.device);
  }
  return devices;
}

// The bytes of a load cannot exceed the sum of all links, or for copies, which all get the same
// bytes, the slowest link that is used.
double link_limit(const LoadPlan& plan, const std::vector<double>& rates) {
  return plan.split == SplitKind::replicate ? *std::min_element(rates.begin(), rates.end())
                                            : std::accumulate(rates.begin(), rates.end(), 0.0);
}

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, Context& context, LoadOutcome& outcome)
      : options_(options), context_(context), outcome_(outcome) {}

  void run() {
    outcome_.verify_mode = options_.verify.value_or("auto");
    outcome_.is_read_back = outcome_.verify_mode == "readback";
    if (!options_.trace.empty()) {
      outcome_.timeline = std::make_unique<Timeline>();
      outcome_.timeline->add_lane("steps");
    }
    std::optional<DemoModel> demo;
    if (options_.demo) {
      const auto timer = phase("make");
      demo.emplace(context_.environment.cancel);
    }
    const std::filesystem::path path =
        demo ? demo->path() : std::filesystem::path(options_.paths.front());
    {
      const auto timer = phase("parse");
      outcome_.model = ModelFile::open(path, {options_.strict, options_.opaque});
      outcome_.layout = lay_out(*outcome_.model);
      outcome_.cached_bytes = cached_bytes(*outcome_.model);
    }
    refuse_to_overwrite_parts();
    if (outcome_.verify_mode == "auto") choose_verify_mode();
    // Says what is missing before any device is started.
    if (options_.context > 0) {
      outcome_.summary = summarize(*outcome_.model);
      kv_cache_bytes(*outcome_.summary, options_.context);
    }
    const bool needs_device = !options_.dry_run && !outcome_.model->tensors().empty();
    start_hashes();
    if (needs_device || is_published()) start_file_digests();
    if (needs_device) start_staging_memory();
    if (options_.context > 0 && !needs_device) {
      plan_fit();
    } else if (needs_device || context_.devices.is_explicit) {
      start_devices();
    }
    if (outcome_.model->tensors().empty()) {
      outcome_.status = "empty";
    } else if (options_.dry_run) {
      outcome_.status = "planned";
    } else {
      load();
    }
    finish_hashes();
  }

 private:
  PhaseTimer phase(const char* name) { return PhaseTimer(outcome_, name, start_); }

  // The path given may be an index or a folder, so only now all files of the model are known. Not
  // even the document with the error may replace one of them.
  void refuse_to_overwrite_parts() {
    std::vector<NamedFile> outputs{{options_.trace, "--trace"},
                                   {options_.write_manifest, "--write-manifest"}};
    for (const auto& path : context_.output.export_paths()) outputs.push_back({path, "--export"});
    try {
      require_distinct_files(outputs, files_of_model(*outcome_.model));
    } catch (const Error&) {
      context_.output.discard_exports();
      outcome_.timeline.reset();
      throw;
    }
  }

  bool is_published() const { return outcome_.verify_mode == "published"; }

  void start_hashes() {
    const bool is_wanted =
        is_published() || !options_.write_manifest.empty() || !options_.check_manifest.empty();
    if (is_wanted) hashes_.emplace(options_, outcome_, context_.environment.cancel);
  }

  void finish_hashes() {
    if (!hashes_) return;
    const auto timer = phase("hash");
    Progress progress(context_.environment.console, context_.quiet);
    hashes_->finish(outcome_.verify ? std::optional(outcome_.verify->tensor_digests) : std::nullopt,
                    file_digests_.get(), progress);
  }

  void start_devices() {
    const auto timer = phase("start");
    const auto devices = open_devices();
    const auto memory = read_memory(devices);
    outcome_.plan = plan_load(*outcome_.model, devices, options_.split, memory);
    for (const Device& device : devices) outcome_.device_names.push_back(device.info().name);
    if (options_.context > 0) {
      check_fit_with_cache(ask_fit_memory(*platforms_, devices));
      if (devices.size() > 1 && options_.split.kind != SplitKind::replicate) {
        outcome_.plan = plan_of_fit(*outcome_.model, *outcome_.summary, *outcome_.fit, devices);
      }
    } else {
      check_fit(*outcome_.model, *outcome_.plan, platforms_->devices(devices.front().platform()));
    }
  }

  std::vector<Device> open_devices() {
    platforms_ = context_.make_platforms();
    return choose_devices(*platforms_, context_.devices);
  }

  // Without a load; the system's files are asked first.
  void plan_fit() {
    const auto timer = phase("plan");
    auto memory = read_fit_memory(context_.environment, context_.devices);
    if (!memory) {
      const auto devices = open_devices();
      memory = ask_fit_memory(*platforms_, devices);
    }
    check_fit_with_cache(*memory);
  }

  void check_fit_with_cache(const FitMemory& memory) {
    const auto tensors = outcome_.model->tensors();
    outcome_.fit =
        options_.split.kind == SplitKind::replicate
            ? fit_copies(tensors, *outcome_.summary, options_.context, memory.chosen)
            : fit_model(tensors, *outcome_.summary, options_.context, memory.chosen, memory.others);
    outcome_.chosen_devices = memory.chosen.size();
    if (outcome_.fit->is_held) return;
    const bool is_copy = options_.split.kind == SplitKind::replicate;
    throw does_not_fit(*outcome_.fit,
                       is_copy ? std::vector{outcome_.fit->parts.front().device} : memory.chosen);
  }

  // Where nothing is known a file counts as warm: that is the cheaper mistake.
  bool is_warm() const {
    const auto& cached = outcome_.cached_bytes;
    return !cached || *cached >= outcome_.model->file_bytes() / 10 * 9;
  }

  // A second reading of a cold file would double the time of the load.
  void choose_verify_mode() {
    outcome_.verify_mode = is_warm() ? "full" : "fast";
    if (!is_warm()) outcome_.verify_note = "the file is not cached, so it is read only once";
  }

  // The second reader works while the driver starts, which takes longer than its work.
  void start_file_digests() {
    if (outcome_.verify_mode != "full" && !is_published()) return;
    FileDigests::Options options;
    for (const PublishedHash& hash : outcome_.published) options.sha256_of.push_back(hash.file);
    options.cancel = &context_.environment.cancel;
    options.timeline = outcome_.timeline.get();
    file_digests_ = std::make_shared<FileDigests>(*outcome_.model, options);
  }

  // So does a thread that touches the slots, where there will be a GPU to pin them for. (With
  // several NUMA nodes the right one is known only afterwards.)
  void start_staging_memory() {
    const auto& root = context_.environment.system_root;
    const std::uint64_t gpus = system::list_gpus(root).size();
    if (!is_warm() || gpus == 0 || system::numa_node_count(root) > 1) return;
    const auto& ids = context_.devices.ids;
    const bool is_all = std::find(ids.begin(), ids.end(), "all") != ids.end();
    const std::uint64_t devices = is_all ? gpus : std::max<std::uint64_t>(1, ids.size());
    const std::uint64_t slot_bytes = AsyncLoader::Options().slot_bytes;
    const std::uint64_t needed = outcome_.model->tensor_bytes() / slot_bytes + 1;
    const std::uint64_t most =
        std::min<std::uint64_t>(system::usable_cores("/"), 16 * devices) + 4 * devices;
    staging_memory_ = std::make_shared<StagingMemory>(
        static_cast<std::uint32_t>(std::min(needed, most)), slot_bytes);
  }

  // Digests on the device, or a read-back where no kernel can be had for it.
  std::unique_ptr<Verification> start_verification(std::span<const Buffer> arenas) {
    if (outcome_.verify_mode == "none" || outcome_.is_read_back) return nullptr;
    VerifyOptions options;
    options.cancel = &context_.environment.cancel;
    options.compiler_program = context_.environment.program;
    options.timeline = outcome_.timeline.get();
    try {
      return std::make_unique<Verification>(*outcome_.model, *outcome_.plan, arenas, file_digests_,
                                            options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || options_.self_test) throw;
      outcome_.is_read_back = true;
      if (!is_published()) {
        file_digests_.reset();
        outcome_.verify_mode = "readback";
      }
      // A compiler's log may be long; the whole of it is for --verbose.
      const std::string reason = error.what();
      outcome_.verify_note = base::one_line_of(reason);
      if (context_.notes) context_.notes->note("load kernel", reason);
      return nullptr;
    }
  }

  // The cores are the load's where the second reader is nearly done, else they are shared.
  bool is_second_reader_busy() const {
    return file_digests_ &&
           file_digests_->statistics().bytes < outcome_.model->tensor_bytes() / 4 * 3;
  }

  static std::uint32_t half_of_cores() {
    return std::max(1u, static_cast<std::uint32_t>(system::usable_cores("/")) / 2);
  }

  AsyncLoader::Options loader_options(LoadObserver& observer, bool is_shared) const {
    AsyncLoader::Options options;
    options.cancel = &context_.environment.cancel;
    options.observer = &observer;
    options.timeline = outcome_.timeline.get();
    options.memory = staging_memory_;
    if (is_shared) options.readers = half_of_cores();
    const std::string io = options_.io.value_or("auto");
    if (io == "buffered") options.read.mode = ReadMode::buffered;
    if (io == "direct") options.read.mode = ReadMode::direct;
    return options;
  }

  // What goes wrong here is met again, and told, when the load needs the slot.
  void pin(PlanLoader& loader) const {
    try {
      loader.prepare();
    } catch (const Error& error) {
      if (context_.notes) context_.notes->note("prepare", error.what());
    }
  }

  void load() {
    Progress progress(context_.environment.console, context_.quiet);
    CountingObserver observer(progress);
    const bool is_shared = is_second_reader_busy();
    PlanLoader loader(*outcome_.model, *outcome_.plan, loader_options(observer, is_shared));
    // Pinning takes as long as allocating and finding the kernel; a cold file needs few slots.
    std::jthread pinning;
    if (is_warm()) pinning = std::jthread([&loader, this] { pin(loader); });
    std::vector<Buffer> arenas;
    std::unique_ptr<Verification> verification;
    {
      const auto timer = phase("allocate");
      arenas = loader.allocate();
      verification = start_verification(arenas);
    }
    if (file_digests_) file_digests_->limit_threads(is_shared ? half_of_cores() : 1);
    try {
      const auto timer = phase("load");
      progress.begin("load");
      PlanStatistics statistics = loader.load(arenas, verification.get());
      outcome_.load = std::move(statistics.total);
      outcome_.device_loads = std::move(statistics.devices);
      progress.end();
    } catch (...) {
      outcome_.done_bytes = observer.done_bytes();
      throw;
    }
    outcome_.done_bytes = observer.done_bytes();
    outcome_.status = "loaded";
    // How a file could be read otherwise is of interest only where that was wanted.
    if (is_warm() && options_.io != "direct") outcome_.load->read_notes.clear();
    if (is_published()) wait_for_sha256(progress);
    if (verification) {
      compare_digests(*verification);
    } else if (outcome_.is_read_back) {
      read_back(arenas, observer, progress);
    }
    check_tensors(arenas);
    outcome_.verdict_time_s = context_.environment.elapsed_s();
    if (is_measured()) measure_limits(loader, arenas);
    if (options_.self_test && outcome_.status == "verified") {
      const auto timer = phase("self-test");
      outcome_.self_test = run_self_test(*outcome_.model, *outcome_.plan, arenas, *verification);
    }
  }

  // The devices' pass over their memory is a phase of its own.
  void compare_digests(Verification& verification) {
    auto timer = phase("digest");
    VerifyResult found = verification.finish();
    timer.ended_after(found.digest_time_s, "verify");
    if (outcome_.verify_note.empty()) {
      outcome_.verify_note = "kernel image " + verification.image();
    }
    judge(std::move(found));
  }

  void wait_for_sha256(Progress& progress) {
    const auto timer = phase("sha256");
    show_progress(*file_digests_, progress);
  }

  // A file that changed explains a difference before a device does.
  void judge(VerifyResult found) {
    const bool is_equal = found.mismatch_count == 0;
    if (!is_equal) {
      load::blame_changed_files(*outcome_.model, found, &context_.environment.cancel);
    }
    outcome_.verify = std::move(found);
    outcome_.status = is_equal ? "verified" : "mismatch";
  }

  // Values of bytes that are not the file's say nothing of the model.
  void check_tensors(std::span<const Buffer> arenas) {
    if (!options_.check_tensors || outcome_.status == "mismatch") return;
    const auto timer = phase("values");
    // Copies are equal, which the verification shows.
    const std::size_t count = outcome_.plan->split == SplitKind::replicate ? 1 : arenas.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ArenaLayout& layout = outcome_.plan->devices[i].layout;
      if (layout.placements.empty()) continue;
      ValueCheckResult found =
          check_values(*outcome_.model, layout, arenas[i],
                       {&context_.environment.cancel, context_.environment.program});
      if (outcome_.values) {
        merge_values(*outcome_.values, std::move(found));
      } else {
        outcome_.values = std::move(found);
      }
    }
  }

  // Whether the load is long enough to compare it with what the machine can do.
  bool is_measured() const {
    std::uint64_t bytes = 0;
    for (const DevicePlan& part : outcome_.plan->devices) bytes += part.layout.arena_bytes;
    return bytes >= least_probed_bytes;
  }

  void measure_limits(PlanLoader& loader, std::span<const Buffer> arenas) {
    const auto timer = phase("probe");
    LoadLimits& limits = outcome_.limits;
    // What a disk can do cannot be asked again once the file is in the page cache.
    const bool is_from_disk = outcome_.load->direct_bytes > 0 || !is_warm();
    if (!is_from_disk || outcome_.load->buffered_bytes < outcome_.load->direct_bytes) {
      limits.read_bytes_per_s = loader.probe_read_bytes_per_s(
          arenas, is_from_disk ? cold_read_probe_bytes : read_probe_bytes);
    }
    // Pinning its memory beside the load cost 1 to 2 % of the load's rate on an H200.
    const std::vector<double> rates =
        load::measure_links(linked_devices(*outcome_.plan, loader), &context_.environment.cancel);
    if (!rates.empty()) limits.h2d_bytes_per_s = link_limit(*outcome_.plan, rates);
  }

  void read_back(std::span<const Buffer> arenas, LoadObserver& observer, Progress& progress) {
    const auto timer = phase("verify");
    VerifyOptions verify_options;
    verify_options.cancel = &context_.environment.cancel;
    verify_options.observer = &observer;
    progress.begin("verify");
    std::vector<VerifyResult> results;
    for (std::size_t i = 0; i < arenas.size(); ++i) {
      const ArenaLayout& layout = outcome_.plan->devices[i].layout;
      if (!layout.placements.empty()) {
        results.push_back(verify_readback(*outcome_.model, layout, arenas[i], verify_options));
      } else {
        results.emplace_back();
      }
    }
    progress.end();
    judge(join_results(*outcome_.model, *outcome_.plan, results));
    if (!is_published() || outcome_.status != "verified") return;
    // What was compared byte by byte is what SHA-256 was computed from.
    load::require_same_reading(*outcome_.model, outcome_.verify->tensor_digests,
                               load::tensor_digests(*outcome_.model, file_digests_->get()));
  }

  const LoadOptions& options_;
  Context& context_;
  LoadOutcome& outcome_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<Platforms> platforms_;
  std::shared_ptr<FileDigests> file_digests_;  // null in modes that need none
  std::shared_ptr<StagingMemory> staging_memory_;
  std::optional<LoadHashes> hashes_;
};

}  // namespace

void run_load_steps(const LoadOptions& options, Context& context, LoadOutcome& outcome) {
  LoadRun(options, context, outcome).run();
}

}  // namespace hiptool::cli
