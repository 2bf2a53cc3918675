// SPDX-License-Identifier: MIT
#include "cli/commands/load/arguments.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/input_file.hpp"
#include "cli/commands/load/device_values.hpp"
#include "cli/commands/load/models.hpp"
#include "cli/commands/load/one_model.hpp"
#include "cli/commands/load/sampling.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/process/rank.hpp"
#include "hiptool/error.hpp"
#include "load/manifest/manifest_text.hpp"
#include "load/verify/verify_mode.hpp"
#include "model/published_hash.hpp"
#include "report/npy.hpp"
#include "results/load/report.hpp"

namespace hiptool::cli {
namespace {

void check_paths(const LoadArguments& options) {
  if (options.demo && !options.paths.empty()) {
    throw usage_error("--demo makes its own model and takes no file",
                      "give one or more PATHs, or --demo alone");
  }
  if (!options.demo && options.paths.empty()) {
    throw usage_error(options.command + " needs a model file",
                      options.command == "load"
                          ? "name one, or try `hiptool load --demo`"
                          : "name one, or make one: `hiptool make-model tiny.gguf "
                            "--architecture llama`");
  }
  if (options.paths.size() < 2) return;
  // Each is one file, which several models would overwrite, or which describes one model.
  for (const auto& [name, value] : {std::pair("--trace", &options.trace),
                                    std::pair("--write-manifest", &options.write_manifest),
                                    std::pair("--check-manifest", &options.check_manifest),
                                    std::pair("--write-golden", &options.write_golden),
                                    std::pair("--check-golden", &options.check_golden),
                                    std::pair("--write-logits", &options.write_logits)}) {
    if (value->empty()) continue;
    throw usage_error(std::string(name) + " is for one model, and several PATHs are given",
                      "run `hiptool " + options.command + "` once for each model");
  }
}

void check_options(const LoadArguments& options) {
  if (options.self_test && (!load::has_digests(options.verify) || options.dry_run)) {
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
  for (const std::string& text : options.sha256) {
    if (model::parse_sha256(text)) continue;
    throw usage_error("--sha256: '" + text + "' is not a SHA-256 of 64 hexadecimal digits",
                      "`sha256sum FILE` prints the SHA-256 of a file");
  }
  if (!options.sha256.empty() && (!load::may_read_twice(options.verify) || options.dry_run)) {
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
  const results::LoadOutcome& outcome = result.outcome;
  if (error != nullptr && !outcome.model) throw Error(*error);
  if (error != nullptr) {
    print_error(context.environment.console, *error);
  } else {
    require_tensors_for_self_test(options, outcome);
  }
  if (trace && outcome.timeline) {
    context.output.write_file(*trace, report::to_trace(*outcome.timeline));
  }
  const report::Report report = report_of_model(result, options, context.environment);
  // The table of a failed load would only repeat the error, except for a fit; programs get the
  // known fields.
  const bool says_more =
      error == nullptr || error->code() == ErrorCode::cancelled ||
      context.output.format() != OutputFormat::table || (options.dry_run && outcome.fit) ||
      outcome.status == LoadStatus::mismatch || !results::failed_check_text(outcome).empty() ||
      results::has_differences(outcome);
  if (says_more) {
    context.output.write(report);
  } else {
    context.output.write_exports(report);
  }
  return result.exit_code;
}

// The ranks of a job must not overwrite each other's files.
void name_outputs(LoadArguments& options, const Context& context) {
  for (std::string* file :
       {&options.trace, &options.write_manifest, &options.write_golden, &options.write_logits}) {
    if (file->empty()) continue;
    *file = name_for_this_rank(*file, context.environment, context.quiet).string();
  }
}

}  // namespace

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
  add_output(options.write_logits, "--write-logits", report::is_npy);
  if (!options.write_logits.empty()) {
    const auto named = name_for_this_rank(options.write_logits, environment, true);
    for (const std::size_t layer : options.observed) {
      files.outputs.push_back({observed_path(named.string(), layer), "--observe", report::is_npy});
    }
  }
  files.force = options.force;
  return files;
}

int run_load(LoadArguments& options, Context& context) {
  name_outputs(options, context);
  options.paths = without_shards(options, context.environment);
  check_options(options);
  if (!options.sha256.empty()) options.verify = VerifyMode::published;
  return options.paths.size() > 1 ? run_models(options, context) : run_one(options, context);
}

}  // namespace hiptool::cli
