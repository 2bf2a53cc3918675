// SPDX-License-Identifier: MIT
#include "cli/commands/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include "cli/commands/load_outcome.hpp"
#include "cli/commands/load_report.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "hiptool/error.hpp"
#include "hiptool/leaf_verification.hpp"
#include "hiptool/self_test.hpp"
#include "model/model_writer.hpp"
#include "system/residency.hpp"

namespace hiptool::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t demo_bytes = 64u << 20;
constexpr std::uint32_t demo_tensors = 40;
// A share of the link says something only about a load that takes longer than its own start.
constexpr std::uint64_t least_probed_bytes = 1u << 30;
constexpr std::uint64_t probe_bytes = 4'000'000'000;
constexpr std::uint64_t probe_target_bytes = 64u << 20;

struct LoadOptions {
  std::vector<std::string> paths;
  std::optional<std::string> verify;
  bool tensors = false;
  bool dry_run = false;
  bool strict = false;
  bool opaque = false;
  bool demo = false;
  bool self_test = false;
};

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

// A model of random contents that goes with the object.
class DemoModel {
 public:
  explicit DemoModel(const CancelToken& cancel)
      : path_(std::filesystem::temp_directory_path() /
              ("hiptool-demo-" + std::to_string(getpid()) + ".gguf")) {
    model::ModelWriterOptions options;
    options.path = path_;
    options.format = ModelFormat::gguf;
    options.size_bytes = demo_bytes;
    options.tensors = demo_tensors;
    options.seed = 1;
    options.cancel = &cancel;
    model::write_model(options);
  }
  ~DemoModel() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  DemoModel(const DemoModel&) = delete;
  DemoModel& operator=(const DemoModel&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Of the files' bytes, as far as the system tells.
std::optional<std::uint64_t> cached_bytes(const ModelFile& model) {
  std::uint64_t cached = 0;
  for (const ModelPart& part : model.files()) {
    const auto bytes = system::cached_bytes(part.path);
    if (!bytes) return std::nullopt;
    cached += *bytes;
  }
  return cached;
}

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, Context& context, LoadOutcome& outcome)
      : options_(options), context_(context), outcome_(outcome) {}

  void run() {
    outcome_.verify_mode = options_.verify.value_or("auto");
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
    if (outcome_.verify_mode == "auto") choose_verify_mode();
    const bool needs_device = !options_.dry_run && !outcome_.model->tensors().empty();
    if (needs_device || context_.devices.is_explicit) start_device();
    if (outcome_.model->tensors().empty()) {
      outcome_.status = "empty";
    } else if (options_.dry_run) {
      outcome_.status = "planned";
    } else {
      load();
    }
  }

 private:
  PhaseTimer phase(const char* name) { return PhaseTimer(outcome_, name, start_); }

  void start_device() {
    const auto timer = phase("start");
    platforms_ = context_.make_platforms();
    const auto devices = choose_devices(*platforms_, context_.devices);
    const LoadPlan plan = plan_load(*outcome_.model, devices);
    outcome_.device = devices.front();
    outcome_.device_name = devices.front().info().name;
    check_fit(plan);
  }

  // A second reading of a cold file would double the time of the load.
  void choose_verify_mode() {
    const auto& cached = outcome_.cached_bytes;
    const bool is_cold = cached && *cached < outcome_.model->file_bytes() / 10 * 9;
    outcome_.verify_mode = is_cold ? "fast" : "full";
    if (is_cold) outcome_.verify_note = "the file is not cached, so it is read only once";
  }

  // Digests on the device, or a read-back where no kernel can be had for it.
  std::unique_ptr<LeafVerification> start_verification(const Buffer& arena) {
    const bool by_digest = outcome_.verify_mode == "full" || outcome_.verify_mode == "fast";
    if (!by_digest) return nullptr;
    const auto reference = outcome_.verify_mode == "full" ? LeafVerification::Reference::file
                                                          : LeafVerification::Reference::slots;
    VerifyOptions options;
    options.cancel = &context_.environment.cancel;
    options.compiler_program = context_.environment.program;
    try {
      return std::make_unique<LeafVerification>(*outcome_.model, *outcome_.layout, arena, reference,
                                                options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || options_.self_test) throw;
      outcome_.verify_mode = "readback";
      outcome_.verify_note = error.what();
      return nullptr;
    }
  }

  void load() {
    CancelToken& cancel = context_.environment.cancel;
    Progress progress(context_.environment.console, context_.quiet);
    CountingObserver observer(progress);
    const Device& device = *outcome_.device;
    Buffer arena;
    std::unique_ptr<LeafVerification> verification;
    {
      const auto timer = phase("allocate");
      arena = Buffer(device, outcome_.layout->arena_bytes);
      verification = start_verification(arena);
    }
    AsyncLoader::Options loader_options;
    loader_options.cancel = &cancel;
    loader_options.observer = &observer;
    AsyncLoader loader(device, loader_options);
    try {
      const auto timer = phase("load");
      progress.begin("load");
      outcome_.load = loader.load(*outcome_.model, *outcome_.layout, arena, verification.get());
      progress.end();
    } catch (...) {
      outcome_.done_bytes = observer.done_bytes();
      throw;
    }
    outcome_.done_bytes = observer.done_bytes();
    outcome_.status = "loaded";
    if (verification) {
      const auto timer = phase("verify");
      outcome_.verify = verification->finish();
      if (outcome_.verify_note.empty()) {
        outcome_.verify_note = "kernel image " + verification->image();
      }
      judge();
    } else if (outcome_.verify_mode == "readback") {
      read_back(arena, observer, progress);
    }
    probe_link(loader);
    if (options_.self_test && outcome_.status == "verified") {
      const auto timer = phase("self-test");
      outcome_.self_test = run_self_test(*outcome_.model, *outcome_.layout, arena, *verification);
    }
  }

  void judge() { outcome_.status = outcome_.verify->mismatch_count == 0 ? "verified" : "mismatch"; }

  void probe_link(AsyncLoader& loader) {
    if (outcome_.device->is_host_memory()) return;  // there is no link
    if (outcome_.layout->arena_bytes < least_probed_bytes) return;
    const auto timer = phase("probe");
    const Buffer scratch(*outcome_.device, probe_target_bytes);
    outcome_.link_bytes_per_s = loader.probe_h2d_bytes_per_s(scratch, probe_bytes);
  }

  void read_back(const Buffer& arena, LoadObserver& observer, Progress& progress) {
    const auto timer = phase("verify");
    VerifyOptions verify_options;
    verify_options.cancel = &context_.environment.cancel;
    verify_options.observer = &observer;
    progress.begin("verify");
    outcome_.verify = verify_readback(*outcome_.model, *outcome_.layout, arena, verify_options);
    progress.end();
    judge();
  }

  const LoadOptions& options_;
  Context& context_;
  LoadOutcome& outcome_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<Platforms> platforms_;
};

void check_options(const LoadOptions& options) {
  const std::string mode = options.verify.value_or("auto");
  if (mode == "published") {
    throw Error(ErrorCode::unsupported, "parse options",
                "--verify published is not in this version",
                "use --verify auto, which compares every byte on the device with the file");
  }
  if (options.self_test && (mode == "none" || mode == "readback" || options.dry_run)) {
    throw Error(ErrorCode::invalid_argument, "parse options",
                "--self-test needs a load that is verified by digests",
                "leave out --dry-run, and --verify or give it auto, full or fast");
  }
  const std::size_t wanted = options.demo ? 0 : 1;
  if (options.paths.size() == wanted) return;
  if (options.paths.empty()) {
    throw Error(ErrorCode::invalid_argument, "parse options", "load needs a model file",
                "name one, or try `hiptool load --demo`");
  }
  throw Error(ErrorCode::invalid_argument, "parse options",
              options.demo ? "--demo makes its own model and takes no file"
                           : "load takes one model file at a time",
              "give exactly one PATH, or --demo alone");
}

double wall_time_s(const Environment& environment) {
  const auto elapsed = std::chrono::system_clock::now() - environment.started_at;
  return std::max(0.0, std::chrono::duration<double>(elapsed).count());
}

int run_load(const LoadOptions& options, Context& context) {
  check_options(options);
  Environment& environment = context.environment;
  LoadOutcome outcome;
  const auto finish = [&](const Error* error) {
    outcome.wall_time_s = wall_time_s(environment);
    report::Object head = make_document(environment, "load", outcome.status);
    if (error != nullptr) add_error(head, *error);
    context.output.write(make_load_report(std::move(head), outcome, options.tensors));
  };
  try {
    LoadRun(options, context, outcome).run();
  } catch (const Error& error) {
    const bool was_interrupted = error.code() == ErrorCode::cancelled;
    outcome.status = was_interrupted ? "interrupted" : "failed";
    // A failure's table would only repeat the error; programs get the fields that are known.
    const bool says_more = was_interrupted || context.output.format() != OutputFormat::table;
    if (!outcome.model || !says_more) throw;
    print_error(environment.console, error);
    finish(&error);
    return exit_code_of(error.code(), environment.signal());
  }
  if (options.self_test && outcome.status == "empty") {
    throw Error(ErrorCode::invalid_argument, "self-test", "self-test: the model holds no tensors",
                "take a larger model, or `hiptool load --demo --self-test`");
  }
  finish(nullptr);
  const bool missed_fault = std::any_of(outcome.self_test.begin(), outcome.self_test.end(),
                                        [](const FaultResult& fault) { return !fault.is_caught; });
  const bool is_wrong = outcome.status == "mismatch" || missed_fault;
  return is_wrong ? exit_code_of(ErrorCode::data_mismatch) : exit_done;
}

Runner add_load(CLI::App& app) {
  auto options = std::make_shared<LoadOptions>();
  add_words(app, "PATH", options->paths,
            "a model file, shard, index or folder, or an Ollama blob or manifest");
  add_choice(
      app, "--verify", "MODE", options->verify,
      {"auto", "full", "fast", "readback", "published", "none"},
      "how the bytes on the device are proven; auto: full, for files that are not cached fast");
  add_flag(app, "--tensors", options->tensors, "list every tensor");
  add_flag(app, "--dry-run", options->dry_run, "parse and plan only; opens no driver");
  add_flag(app, "--strict", options->strict, "refuse what the format's specification forbids");
  add_flag(app, "--opaque", options->opaque, "take tensors of unknown type as plain bytes");
  add_flag(app, "--self-test", options->self_test,
           "plant faults afterwards and see each of them caught");
  add_flag(app, "--demo", options->demo, "load a 64 MiB model of random contents, made for it");
  return [options](Context& context) { return run_load(*options, context); };
}

}  // namespace

Command load_command() {
  Command command;
  command.name = "load";
  command.summary = "load a model file onto a device and prove that every byte arrived";
  command.examples = {
      {"hiptool load model.gguf", "onto the first GPU, verified"},
      {"hiptool load model.safetensors --device cpu", "into host memory"},
      {"hiptool load model.gguf --dry-run --tensors", "what is in it, without a device"},
      {"hiptool load --demo", "without a model at hand"},
  };
  command.formats = {OutputFormat::table, OutputFormat::json, OutputFormat::csv,
                     OutputFormat::markdown};
  command.takes_devices = true;
  command.add = add_load;
  return command;
}

}  // namespace hiptool::cli
