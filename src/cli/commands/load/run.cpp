// SPDX-License-Identifier: MIT
#include "cli/commands/load/run.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/output_file.hpp"
#include "cli/commands/load/decode.hpp"
#include "cli/commands/load/decoding.hpp"
#include "cli/commands/load/hashes.hpp"
#include "cli/commands/load/prove.hpp"
#include "cli/output/progress.hpp"
#include "hiptool/error.hpp"
#include "load/phase_timer.hpp"
#include "load/place/place.hpp"
#include "load/verify/verify_mode.hpp"
#include "model/model_kind.hpp"
#include "model/published_hash.hpp"
#include "model_writer/sample_model.hpp"
#include "system/pci.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

model_writer::ModelWriterOptions demo_options(const CancelToken& cancel) {
  model_writer::ModelWriterOptions options;
  options.size_bytes = 64u << 20;
  options.tensors = 40;
  options.seed = 1;
  options.cancel = &cancel;
  return options;
}

class LoadRun {
 public:
  LoadRun(const LoadArguments& arguments, Context& context, LoadSession& session,
          results::LoadOutcome& outcome)
      : arguments_(arguments), context_(context), session_(session), outcome_(outcome) {}

  void run() {
    if (!arguments_.trace.empty()) outcome_.timeline = std::make_unique<Timeline>();
    std::optional<model_writer::SampleModel> demo;
    fs::path path;
    if (arguments_.demo) {
      // People compare the time of the load with one of their own model, which exists.
      const double start_s = context_.environment.elapsed_s();
      demo.emplace("demo", demo_options(context_.environment.cancel));
      session_.preparation_s = context_.environment.elapsed_s() - start_s;
      outcome_.start = LoadReport::Clock::now();
      path = demo->path();
    } else {
      path = arguments_.paths.front();
    }
    {
      const auto timer = phase("parse");
      outcome_.model = context_.open_model(path.string(), {arguments_.strict, arguments_.opaque});
      if (outcome_.model->path() != path) outcome_.found_for = path.string();
      outcome_.layout = lay_out(*outcome_.model);
      // Before anything else reads the files and so changes what is in the page cache.
      load::choose_verify_mode(*outcome_.model, arguments_.verify, outcome_);
      find_uncompared_hashes();
    }
    // Reports missing metadata before any file is hashed or device started.
    if (arguments_.context > 0) {
      model::require_model(*outcome_.model, "size the KV cache");
      outcome_.summary = summarize(*outcome_.model);
      static_cast<void>(kv_cache_bytes(*outcome_.summary, arguments_.context, kv_cache()));
    }
    if (arguments_.decode > 0) check_decode(*outcome_.model, arguments_.prompt_ids);
    if (arguments_.prove) {
      check_prove(*outcome_.model, arguments_.prompt_ids, arguments_.layers, arguments_.observed);
    }
    // A file that cannot be written is refused before a load that may take minutes.
    if (!arguments_.write_logits.empty()) base::OutputFile(arguments_.write_logits, 0);
    read_golden();
    const bool has_manifests =
        !arguments_.write_manifest.empty() || !arguments_.check_manifest.empty();
    if (has_manifests) hashes_.emplace(arguments_, outcome_, context_.environment.cancel);
    compute();
    if (!hashes_) return;
    const auto timer = phase("hash");
    Progress progress = make_progress();
    hashes_->finish(progress);
  }

 private:
  load::PhaseTimer phase(const char* name) {
    return {outcome_, outcome_.timeline.get(), nullptr, name};
  }

  Progress make_progress() const {
    return Progress(context_.environment.console, context_.quiet, Progress::Clock::now,
                    session_.step_prefix);
  }

  // add_choice() has checked the words.
  KvCacheOptions kv_cache() const {
    const std::string both = arguments_.kv_type.value_or("f16");
    KvCacheOptions options;
    options.keys = kv_type_from_name(arguments_.kv_type_k.value_or(both)).value_or(KvType::f16);
    options.values = kv_type_from_name(arguments_.kv_type_v.value_or(both)).value_or(KvType::f16);
    options.sequences = arguments_.parallel;
    return options;
  }

  void find_uncompared_hashes() {
    if (arguments_.dry_run || arguments_.verify == VerifyMode::published) return;
    for (const ModelPart& part : outcome_.model->files()) {
      outcome_.uncompared_hashes = model::find_hash_source(part);
      if (!outcome_.uncompared_hashes.empty()) return;
    }
  }

  void compute() {
    if (arguments_.dry_run) {
      plan();
    } else if (!arguments_.write_golden.empty()) {
      const auto timer = phase("reference");
      Progress progress = make_progress();
      outcome_.prove = write_golden(*outcome_.model, arguments_.prompt_ids, arguments_.write_golden,
                                    context_.environment.cancel, progress);
      outcome_.is_planned = true;
    } else {
      load_onto_devices();
    }
  }

  void read_golden() {
    if (arguments_.check_golden.empty()) return;
    golden_ = reference::read_golden(arguments_.check_golden, DecoderSpec::read(*outcome_.model),
                                     arguments_.prompt_ids);
  }

  std::vector<Device> open_devices() {
    std::vector<Device> devices = session_.open_devices();
    // Before anything is loaded.
    if (arguments_.prove || arguments_.decode > 0) {
      require_whole_layers(arguments_.split.kind, devices);
    }
    for (const Device& device : devices) outcome_.device_names.push_back(device.info().name);
    outcome_.chosen_devices = devices.size();
    return devices;
  }

  void plan() {
    plan_devices();
    outcome_.prove_needs = reference::provability(*outcome_.model).needs;
    outcome_.is_planned = !outcome_.model->tensors().empty();
    if (!outcome_.is_planned) outcome_.status = LoadStatus::empty;
  }

  void plan_devices() {
    if (arguments_.context > 0) {
      plan_fit();
    } else if (context_.devices.is_explicit) {
      const auto timer = phase("start");
      load::place_model(*outcome_.model, open_devices(), arguments_.split, {}, outcome_.plan,
                        outcome_.fit);
    }
  }

  // From the system's files where they suffice, which starts no driver.
  void plan_fit() {
    const auto timer = phase("plan");
    auto memory =
        load::read_fit_memory(context_.environment.system_root, context_.environment.getenv,
                              context_.devices.platform, context_.devices.ids);
    if (!memory) memory = load::read_fit_memory(open_devices());
    outcome_.chosen_devices = memory->chosen.size();
    load::check_fit_with_cache(*outcome_.model, *outcome_.summary, arguments_.split.kind,
                               {arguments_.context, kv_cache()}, *memory, outcome_.fit);
  }

  LoadOptions load_options(LoadObserver& observer) const {
    LoadOptions options;
    options.split = arguments_.split;
    options.context_tokens = arguments_.context;
    options.kv_cache = kv_cache();
    options.verify = arguments_.verify;
    options.sha256 = arguments_.sha256;
    options.read.mode = arguments_.io;
    options.check_values = arguments_.check_tensors;
    options.self_test = arguments_.self_test;
    options.measure_limits = true;
    options.cancel = context_.environment.cancel;
    options.observer = observer;
    if (outcome_.timeline) options.timeline = *outcome_.timeline;
    options.compiler_program = context_.environment.program;
    options.report = outcome_;
    return options;
  }

  std::uint32_t expected_gpus() const {
    const auto& ids = context_.devices.ids;
    if (std::find(ids.begin(), ids.end(), "all") == ids.end()) {
      return std::max(1u, static_cast<std::uint32_t>(ids.size()));
    }
    return static_cast<std::uint32_t>(
        system::identify_gpus(context_.environment.system_root).size());
  }

  void load_onto_devices() {
    Progress progress = make_progress();
    const LoadOptions options = load_options(progress);
    // A model without tensors starts no driver, unless a device was chosen.
    if (outcome_.model->tensors().empty()) plan_devices();
    try {
      auto loaded = std::make_shared<LoadedModel>(load_model(
          *outcome_.model, [this] { return open_devices(); }, expected_gpus(), options));
      decode(*loaded);
      prove(*loaded, progress);
      // Memory of the host is freed now: hashing files for a manifest may need it.
      const bool is_on_gpu =
          outcome_.plan && !outcome_.plan->devices.front().device.is_host_memory();
      const bool is_kept = is_on_gpu && !session_.needs_memory_again;
      if (context_.environment.keep && is_kept) context_.environment.keep(std::move(loaded));
    } catch (const Error& error) {
      const bool has_hidden_devices = !context_.devices.nvidia_ordinals.empty();
      if (error.code() != ErrorCode::out_of_memory || !has_hidden_devices) throw;
      throw error.with_hint("use more GPUs: --device all --split bytes; or " + error.hint());
    }
  }

  // Nothing is computed with weights that differ from the file.
  bool can_compute() const {
    return outcome_.status == LoadStatus::verified || outcome_.status == LoadStatus::loaded;
  }

  void prove(const LoadedModel& loaded, Progress& progress) {
    if (!arguments_.prove || !can_compute()) return;
    const auto timer = phase("prove");
    ProveRequest request;
    request.prompt = arguments_.prompt_ids;
    request.layers = arguments_.layers;
    request.golden = golden_ ? &*golden_ : nullptr;
    request.golden_path = arguments_.check_golden;
    request.write_logits = arguments_.write_logits;
    request.observed = arguments_.observed;
    request.self_test = arguments_.plants_faults;
    if (outcome_.verification && outcome_.verification->model_digest != 0) {
      request.model_digest = outcome_.verification->model_digest;
    }
    run_prove(loaded, request, context_.environment.cancel, progress, outcome_.prove);
  }

  void decode(const LoadedModel& loaded) {
    if (arguments_.decode == 0 || !can_compute()) return;
    const auto timer = phase("decode");
    results::DecodeOutcome decoded;
    try {
      run_decode(loaded, arguments_.prompt_ids, arguments_.decode,
                 parse_sampling(arguments_.sampling), context_.environment.cancel,
                 context_.environment.console, decoded);
    } catch (const Error&) {
      if (!decoded.ids.empty()) outcome_.decode = std::move(decoded);
      throw;
    }
    outcome_.decode = std::move(decoded);
  }

  const LoadArguments& arguments_;
  Context& context_;
  LoadSession& session_;
  results::LoadOutcome& outcome_;
  std::optional<LoadHashes> hashes_;
  std::optional<reference::Golden> golden_;
};

}  // namespace

std::vector<Device> LoadSession::open_devices() {
  if (error_) throw Error(*error_);
  try {
    if (!platforms_) platforms_ = context_.make_platforms();
    return context_.choose_devices(*platforms_);
  } catch (const Error& error) {
    error_ = error;
    throw;
  }
}

void run_load_steps(const LoadArguments& arguments, Context& context, LoadSession& session,
                    results::LoadOutcome& outcome) {
  LoadRun(arguments, context, session, outcome).run();
}

}  // namespace hiptool::cli
