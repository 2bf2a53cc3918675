// SPDX-License-Identifier: MIT
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/load/arguments.hpp"
#include "cli/commands/load/sampling.hpp"
#include "cli/commands/load/split.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {
namespace {

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

// As llama.cpp's --cache-type-k and --cache-type-v.
const std::vector<std::string> kv_types{"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                        "q4_1", "iq4_nl", "q5_0", "q5_1"};
constexpr const char* kv_type_hint =
    "these are the types of llama.cpp; for one of a fork choose the next larger type of these, "
    "which gives a cache that is large enough";

// Few need them: the short help has only their names.
constexpr const char* cache_group = "KV cache of --context";
constexpr const char* files_group = "Details of files";
constexpr const char* compute_group = "Decode or prove after the load";

Runner add_load(CLI::App& app) {
  auto options = std::make_shared<LoadArguments>();
  auto split = std::make_shared<std::string>();
  auto verify = std::make_shared<std::optional<std::string>>();
  auto io = std::make_shared<std::optional<std::string>>();
  auto texts = std::make_shared<ProofTexts>();
  add_words(app, "PATH", options->paths, model_help());
  begin_group(app, "Verification");
  add_choice(
      app, "--verify", "MODE", *verify, {"auto", "full", "fast", "readback", "published", "none"},
      OptionHelp("how to verify the bytes on the device")
          .with_details(
              "auto: full, or fast for files that are not in the page cache; published: "
              "also compare the SHA-256 of each file with the published one, computed from "
              "the same read as the digests, one core per file. These digests (XXH3) detect "
              "damage, not tampering; use published or a SHA-256 manifest for that")
          .with_default("auto"),
      "--verify published compares SHA-256 with published values, --sha256 HEX with this one");
  add_texts(app, "--sha256", "HEX", options->sha256,
            OptionHelp("compare the SHA-256 of the file with this one")
                .with_details("exit 4 if it differs; for several files repeat it, once for each "
                              "file, in their order"));
  add_text(app, "--check-manifest", "FILE", options->check_manifest,
           OptionHelp("compare the files with a manifest")
               .with_details("in either format of --write-manifest"));
  add_text(app, "--write-manifest", "FILE", options->write_manifest,
           OptionHelp("write digests of tensors and metadata")
               .with_details("as JSON, or in the lines of llama-gguf-hash (.xxh64, .xxh3, .sha256; "
                             "tensors only)"));
  add_flag(app, "--check-tensors", options->check_tensors,
           OptionHelp("look for NaN and infinity; exit 1 if there are any")
               .with_details("checks values and scales on the device; also names tensors that "
                             "hold nothing but zeros"));
  add_flag(app, "--self-test", options->self_test,
           OptionHelp("plant five faults and check that each is caught")
               .with_details("in device memory, after the load"));
  begin_group(app, "Loading");
  add_text(app, "--split", "HOW", *split,
           OptionHelp("divide the model over several devices")
               .with_details("or proportions such as 3,2; with --context, --decode or --prove it "
                             "is layer unless given")
               .with_values({"bytes", "layer", "replicate"})
               .with_default("bytes"));
  add_choice(app, "--io", "MODE", *io, {"auto", "buffered", "direct"},
             OptionHelp("how to read files")
                 .with_details("auto: direct reads for files that are not in the page cache")
                 .with_default("auto"));
  add_tokens(app, "--context", options->context,
             OptionHelp("also reserve a KV cache of N tokens, if it fits")
                 .with_details("such as 8192 or 8k; compute buffers are reserved too"),
             std::uint64_t{1} << 30);
  add_flag(app, "--dry-run", options->dry_run, "parse and plan only; opens no driver");
  add_flag(app, "--tensors", options->tensors,
           OptionHelp("list every tensor")
               .with_details("CSV then has a row for each, otherwise one for the load"));
  add_flag(app, "--demo", options->demo, "load a generated 64 MiB model with random contents");
  begin_group(app, cache_group);
  add_choice(app, "--kv-type", "TYPE", options->kv_type, kv_types,
             OptionHelp("element type of the KV cache").with_default("f16"), kv_type_hint);
  add_count(app, "--parallel", options->parallel,
            OptionHelp("sequences with a KV cache of --context tokens each")
                .with_details("llama.cpp's -np N with -c N times as large")
                .with_default("1"),
            1, 1024);
  add_choice(app, "--kv-type-k", "TYPE", options->kv_type_k, kv_types,
             OptionHelp("element type of the keys").with_default("--kv-type"), kv_type_hint);
  add_choice(app, "--kv-type-v", "TYPE", options->kv_type_v, kv_types,
             OptionHelp("element type of the values").with_default("--kv-type"), kv_type_hint);
  begin_group(app, files_group);
  add_choice(app, "--manifest-digest", "KIND", options->manifest_digest, {"xxh3", "sha256"},
             OptionHelp("digest for a JSON manifest")
                 .with_details("xxh3 detects damage, sha256 also tampering")
                 .with_default("xxh3"));
  add_text(app, "--trace", "FILE", options->trace,
           OptionHelp("write a timeline of the load")
               .with_details("for ui.perfetto.dev or chrome://tracing"));
  add_flag(app, "--strict", options->strict, "reject files that violate their specification");
  add_flag(app, "--opaque", options->opaque, "load tensors of unknown type as plain bytes");
  add_flag(app, "--force", options->force,
           OptionHelp("let outputs replace any file")
               .with_details("without it --write-manifest, --write-golden, --write-logits and "
                             "--observe replace only earlier files of their kind"));
  begin_group(app, compute_group);
  add_count(app, "--decode", options->decode,
            OptionHelp("then continue a prompt by N tokens")
                .with_details("each the most likely one unless --temperature is given; prints "
                              "ids, text, tokens/s and a digest of the logits; for the "
                              "architectures of prove"),
            1, std::uint64_t{1} << 20);
  add_text(app, "--prompt-ids", "LIST", texts->prompt_ids, prompt_help());
  add_sampling_options(app, options->sampling);
  add_flag(app, "--prove", options->prove,
           OptionHelp("then compare the device's results with float64")
               .with_details("computed on the host, as by `hiptool prove`; exit 5 names the first "
                             "wrong tensor"));
  add_proof_options(app, *options, *texts);
  return {[options, split, verify, io, texts](Context& context) {
            parse_proof_options(*texts, *options);
            if (!split->empty()) {
              options->split = parse_split(*split);
            } else if (options->decode > 0 || options->prove) {
              options->split.kind = SplitKind::layer;  // a layer computes on one device
            }
            options->verify = parse_verify(verify->value_or("auto"));
            options->io = parse_io(io->value_or("auto"));
            return run_load(*options, context);
          },
          [options, texts](const Environment& environment) {
            parse_proof_options(*texts, *options);  // a file for each observed layer
            return files_of_load(*options, environment);
          },
          // A fit also reports the splits over other devices that would hold the model.
          [options] { return !options->dry_run && options->context == 0; }};
}

/// What is known from the options that are given; the checks above know their values. What is said
/// first comes first.
std::vector<OptionRule> rules_of_load() {
  std::vector<OptionRule> rules{
      {"--force", {"--write-manifest", "--write-golden", "--write-logits"}},
      {"--prove",
       {},
       {"--decode"},
       {},
       "--prove and --decode cannot be combined",
       "give one of them"},
      {"--prove",
       {},
       {"--dry-run"},
       {},
       "--prove computes on a device, which --dry-run does not open",
       "leave out --dry-run; `--device cpu` needs no GPU"},
      {"--split", {"--context", "--device", "--platform"}, {}, {"--dry-run"}},
      {"--strict", {}, {"--demo"}},
      {"--opaque", {}, {"--demo"}},
      {"--verify", {}, {"--dry-run"}},
      {"--io", {}, {"--dry-run"}}};
  for (OptionRule& rule : rules_of_proof("--prove")) rules.push_back(std::move(rule));
  return rules;
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
          "for each and one verdict. An error in one does not stop the others; the worst one "
          "decides the exit code. --dry-run reports whether each fits alone. The shards of a set "
          "are one model, however many of them are named.\n\n"
          "--decode continues a prompt; `hiptool prove` checks what the device computes. "
          "--demo makes a small model first, for a trial without a model of your own.",
      .examples = {{"hiptool load model.gguf", "onto the largest GPU, verified"},
                   {"hiptool load model.safetensors --device cpu", "into host memory"},
                   {"hiptool load model.gguf --device all", "divided among all GPUs"},
                   {"hiptool load *.gguf", "several models, in turn"},
                   {"hiptool load model.gguf --dry-run --tensors", "the tensors; needs no device"},
                   {"hiptool load m.gguf --dry-run --context 8k", "does it fit with this context"},
                   {"hiptool load m.gguf --check-manifest m.json", "compare with a manifest"},
                   {"hiptool load m.gguf --decode 32", "continue a prompt; tokens/s"},
                   {"hiptool load --demo", "without a model of your own"}},
      .formats = usual_formats,
      .export_formats = {OutputFormat::html, OutputFormat::svg, OutputFormat::gha,
                         OutputFormat::bmf, OutputFormat::junit, OutputFormat::prom},
      .usual_devices = "largest GPU",
      .add = add_load,
      .rules = rules_of_load(),
      .condensed = {cache_group, files_group, compute_group},
  };
}

}  // namespace hiptool::cli
