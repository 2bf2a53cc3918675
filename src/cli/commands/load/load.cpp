// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_file.hpp"
#include "cli/command.hpp"
#include "cli/commands/load/decode.hpp"
#include "cli/commands/load/models.hpp"
#include "cli/commands/load/one_model.hpp"
#include "cli/commands/load/prove.hpp"
#include "cli/commands/load/report.hpp"
#include "cli/commands/load/run.hpp"
#include "cli/commands/load/sampling.hpp"
#include "cli/commands/load/split.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/process/rank.hpp"
#include "hiptool/error.hpp"
#include "load/manifest/manifest_text.hpp"
#include "model/published_hash.hpp"

namespace hiptool::cli {
namespace {

void check_paths(const LoadArguments& options) {
  if (options.demo && !options.paths.empty()) {
    throw usage_error("--demo makes its own model and takes no file",
                      "give one or more PATHs, or --demo alone");
  }
  if (!options.demo && options.paths.empty()) {
    throw usage_error("load needs a model file", "name one, or try `hiptool load --demo`");
  }
  if (options.paths.size() < 2) return;
  // Each is one file, which several models would overwrite, or which describes one model.
  for (const auto& [name, value] : {std::pair("--trace", &options.trace),
                                    std::pair("--write-manifest", &options.write_manifest),
                                    std::pair("--check-manifest", &options.check_manifest),
                                    std::pair("--write-golden", &options.write_golden),
                                    std::pair("--check-golden", &options.check_golden)}) {
    if (value->empty()) continue;
    throw usage_error(std::string(name) + " is for one model, and several PATHs are given",
                      "run `hiptool load` once for each model");
  }
}

void check_options(const LoadArguments& options) {
  const bool has_digests =
      options.verify != VerifyMode::none && options.verify != VerifyMode::readback;
  if (options.self_test && (!has_digests || options.dry_run)) {
    throw usage_error("--self-test needs a load that is verified by digests",
                      "leave out --dry-run, and --verify or set it to auto, full or fast");
  }
  const bool reads_data = options.check_tensors || !options.write_manifest.empty() ||
                          !options.check_manifest.empty() ||
                          options.verify == VerifyMode::published;
  if (reads_data && options.dry_run) {
    throw usage_error(
        "a --dry-run reads no tensor, which --check-tensors, manifests and --verify "
        "published need",
        "leave out --dry-run; `--device cpu` needs no GPU");
  }
  const bool reads_twice = options.verify == VerifyMode::automatic ||
                           options.verify == VerifyMode::full ||
                           options.verify == VerifyMode::published;
  for (const std::string& text : options.sha256) {
    if (model::parse_sha256(text)) continue;
    throw usage_error("--sha256: '" + text + "' is not a SHA-256 of 64 hexadecimal digits",
                      "`sha256sum FILE` prints that of a file");
  }
  if (!options.sha256.empty() && (!reads_twice || options.dry_run)) {
    throw usage_error("--sha256 needs the second reading of the file, which this load does not do",
                      "leave out --dry-run, and --verify or set it to full or published");
  }
  if (options.manifest_digest && options.write_manifest.empty()) {
    throw usage_error(
        "--manifest-digest applies only to --write-manifest",
        "add --write-manifest FILE; --check-manifest uses the digests that the manifest has");
  }
  if (options.context > 0 && options.split.kind == SplitKind::proportions) {
    throw usage_error(
        "--context keeps each layer with its part of the KV cache, which --split A,B,.. "
        "does not",
        "leave out --split, or use layer or replicate");
  }
  const bool has_kv_options =
      options.kv_type || options.kv_type_k || options.kv_type_v || options.parallel != 1;
  if (has_kv_options && options.context == 0) {
    throw usage_error("--kv-type, --kv-type-k, --kv-type-v and --parallel require --context",
                      "add --context N");
  }
  if (options.decode > 0 && options.dry_run) {
    throw usage_error("--decode computes on a device, which --dry-run does not open",
                      "leave out --dry-run; `--device cpu` needs no GPU");
  }
  if (options.decode == 0 && !options.prove && !options.prompt_ids.empty()) {
    throw usage_error("--prompt-ids applies only to --decode and --prove", "add --decode N");
  }
  if (options.decode == 0 && options.sampling.are_given()) {
    throw usage_error("--temperature, --top-k, --top-p and --seed apply only to --decode",
                      "add --decode N");
  }
  parse_sampling(options.sampling);
  check_paths(options);
}

int run_one(const LoadArguments& options, Context& context) {
  // Opened now, so that a wrong path is reported before the work starts.
  std::optional<ExportFile> trace;
  if (!options.trace.empty()) trace.emplace(options.trace, "--trace FILE");
  LoadSession session(context);
  const ModelResult result = load_one_model(options, context, session, 0);
  const Error* error = result.error ? &*result.error : nullptr;
  const LoadOutcome& outcome = result.outcome;
  if (error != nullptr && !outcome.model) throw Error(*error);
  if (error != nullptr) {
    print_error(context.environment.console, *error);
  } else {
    require_tensors_for_self_test(options, outcome);
  }
  if (trace && outcome.timeline) trace->write(report::to_trace(*outcome.timeline));
  const report::Report report = report_of_model(result, options, context.environment);
  // The table of a failed load would only repeat the error, except for a fit; programs get the
  // known fields.
  const bool says_more = error == nullptr || error->code() == ErrorCode::cancelled ||
                         context.output.format() != OutputFormat::table ||
                         (options.dry_run && outcome.fit) || !failed_check_text(outcome).empty() ||
                         has_differences(outcome);
  if (says_more) {
    context.output.write(report);
  } else {
    context.output.write_exports(report);
  }
  return result.exit_code;
}

// add_choice() has checked the words of both.
VerifyMode parse_verify(const std::string& word) {
  for (const VerifyMode mode : {VerifyMode::full, VerifyMode::fast, VerifyMode::readback,
                                VerifyMode::published, VerifyMode::none}) {
    if (word == to_string(mode)) return mode;
  }
  return VerifyMode::automatic;
}

ReadMode parse_io(const std::string& word) {
  if (word == "buffered") return ReadMode::buffered;
  return word == "direct" ? ReadMode::direct : ReadMode::automatic;
}

// The ranks of a job must not overwrite each other's files.
void name_outputs(LoadArguments& options, const Context& context) {
  for (std::string* file : {&options.trace, &options.write_manifest, &options.write_golden}) {
    if (file->empty()) continue;
    *file = name_for_this_rank(*file, context.environment, context.quiet).string();
  }
}

CommandFiles files_of_load(const LoadArguments& options, const Environment& environment) {
  CommandFiles files;
  for (const std::string& path : options.paths) files.inputs.push_back({path, "the model"});
  files.inputs.push_back({options.check_manifest, "--check-manifest"});
  files.inputs.push_back({options.check_golden, "--check-golden"});
  const auto add_output = [&](const std::string& path, const char* option,
                              bool (*is_of_its_kind)(const std::filesystem::path&)) {
    if (path.empty()) return;
    constexpr bool is_quiet = true;  // name_outputs reports the name
    files.outputs.push_back(
        {name_for_this_rank(path, environment, is_quiet), option, is_of_its_kind});
  };
  add_output(options.trace, "--trace", nullptr);
  add_output(options.write_manifest, "--write-manifest", load::is_manifest);
  add_output(options.write_golden, "--write-golden", [](const std::filesystem::path& path) {
    return base::names_format(path, "hiptool.golden/");
  });
  files.force = options.force;
  return files;
}

// As llama.cpp's --cache-type-k and --cache-type-v.
const std::vector<std::string> kv_types{"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                        "q4_1", "iq4_nl", "q5_0", "q5_1"};
constexpr const char* kv_type_hint =
    "these are the types of llama.cpp; for one of a fork choose the next larger type of these, "
    "which gives a cache that is large enough";

Runner add_load(CLI::App& app) {
  auto options = std::make_shared<LoadArguments>();
  auto split = std::make_shared<std::string>();
  auto verify = std::make_shared<std::optional<std::string>>();
  auto io = std::make_shared<std::optional<std::string>>();
  auto prompt_ids = std::make_shared<std::string>();
  auto layers = std::make_shared<std::string>();
  add_words(
      app, "PATH", options->paths,
      "models, each a file, shard, index or folder, a blob or manifest of Ollama or Docker, or the "
      "name of a model in a local cache, such as org/name or llama3.2:1b");
  add_choice(
      app, "--verify", "MODE", *verify, {"auto", "full", "fast", "readback", "published", "none"},
      "how to verify the bytes on the device; auto: full, or fast for files that are not cached; "
      "published: also compare the SHA-256 of each file with the published one, computed from the "
      "same read as the digests, one core per file. These digests (XXH3) detect damage, not "
      "tampering; use published or a SHA-256 manifest for that");
  add_texts(
      app, "--sha256", "HEX", options->sha256,
      "compare the SHA-256 of the model's file with this one, as --verify published does with "
      "a published one; exit 4 if it differs; for a set or several models repeat it in the order "
      "of "
      "the files, one for each");
  add_choice(app, "--io", "MODE", *io, {"auto", "buffered", "direct"},
             "how to read files; auto: direct reads for files that are not in the page cache");
  add_text(app, "--split", "HOW", *split,
           "over several devices: by bytes (the default; with --context, --decode or --prove by "
           "layer), by layer, in proportions A,B,.. or replicate");
  add_text(app, "--trace", "FILE", options->trace,
           "write a timeline of the load, for ui.perfetto.dev or chrome://tracing");
  add_text(app, "--write-manifest", "FILE", options->write_manifest,
           "write digests of tensors and metadata as JSON, or lines as of llama-gguf-hash (.xxh64, "
           ".xxh3, .sha256; tensors only)");
  add_choice(app, "--manifest-digest", "KIND", options->manifest_digest, {"xxh3", "sha256"},
             "digest for a JSON manifest: xxh3 detects damage, sha256 also tampering");
  add_text(app, "--check-manifest", "FILE", options->check_manifest,
           "compare the files with a manifest of either format, by its digests");
  add_flag(app, "--tensors", options->tensors,
           "list every tensor; CSV then has a row for each, else one for the load");
  add_flag(app, "--dry-run", options->dry_run, "parse and plan only; opens no driver");
  add_tokens(app, "--context", options->context,
             "also reserve memory for a KV cache of that many tokens, such as 8192 or 8k, and for "
             "compute buffers, and report whether it fits",
             std::uint64_t{1} << 30);
  add_choice(app, "--kv-type", "TYPE", options->kv_type, kv_types,
             "of the KV cache of --context, f16 if not given", kv_type_hint);
  add_choice(app, "--kv-type-k", "TYPE", options->kv_type_k, kv_types,
             "of its keys, where they differ from --kv-type", kv_type_hint);
  add_choice(app, "--kv-type-v", "TYPE", options->kv_type_v, kv_types,
             "of its values, where they differ from --kv-type", kv_type_hint);
  add_count(app, "--parallel", options->parallel,
            "sequences that each have a KV cache of --context tokens; llama.cpp's -np N with -c N "
            "times as large",
            1, 1024);
  add_count(app, "--decode", options->decode,
            "then continue a prompt with that many tokens, each the most likely one unless "
            "--temperature says otherwise, and print ids, text, tokens/s and a digest of the "
            "logits; llama, qwen2 and qwen3",
            1, std::uint64_t{1} << 20);
  add_text(app, "--prompt-ids", "LIST", *prompt_ids,
           "token ids of the prompt, such as 504,3575,282; the default is eight fixed ids");
  add_flag(app, "--prove", options->prove,
           "then compare all that the device computes for a prompt with float64 on the host, layer "
           "by layer and the logits end to end; exit 5 and the first wrong tensor if it differs");
  add_text(app, "--layers", "LIST", *layers, "compare only these layers, such as 0,3-5");
  add_text(app, "--write-golden", "FILE", options->write_golden,
           "write what --prove compares with, computed once on the host; opens no device");
  add_text(app, "--check-golden", "FILE", options->check_golden,
           "compare with such a file of this model, in the time of the device alone");
  add_sampling_options(app, options->sampling);
  add_flag(app, "--strict", options->strict,
           "reject files that violate the specification of their format");
  add_flag(app, "--opaque", options->opaque, "load tensors of unknown type as plain bytes");
  add_flag(app, "--self-test", options->self_test,
           "plant five faults in device memory afterwards and check that each is caught");
  add_flag(app, "--check-tensors", options->check_tensors,
           "check values and scales on the device for NaN and infinity, exit 1 if there are any; "
           "also name tensors that hold nothing but zeros");
  add_flag(app, "--force", options->force,
           "let --write-manifest and --write-golden replace any file; without it they replace only "
           "earlier ones of their kind");
  add_flag(app, "--demo", options->demo, "load a generated 64 MiB model with random contents");
  return {
      [options, split, verify, io, prompt_ids, layers](Context& context) {
        if (!prompt_ids->empty()) options->prompt_ids = parse_prompt_ids(*prompt_ids);
        if (!layers->empty()) options->layers = parse_layers(*layers);
        if (!split->empty()) {
          options->split = parse_split(*split);
        } else if (options->decode > 0 || options->prove) {
          options->split.kind = SplitKind::layer;  // a layer computes on one device
        }
        options->verify = parse_verify(verify->value_or("auto"));
        options->io = parse_io(io->value_or("auto"));
        name_outputs(*options, context);
        options->paths = without_shards(*options, context.environment);
        check_options(*options);
        if (!options->sha256.empty()) options->verify = VerifyMode::published;
        return options->paths.size() > 1 ? run_models(*options, context)
                                         : run_one(*options, context);
      },
      [options](const Environment& environment) { return files_of_load(*options, environment); },
      // A fit also reports the splits over other devices that would hold the model.
      [options] { return !options->dry_run && options->context == 0; }};
}

/// What is known from the options that are given; the checks above know their values. What is said
/// first comes first.
std::vector<OptionRule> rules_of_load() {
  std::vector<OptionRule> rules{
      {"--force", {"--write-manifest", "--write-golden"}},
      {"--layers", {"--prove"}},
      {"--write-golden", {"--prove"}},
      {"--check-golden", {"--prove"}},
      {"--layers",
       {},
       {"--write-golden", "--check-golden"},
       {},
       "a golden is of all layers",
       "leave out --layers"},
      {"--write-golden",
       {},
       {"--check-golden"},
       {},
       "--write-golden and --check-golden are two runs",
       "give one of them"},
      {"--prove", {}, {"--decode"}, {}, "--prove and --decode are two runs", "give one of them"},
      {"--prove",
       {},
       {"--dry-run"},
       {},
       "--prove computes on a device, which --dry-run does not open",
       "leave out --dry-run; `--device cpu` needs no GPU"},
      {"--split", {"--context", "--device", "--platform"}, {}, {"--dry-run"}},
      {"--verify", {}, {"--dry-run"}},
      {"--io", {}, {"--dry-run"}}};
  // A golden is computed on the host: nothing is loaded, and no device is opened.
  for (const char* option : {"--verify", "--sha256", "--io", "--split", "--context", "--self-test",
                             "--check-tensors", "--device", "--platform"}) {
    rules.push_back({option, {}, {"--write-golden"}});
  }
  return rules;
}

std::vector<CompletionWords> words_of_load() {
  return {{"--split", {"bytes", "layer", "replicate"}}};
}

}  // namespace

Command load_command() {
  return {
      .name = "load",
      .summary = "load a model file onto a device and prove that every byte arrived",
      .description =
          "Copies the tensors of a model file (GGUF or safetensors; a shard, an index, a "
          "folder, a Hugging Face snapshot or an Ollama model) into the memory of one or "
          "several devices and verifies the copy. By default the device computes digests of "
          "its memory after the last copy, and these are compared with digests of a second "
          "reading of the file. The first line of the report is the verdict, with the rate as "
          "a share of what the link allows.\n\n"
          "Without --device the discrete GPU with the most memory is used; of equal ones the "
          "first. If a GPU is present but cannot be used, "
          "the command fails with exit 3 and the reason; the processor is the default only on "
          "machines without a GPU. --dry-run reads headers only and opens no driver; with "
          "--context it reports whether the model and its KV cache fit.\n\n"
          "Several models are loaded, verified and released one after the other, with one row "
          "for each and one verdict. An error in one does not stop the others; the exit code is "
          "that of the worst. --dry-run reports whether each fits alone. The shards of a set are "
          "one "
          "model, however many of them are named.\n\n"
          "--prove computes the model on the device and compares every layer with a "
          "computation in double precision on the processor. --decode continues a prompt. "
          "--demo makes a small model first, for a trial without a model of your own.",
      .examples = {{"hiptool load model.gguf", "onto the largest GPU, verified"},
                   {"hiptool load model.safetensors --device cpu", "into host memory"},
                   {"hiptool load model.gguf --device all", "divided among all GPUs"},
                   {"hiptool load *.gguf", "several models, in turn"},
                   {"hiptool load model.gguf --dry-run --tensors", "the tensors; needs no device"},
                   {"hiptool load m.gguf --dry-run --context 8k", "does it fit with this context"},
                   {"hiptool load m.gguf --check-manifest m.json", "compare with a manifest"},
                   {"hiptool load m.gguf --decode 32", "continue a prompt; tokens/s"},
                   {"hiptool load m.gguf --prove", "check the computation"},
                   {"hiptool load --demo", "without a model of your own"}},
      .formats = usual_formats,
      .export_formats = {OutputFormat::html, OutputFormat::svg, OutputFormat::gha,
                         OutputFormat::bmf, OutputFormat::junit, OutputFormat::prom},
      .takes_devices = true,
      .add = add_load,
      .rules = rules_of_load(),
      .completion_words = words_of_load,
  };
}

}  // namespace hiptool::cli
