// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/progress.hpp"
#include "hiptool/error.hpp"
#include "model/decoder_architectures.hpp"
#include "model/element_types.hpp"
#include "model_writer/model_writer.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t default_size_bytes = 64u << 20;

struct MakeModelOptions {
  std::string path;
  std::optional<std::string> format;  ///< of the model; absent: from the extension
  std::uint64_t size_bytes = 0;       ///< 0: not given
  std::uint64_t tensors = 0;          ///< 0: 16, or one per type or shard if more
  std::string types;                  ///< comma-separated; empty: the default
  std::uint64_t seed = 1;
  std::uint64_t shards = 1;
  std::uint64_t vocabulary = 0;
  std::optional<std::string> architecture;
  std::optional<std::string> rope;
  std::uint64_t window = 0;
  bool is_tied = false;
  bool force = false;  ///< replace existing files
};

ModelFormat choose_format(const MakeModelOptions& options) {
  if (options.format) {
    return *options.format == "gguf" ? ModelFormat::gguf : ModelFormat::safetensors;
  }
  const std::filesystem::path extension = std::filesystem::path(options.path).extension();
  if (extension == ".gguf") return ModelFormat::gguf;
  if (extension == ".safetensors") return ModelFormat::safetensors;
  throw Error(ErrorCode::invalid_argument, "make-model",
              fmt::format("cannot infer the model format from {}", options.path),
              "use a name that ends in .gguf or .safetensors, or --format");
}

std::uint64_t count_types(ModelFormat format) {
  if (format == ModelFormat::safetensors) return model::safetensors_types().size();
  const auto types = model::gguf_types();
  return static_cast<std::uint64_t>(std::count_if(
      types.begin(), types.end(), [](const auto& type) { return !type.entry.name.empty(); }));
}

std::uint32_t choose_tensors(const MakeModelOptions& options, const std::vector<std::string>& types,
                             ModelFormat format) {
  constexpr std::uint64_t usual = 16;
  if (options.tensors > 0) return static_cast<std::uint32_t>(options.tensors);
  const bool has_all = std::find(types.begin(), types.end(), "all") != types.end();
  const std::uint64_t for_types = has_all ? count_types(format) : types.size();
  return static_cast<std::uint32_t>(std::max({usual, for_types, options.shards}));
}

void check_decoder_options(const MakeModelOptions& options) {
  const bool is_decoder = options.architecture.has_value();
  const bool has_details = options.rope || options.window > 0 || options.is_tied;
  if (!is_decoder && has_details) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "--rope, --window and --tied describe a decoder", "add --architecture");
  }
  if (is_decoder && (options.tensors > 0 || options.vocabulary > 0)) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "--architecture determines the tensors of the model",
                "omit --tensor-count and --vocabulary; --size chooses the shape");
  }
}

model_writer::SampleDecoder choose_decoder(const MakeModelOptions& options) {
  model_writer::SampleDecoder decoder;
  decoder.architecture = *options.architecture;
  const std::string rope = options.rope.value_or("none");
  for (const RopeScaling scaling :
       {RopeScaling::linear, RopeScaling::yarn, RopeScaling::llama3, RopeScaling::longrope}) {
    if (rope == to_string(scaling)) decoder.rope = scaling;
  }
  decoder.window = options.window;
  decoder.is_tied = options.is_tied;
  if (options.size_bytes > 0) decoder.size_bytes = options.size_bytes;
  return decoder;
}

report::Report make_report(const model_writer::ModelWriterResult& result, ModelFormat format,
                           const MakeModelOptions& options, double duration_s,
                           const Environment& environment) {
  report::Run run = make_run(environment, "make-model", "ok");
  finish_run(run, environment, nullptr);
  report::Report report = report::start_report(std::move(run));
  report.document.emplace_back("model", report::Object{{"path", result.path.string()},
                                                       {"format", to_string(format)},
                                                       {"files", result.files},
                                                       {"tensors", result.tensors},
                                                       {"bytes", result.tensor_bytes},
                                                       {"file_bytes", result.file_bytes}});
  report.document.emplace_back("seed", options.seed);
  report.document.emplace_back("wall_time_s", duration_s);
  report.verdict.push_back(
      {report::Tone::good,
       fmt::format("wrote {}: {}, {} in {}{}", result.path.string(), to_string(format),
                   format_size(result.file_bytes), base::plain_count_of(result.tensors, "tensor"),
                   result.files == 1 ? "" : fmt::format(" and {} shards", result.files))});
  return report;
}

// OUT does not show the names of a set's files.
void require_set_apart(const model_writer::ModelWriterOptions& writer, const Context& context) {
  std::vector<NamedFile> files;
  for (const auto& path : model_writer::files_of_set(writer.path, writer.format, writer.shards)) {
    files.push_back({path, "a file of the model"});
  }
  context.require_apart(files);
}

int run_make_model(const MakeModelOptions& options, Context& context) {
  Environment& environment = context.environment;
  const ModelFormat format = choose_format(options);
  Progress progress(environment.console, context.quiet);
  model_writer::ModelWriterOptions writer;
  writer.path = options.path;
  writer.format = format;
  writer.size_bytes = options.size_bytes > 0 ? options.size_bytes : default_size_bytes;
  if (!options.types.empty()) writer.types = split_list(options.types, "--dtype");
  writer.tensors = choose_tensors(options, writer.types, format);
  writer.seed = options.seed;
  writer.shards = static_cast<std::uint32_t>(options.shards);
  writer.vocabulary = options.vocabulary;
  check_decoder_options(options);
  if (options.architecture) writer.decoder = choose_decoder(options);
  writer.replaces = options.force;
  writer.cancel = &environment.cancel;
  std::uint64_t written_bytes = 0;
  std::uint64_t total_bytes = 0;
  writer.progress = [&](std::uint64_t done, std::uint64_t total) {
    written_bytes = done;
    total_bytes = total;
    progress.on_progress(done, total);
  };
  if (writer.shards > 1) require_set_apart(writer, context);
  const auto started = std::chrono::steady_clock::now();
  progress.begin("write");
  const model_writer::ModelWriterResult result = [&] {
    try {
      return write_model(writer);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || total_bytes == 0) throw;
      throw Error(ErrorCode::cancelled, "make-model",
                  fmt::format("make-model was interrupted after {} of {}; {} was not written",
                              format_size(written_bytes), format_size(total_bytes), options.path));
    }
  }();
  progress.end();
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - started;
  context.output.write(make_report(result, format, options, duration.count(), environment));
  return exit_done;
}

// Those of config.json, which the writer takes for GGUF's.
std::vector<std::string> names_of_folders() {
  std::vector<std::string> names;
  for (const model::DecoderArchitecture& kind : model::decoder_architectures()) {
    names.emplace_back(kind.config);
  }
  return names;
}

Runner add_make_model(CLI::App& app) {
  auto options = std::make_shared<MakeModelOptions>();
  add_required_text(app, "OUT", "", options->path, "file to write");
  begin_group(app, "File");
  add_choice(app, "--format", "NAME", options->format, {"gguf", "safetensors"},
             OptionHelp("model format").with_default("by the extension of OUT"));
  add_size(app, "--size", options->size_bytes,
           OptionHelp("total size of the tensors")
               .with_details("with --architecture the nearest published shape")
               .with_default("64MiB"));
  add_count(app, "--tensor-count,--tensors", options->tensors,
            OptionHelp("number of tensors").with_default("16, or one per type or shard"), 1,
            1'000'000);
  add_text(app, "--dtype,--types", "LIST", options->types,
           "element types: all, or names such as F16,Q8_0");
  add_count(app, "--seed", options->seed,
            OptionHelp("seed of the random weights").with_default("1"));
  add_count(app, "--shards", options->shards,
            OptionHelp("number of files to split the tensors over").with_default("1"), 1, 65'535);
  add_count(app, "--vocabulary", options->vocabulary,
            OptionHelp("tokens in the vocabulary of a GGUF").with_default("0"), 0, 10'000'000);
  add_flag(app, "--force", options->force, "replace OUT and its shards if they exist");
  begin_group(app, "A decoder that computes");
  add_choice(app, "--architecture", "NAME", options->architecture,
             {"llama",       "mistral", "mixtral",   "mistral3", "qwen2",    "qwen3",
              "qwen3moe",    "gemma2",  "gemma3",    "gpt-oss",  "phi3",     "smollm3",
              "granite",     "olmo2",   "olmo3",     "exaone4",  "cohere2",  "deepseek2",
              "deepseek_v2", "glm4moe", "qwen3next", "qwen35",   "qwen35moe"},
             OptionHelp("write a decoder that programs can compute with")
                 .with_details("tiny, with odd dimensions, or of about --size"),
             "", names_of_folders());
  add_choice(app, "--rope", "NAME", options->rope, {"none", "linear", "yarn", "llama3", "longrope"},
             OptionHelp("scaling of the rotary embedding")
                 .with_details("yarn where the architecture always has it")
                 .with_default("none"));
  add_count(app, "--window", options->window,
            OptionHelp("sliding window in tokens")
                .with_details("5 where the architecture always has one")
                .with_default("no window"),
            1, 1'000'000);
  add_flag(app, "--tied", options->is_tied, "use the embedding as the output matrix");
  return {[options](Context& context) { return run_make_model(*options, context); },
          [options](const Environment&) {
            CommandFiles files;
            if (options->shards == 1) files.outputs.push_back({options->path, "the model"});
            if (options->architecture && choose_format(*options) == ModelFormat::safetensors) {
              const auto folder = std::filesystem::path(options->path).parent_path();
              files.outputs.push_back({folder / "config.json", "the model's configuration"});
            }
            return files;
          }};
}

}  // namespace

Command make_model_command() {
  return {
      .name = "make-model",
      .summary = "write a test model with random weights",
      .description =
          "Writes a model file with random weights for tests and benchmarks. The same options "
          "and seed give the same bytes on every machine. With --architecture the model is a "
          "small decoder that programs can compute with; with --size too it has the shape of the "
          "published model that is nearest to that size.",
      .examples = {{"hiptool make-model m.gguf --size 1GiB", "1 GiB of random weights"},
                   {"hiptool make-model m.safetensors --dtype BF16", "all tensors bfloat16"},
                   {"hiptool make-model m.gguf --seed 7", "reproducible contents"},
                   {"hiptool make-model m.gguf --dtype all --shards 3",
                    "every type, in three files"},
                   {"hiptool make-model m.gguf --architecture qwen3",
                    "a small decoder that works"}},
      .formats = {OutputFormat::table, OutputFormat::json},
      .has_own_format = true,
      .add = add_make_model,
  };
}

}  // namespace hiptool::cli
