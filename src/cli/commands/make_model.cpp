// SPDX-License-Identifier: MIT
#include "cli/commands/make_model.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "hiptool/error.hpp"
#include "hiptool/units.hpp"
#include "model/model_writer.hpp"

namespace hiptool::cli {
namespace {

ModelFormat choose_format(const MakeModelOptions& options) {
  if (options.format) {
    return *options.format == "gguf" ? ModelFormat::gguf : ModelFormat::safetensors;
  }
  const std::filesystem::path extension = std::filesystem::path(options.path).extension();
  if (extension == ".gguf") return ModelFormat::gguf;
  if (extension == ".safetensors") return ModelFormat::safetensors;
  throw Error(ErrorCode::invalid_argument, "make-model",
              fmt::format("the name {} does not tell the format", options.path),
              "end it in .gguf or .safetensors, or use --format");
}

report::Report make_report(const model::ModelWriterResult& result, ModelFormat format,
                           const MakeModelOptions& options, double duration_s,
                           const Environment& environment) {
  report::Report report;
  report.document = make_document(environment, "make-model", "ok");
  report.document.emplace_back("model", report::Object{{"path", result.path.string()},
                                                       {"format", to_string(format)},
                                                       {"tensors", result.tensors},
                                                       {"bytes", result.tensor_bytes},
                                                       {"file_bytes", result.file_bytes}});
  report.document.emplace_back("seed", options.seed);
  report.document.emplace_back("wall_time_s", duration_s);
  report.verdict.push_back(
      {report::Tone::good,
       fmt::format("wrote {}: {}, {} in {} {}", result.path.string(), to_string(format),
                   format_size(result.file_bytes), result.tensors,
                   result.tensors == 1 ? "tensor" : "tensors")});
  return report;
}

}  // namespace

Command make_model_command() {
  return {
      .name = "make-model",
      .summary = "write a model file with random weights, to try things with",
      .examples = {{"hiptool make-model m.gguf --size 1GiB", "random weights to load"},
                   {"hiptool make-model m.safetensors --types BF16", "one element type"},
                   {"hiptool make-model m.gguf --tensors 100 --seed 7", "the same bytes again"}},
      .formats = {OutputFormat::table, OutputFormat::json},
      .takes_devices = false,
      .has_own_format = true,
      .add = add_make_model,
  };
}

Runner add_make_model(CLI::App& app) {
  auto options = std::make_shared<MakeModelOptions>();
  add_required_text(app, "OUT", "", options->path, "the file to write");
  add_choice(app, "--format", "NAME", options->format, {"gguf", "safetensors"},
             "format of the model, else by the ending of OUT");
  add_size(app, "--size", options->size_bytes, "of all tensors together, 64MiB if not given");
  add_count(app, "--tensors", options->tensors, "how many tensors, 16 if not given", 1, 1'000'000);
  add_text(app, "--types", "LIST", options->types, "element types, such as F16,Q8_0, or all");
  add_count(app, "--seed", options->seed, "of the random weights, 1 if not given");
  return [options](Context& context) { return run_make_model(*options, context); };
}

int run_make_model(const MakeModelOptions& options, Context& context) {
  Environment& environment = context.environment;
  const ModelFormat format = choose_format(options);
  Progress progress(environment.console, context.quiet);
  model::ModelWriterOptions writer;
  writer.path = options.path;
  writer.format = format;
  writer.size_bytes = options.size_bytes;
  writer.tensors = static_cast<std::uint32_t>(options.tensors);
  if (!options.types.empty()) writer.types = split_list(options.types, "--types");
  writer.seed = options.seed;
  writer.cancel = &environment.cancel;
  writer.progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.on_progress(done, total);
  };
  const auto started = std::chrono::steady_clock::now();
  progress.begin("write");
  const model::ModelWriterResult result = model::write_model(writer);
  progress.end();
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - started;
  context.output.write(make_report(result, format, options, duration.count(), environment));
  return exit_done;
}

}  // namespace hiptool::cli
