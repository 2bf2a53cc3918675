// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/run_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/file.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/commands/run_kernel/surroundings.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "hip/cpu/block_runner.hpp"
#include "hiptool/error.hpp"
#include "results/run_kernel/report.hpp"
#include "user_kernel/cpu_compile.hpp"
#include "user_kernel/throttle_watch.hpp"
#include "user_kernel/user_image.hpp"
#include "user_kernel/user_kernel.hpp"

namespace hiptool::cli {
namespace {

constexpr const char* operation = "run-kernel";
constexpr std::chrono::seconds compile_timeout{60};

/// One --out whose file was opened before the work.
struct OpenOutput {
  results::OutputWord word;
  std::unique_ptr<ExportFile> file;
};

struct Plan {
  user_kernel::UserKernelRun run;
  std::vector<OpenOutput> outputs;
};

const user_kernel::KernelArgument& buffer_at(const user_kernel::UserKernelRun& run,
                                             std::size_t argument, std::string_view option) {
  if (argument < run.arguments.size() && run.arguments[argument].is_buffer) {
    return run.arguments[argument];
  }
  throw Error(ErrorCode::invalid_argument, operation,
              argument < run.arguments.size()
                  ? fmt::format("{} {}: that argument is '{}', not a buffer", option, argument,
                                run.arguments[argument].text)
                  : fmt::format("{} {}: the kernel is given {}", option, argument,
                                base::count_of(run.arguments.size(), "argument")),
              "arguments count from 0; give buffers as buf:TYPE:COUNT:zeros");
}

std::vector<std::byte> read_expected(const ExpectWord& word, std::size_t size_bytes) {
  const base::File file = base::File::open(word.file);
  if (file.size_bytes() != size_bytes) {
    throw Error(
        ErrorCode::input_failed, operation,
        fmt::format("{} has {}; buffer {} has {}", word.file,
                    base::plain_count_of(file.size_bytes(), "byte"), word.argument, size_bytes),
        "give the expected contents of the whole buffer to --expect");
  }
  std::vector<std::byte> bytes(size_bytes);
  file.read_at(bytes, 0);
  return bytes;
}

void plan_outputs(const RunKernelOptions& options, Plan& plan) {
  for (const std::string& text : options.outputs) {
    OpenOutput output{parse_output(text), nullptr};
    const auto& buffer = buffer_at(plan.run, output.word.argument, "--out");
    if (output.word.print_count) {
      output.word.print_count = std::min(*output.word.print_count, buffer.count);
    } else {
      output.file = std::make_unique<ExportFile>(output.word.file, "--out I:FILE");
    }
    plan.run.outputs.push_back(output.word.argument);
    plan.outputs.push_back(std::move(output));
  }
}

Plan make_plan(const RunKernelOptions& options, Context& context) {
  Plan plan;
  user_kernel::UserKernelRun& run = plan.run;
  run.config.grid = parse_dimensions(options.grid, "--grid");
  run.config.block = parse_dimensions(options.block, "--block");
  if (options.shared_bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::invalid_argument, operation, "--shared is more than any device has");
  }
  run.config.shared_bytes = static_cast<std::uint32_t>(options.shared_bytes);
  run.tolerance = parse_tolerance(options.tolerance);
  run.is_cold = options.cache == "cold";
  run.seed = parse_seed(options.seed);
  run.samples = std::max<std::uint64_t>(options.samples, 1);
  run.bytes = options.bytes;
  run.flops = options.flops;
  run.cancel = &context.environment.cancel;
  for (const std::string& text : options.arguments) {
    run.arguments.push_back(user_kernel::parse_kernel_argument(text));
  }
  for (const std::string& text : options.expected) {
    const ExpectWord word = parse_expect(text);
    const auto& buffer = buffer_at(run, word.argument, "--expect");
    run.expected.push_back({word.argument, read_expected(word, buffer.bytes.size())});
  }
  plan_outputs(options, plan);
  // Two repeats tell poison that stayed from an equal result.
  const bool has_poison = std::any_of(run.arguments.begin(), run.arguments.end(),
                                      [](const auto& one) { return one.is_poison; });
  run.repeats = !options.seed.empty() ? 3 : has_poison ? 2 : 1;
  return plan;
}

user_kernel::UserCompilers find_compilers(Context& context) {
  const Environment& environment = context.environment;
  kernel_store::Compile compile =
      environment.program.empty() ? kernel_store::Compile(kernel_store::compile_in_process)
                                  : kernel_store::compile_in_child(
                                        environment.program, compile_timeout, &environment.cancel);
  return {kernel_store::with_disk_cache(
              std::move(compile), kernel_store::cache_folder_from_environment(), context.notes),
          user_kernel::find_host_compiler(environment.getenv("PATH").value_or("")),
          &environment.cancel};
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  return names.empty() ? "it has none" : "it has: " + base::first_of(names, most);
}

std::string list_kernels(const user_kernel::UserImage& image,
                         const std::vector<std::string>& names) {
  std::string text = image.kernels ? list_names(names) : "the file does not list its kernels";
  if (!image.contents.empty()) text += "\nit is a fat binary of: " + image.contents;
  return text;
}

/// The name of the selected kernel in the image.
std::string choose_name(const user_kernel::UserImage& image, const std::string& asked) {
  if (!image.kernels && !asked.empty()) return asked;
  std::vector<std::string> names;
  for (const auto& kernel : image.kernels.value_or(std::vector<user_kernel::KernelInfo>())) {
    names.push_back(user_kernel::plain_name(kernel.name));
  }
  if (asked.empty()) {
    if (names.size() == 1) return image.kernels->front().name;
    throw Error(ErrorCode::invalid_argument, operation,
                fmt::format("{}: the file contains several kernels\n{}", image.path.string(),
                            list_kernels(image, names)),
                fmt::format("choose one with --name SYMBOL; `hiptool run-kernel --module {}` shows "
                            "their arguments",
                            image.path.string()));
  }
  if (!user_kernel::find_user_kernel(*image.kernels, asked).empty()) return asked;
  std::string hint = base::suggestion(asked, names);
  throw Error(ErrorCode::not_found, operation,
              fmt::format("{} has no kernel '{}'\n{}", image.path.string(), asked,
                          list_kernels(image, names)),
              hint.empty() ? "name one of these with --name" : hint);
}

// The reason and a hint.
std::pair<std::string, std::string> words_of(KernelEnd end) {
  switch (end) {
    case KernelEnd::memory_fault:
      return {"a memory fault",
              "is each buffer large enough for the grid, and none of them given as 0?"};
    case KernelEnd::stack_overflow:
      return {fmt::format("an overflow of its stack of {} KiB a thread",
                          hip::cpu::thread_stack_bytes() / 1024),
              "does a recursion end, and are there large local arrays? keep those in a buffer"};
    case KernelEnd::division_by_zero:
      return {"an integer division by zero", "check the divisor before the division"};
    case KernelEnd::illegal_instruction:
      return {"an illegal instruction", "does it trap, or call an undefined function?"};
    case KernelEnd::aborted:
      return {"a failed assert or abort()",
              "see the line above for the failed assertion or C library message"};
    case KernelEnd::exited:
      return {"a call of exit()", "return from the kernel instead: on a GPU nothing can exit"};
  }
  return {};
}

/// The report of a failure of a kernel that ends the program.
LastWords last_words(const Context& context, const std::string& kernel, const std::string& device,
                     KernelEnd end) {
  const auto [what, hint] = words_of(end);
  const Error error(ErrorCode::device, operation,
                    fmt::format("the kernel '{}' ended with {} on {}", kernel, what, device), hint);
  LastWords words;
  words.error = fmt::format("error: {}\nhint: {}\n", error.what(), error.hint());
  if (context.output.format() == OutputFormat::json) {
    words.output = report::to_json(failure_report(context.environment, "run-kernel", error));
  }
  return words;
}

user_kernel::UserKernelResult run_watched(const Context& context, const Kernel& kernel,
                                          const std::string& name, const Plan& plan) {
  const PrintsToError prints;
  if (kernel.device().platform() != Platform::cpu) {
    user_kernel::ThrottleWatch watch(kernel.device(), context.environment.system_root);
    user_kernel::ThrottleQuestion throttled;
    if (watch.can_read()) throttled = [&watch] { return watch.reasons(); };
    return user_kernel::run_user_kernel(kernel, plan.run, throttled);
  }
  const FaultsEndWith faults(
      [&](KernelEnd end) { return last_words(context, name, kernel.device().id(), end); },
      exit_code_of(ErrorCode::device));
  return user_kernel::run_user_kernel(kernel, plan.run);
}

results::UserKernelOutcome run_on(const Device& device, const RunKernelOptions& options,
                                  const Plan& plan, const user_kernel::UserCompilers& compilers,
                                  const Context& context) {
  results::UserKernelOutcome outcome;
  outcome.device = device.id();
  Console& console = context.environment.console;
  console.set_step("reading or compiling " + options.module);
  const user_kernel::UserImage image =
      user_kernel::read_user_image(device, options.module, compilers, options.name);
  outcome.image = image.description;
  const std::string name = choose_name(image, options.name);
  const user_kernel::UserKernel loaded =
      user_kernel::load_user_kernel(device, image, name, compilers);
  outcome.kernel = user_kernel::plain_name(name);
  if (loaded.arguments) {
    user_kernel::check_arguments(outcome.kernel, plan.run.arguments, *loaded.arguments);
  }
  console.set_step(fmt::format("running {} on {}", outcome.kernel, outcome.device));
  outcome.result = run_watched(context, loaded.kernel, outcome.kernel, plan);
  return outcome;
}

/// False if it was interrupted before the device had a result; throws where no device has one.
bool add_outcome(const Device& device, const RunKernelOptions& options, const Plan& plan,
                 const user_kernel::UserCompilers& compilers, const Context& context,
                 std::vector<results::UserKernelOutcome>& outcomes) {
  try {
    context.environment.cancel.throw_if_cancelled(operation);
    outcomes.push_back(run_on(device, options, plan, compilers, context));
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || outcomes.empty()) throw;
    return false;
  }
}

void write_files(const std::vector<OpenOutput>& outputs,
                 const user_kernel::UserKernelResult& result) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].file) continue;
    const auto& bytes = result.outputs[i].bytes;
    outputs[i].file->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

}  // namespace

int run_user_module(const RunKernelOptions& options, Context& context) {
  const Plan plan = make_plan(options, context);
  const auto platforms = context.make_platforms();
  const std::vector<Device> devices = context.choose_devices(*platforms);
  const bool writes_files = std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                        [](const OpenOutput& one) { return one.file != nullptr; });
  if (writes_files && devices.size() > 1) {
    throw Error(ErrorCode::invalid_argument, operation,
                fmt::format("--out writes one file, and {} devices are chosen", devices.size()),
                "choose one with --device");
  }
  const user_kernel::UserCompilers compilers = find_compilers(context);
  std::vector<results::OutputWord> words;
  for (const OpenOutput& output : plan.outputs) words.push_back(output.word);
  std::vector<results::UserKernelOutcome> outcomes;
  for (const Device& device : devices) {
    if (!add_outcome(device, options, plan, compilers, context, outcomes)) break;
    write_files(plan.outputs, outcomes.back().result);
  }
  const bool is_right = std::all_of(outcomes.begin(), outcomes.end(),
                                    [](const auto& outcome) { return outcome.result.is_right(); });
  const bool is_interrupted =
      outcomes.size() < devices.size() ||
      std::any_of(outcomes.begin(), outcomes.end(),
                  [](const auto& outcome) { return outcome.result.was_interrupted; });
  const Error interrupted(ErrorCode::cancelled, operation, "run-kernel was interrupted");
  report::Run run = make_run(context.environment, "run-kernel", is_right ? "ok" : "mismatch");
  finish_run(run, context.environment, is_interrupted ? &interrupted : nullptr,
             results::failures_of(plan.run, words, outcomes), !is_right);
  const report::Report report =
      results::user_kernel_report(std::move(run), plan.run, words, outcomes, is_interrupted);
  context.output.write(report);
  return *report.run.exit_code;
}

}  // namespace hiptool::cli
