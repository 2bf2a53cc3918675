// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/run_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/contains.hpp"
#include "base/units.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel_bench.hpp"
#include "measure/library/measure.hpp"

namespace hiptool::cli {

namespace {

/// An option of only built-in kernels, or only of the user's own.
struct Use {
  const char* option;
  bool is_given;
};

std::vector<Use> uses_of_builtin(const RunKernelOptions& options) {
  return {{"NAME", !options.names.empty()},       {"--dtype", !options.dtypes.empty()},
          {"--size", !options.size.empty()},      {"--time", !options.time.empty()},
          {"--together", options.together},       {"--fail-below", !options.fail_below.empty()},
          {"--shape", !options.shape.empty()},    {"--layout", !options.layouts.empty()},
          {"--sweep", options.sweep.has_value()}, {"--lib", !options.libraries.empty()},
          {"--shapes", !options.shapes.empty()},  {"--transpose", options.transpose.has_value()},
          {"--batch", options.batch > 0},         {"--compute", options.compute.has_value()}};
}

std::vector<Use> uses_of_launch(const RunKernelOptions& options) {
  return {{"--grid", !options.grid.empty()},
          {"--block", !options.block.empty()},
          {"--shared", options.shared_bytes > 0},
          {"--arg", !options.arguments.empty()},
          {"--out", !options.outputs.empty()},
          {"--expect", !options.expected.empty()},
          {"--tolerance", !options.tolerance.empty()},
          {"--cache", options.cache.has_value()},
          {"--bytes", options.bytes > 0},
          {"--flops", options.flops > 0}};
}

std::vector<Use> uses_of_user(const RunKernelOptions& options) {
  std::vector<Use> uses = uses_of_launch(options);
  uses.push_back({"--name", !options.name.empty()});
  return uses;
}

/// Nothing says how often the kernel of --module shall run, and with what.
bool is_module_listing(const RunKernelOptions& options) {
  const std::vector<Use> uses = uses_of_launch(options);
  const bool launches =
      std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_given; });
  return options.list || !launches;
}

void refuse_given(const std::vector<Use>& uses, const char* why, const char* hint) {
  for (const Use& use : uses) {
    if (!use.is_given) continue;
    throw Error(ErrorCode::invalid_argument, "run-kernel", std::string(use.option) + why, hint);
  }
}

CommandFiles files_of_run_kernel(const RunKernelOptions& options) {
  CommandFiles files;
  files.inputs = threshold_files(options.fail_below);
  files.inputs.push_back({options.module, "--module"});
  if (options.shapes != "traps") files.inputs.push_back({options.shapes, "--shapes"});
  for (std::size_t i = 0; i < options.arguments.size(); ++i) {
    files.inputs.push_back(
        {file_of_argument(options.arguments[i]), "--arg of argument " + std::to_string(i)});
  }
  for (const std::string& text : options.expected) {
    files.inputs.push_back({file_of_indexed(text), "--expect " + text});
  }
  for (const std::string& text : options.outputs) {
    const std::string file = file_of_indexed(text);
    if (!file.starts_with("print:")) files.outputs.push_back({file, "--out " + text});
  }
  return files;
}

int run_run_kernel(const RunKernelOptions& options, Context& context) {
  if (options.repeat.repeats > 0) {
    if (options.list || (!options.module.empty() && is_module_listing(options))) {
      throw Error(ErrorCode::invalid_argument, "run-kernel",
                  "--repeat measures, but without --grid and --arg kernels are only named",
                  "leave out --repeat");
    }
    return run_repeated("run-kernel", options.repeat, {options.compare, {}, false}, context);
  }
  if (!options.module.empty()) {
    refuse_given(uses_of_builtin(options),
                 " applies to built-in kernels, but --module names a file",
                 "leave out one of the two");
    if (!is_module_listing(options)) return run_user_module(options, context);
    refuse_given(uses_of_launch(options), " launches a kernel, but --list only names them",
                 "leave out one of the two");
    return list_user_module(options, context);
  }
  refuse_given(uses_of_user(options), " needs a kernel of your own, but --module is missing",
               "name its file with --module FILE");
  if (options.names.empty() && !options.list) {
    throw Error(ErrorCode::invalid_argument, "run-kernel", "no kernel is given",
                "hiptool run-kernel all runs the built-in ones, ops judges the operations, --list "
                "names them, --module FILE runs yours");
  }
  if (options.together) check_together(options);
  if (!options.together && is_library_run(options)) return run_libraries(options, context);
  return is_sweep(options) ? run_sweep(options, context) : run_builtin_kernels(options, context);
}

/// "default 256 MiB, on cpu 4 MiB and for operations 32 KiB to 1 MiB".
std::string default_sizes_text() {
  return fmt::format("default {}, on cpu {} and for operations {} to {}",
                     format_size(measure::gpu_kernel_defaults.size_bytes),
                     format_size(measure::cpu_kernel_defaults.size_bytes),
                     format_size(measure::cpu_convolution_defaults.size_bytes),
                     format_size(measure::cpu_usual_operation_defaults.size_bytes));
}

Runner add_run_kernel(CLI::App& app) {
  auto options = std::make_shared<RunKernelOptions>();
  add_words(app, "NAME", options->names,
            "built-in kernels, operations or groups of them; all: every kernel and the most used "
            "operations, ops: every operation");
  add_flag(app, "--list", options->list,
           "name the built-in kernels and the operations, or those of --module");
  add_texts(app, "--dtype", "LIST", options->dtypes, "only with these types: f32,f64");
  add_text(
      app, "--size", "SIZES", options->size,
      "bytes of each array, rounded to a size the kernel supports, or for an operation down to the "
      "largest shape that fits: 64MiB, a list, a range, or 90% of the free memory for all "
      "arrays; " +
          default_sizes_text());
  add_text(
      app, "--shape", "SHAPE", options->shape,
      "dimensions of an operation's inputs, such as 4096x4096, instead of a size; of matmul "
      "MxNxK; of conv2d n8c64h56w56:k64r3s3 (n images, c channels, h height, w width; k "
      "channels of the result, r height and s width of the filter) and if needed u2 (stride), "
      "p1 (padding), d1 (dilation), each also as p1x2 (height x width), g1 (groups); with --lib "
      "of avg_pool2d and max_pool2d n8c64h56w56:r3s3 and u2");
  add_texts(app, "--layout", "LIST", options->layouts,
            fmt::format("how an operation's tensors lie in memory: {}; default: packed, in a sweep "
                        "all",
                        fmt::join(layout_names(), ", ")));
  add_choice(app, "--sweep", "WHICH", options->sweep, {"quick", "full"},
             "judge operations with every type, layout and many shapes, without timing");
  add_text(
      app, "--seed", "N", options->seed,
      "of the data of operations, 1 if not given; with --module: launch and check three times, "
      "with new buffers, and poison from N where --arg says poison; exit 5 if results differ "
      "or elements keep the poison");
  add_texts(app, "--lib", "LIST", options->libraries,
            "of matmul, conv2d, avg_pool2d and max_pool2d: own (if not given), all, or libraries; "
            "of matmul own-exact, rocblas, rocblas-hipblaslt, hipblaslt, cublas, cublaslt, "
            "openblas; of the others miopen and cudnn; of conv2d openblas too, which computes the "
            "matrix products of own");
  add_text(app, "--shapes", "traps|FILE", options->shapes,
           "of matmul and conv2d: shapes on which libraries were reported wrong; of what takes "
           "--lib a file with lines such as 4096x4096x4096 tn bf16 batch=2 or "
           "n8c64h56w56:k64r3s3p1 f16");
  add_choice(app, "--transpose", "WHICH", options->transpose, {"nn", "nt", "tn", "tt"},
             "of matmul: t for a matrix that is stored transposed, A first");
  add_count(app, "--batch", options->batch, "of matmul: products at once; 1 if not given", 1,
            1'048'576);
  add_choice(
      app, "--compute", "TYPE", options->compute, {"f32", "tf32", "f16"},
      "of matmul and conv2d: what a library sums in; f64 for f64, else f32 (conv2d: not f16)");
  add_text(app, "--time,--seconds", "SECONDS", options->time,
           "repeat each kernel, checked, for that long");
  add_flag(
      app, "--together", options->together,
      "run each kernel on all chosen devices at the same time, for --time (10 s if not given), "
      "with the rates of each second, and compare the devices; exit 1 if one is slow");
  add_texts(app, "--fail-below", "THRESHOLD", options->fail_below,
            "'stream-triad.f32>=80%' of peak, 'sum.1GiB>=3.5TB/s', 'fma.f32>=50TFLOP/s', or @FILE; "
            "exit 1 if missed; see hiptool help thresholds");
  add_text(
      app, "--module", "FILE", options->module,
      "a kernel of your own: HIP or CUDA source, PTX, cubin, fat binary or AMD code object; the "
      "content decides which; alone it prints the kernels with their arguments and a command for "
      "each, and opens no device");
  add_text(app, "--name", "SYMBOL", options->name, "the kernel, if the file has several");
  add_text(app, "--grid", "X,Y,Z", options->grid, "blocks in the grid; Y and Z are 1 if not given");
  add_text(app, "--block", "X,Y,Z", options->block, "threads in a block");
  add_size(app, "--shared", options->shared_bytes,
           "dynamic shared memory of a block, none if not given", 0);
  add_texts(app, "--arg", "TYPE:VALUE", options->arguments,
            "next argument: i32:5, f32:2.5 (i8 to u64, f16, bf16, f32, f64; 0x... is bits), "
            "bytes:HEX for a struct, or buf:TYPE:COUNT: and zeros, iota, value:V, random:SEED, "
            "file:PATH or poison (an output that the kernel must fill); types are compared with "
            "the source's or the image's");
  add_texts(app, "--out", "I:FILE", options->outputs,
            "write buffer I (arguments count from 0) to a file, or I:print:N to show N elements");
  add_texts(app, "--expect", "I:FILE", options->expected, "exit 5 unless buffer I is that file");
  add_text(app, "--tolerance", "T", options->tolerance,
           "of --expect for each real: T times the larger of 1 and the expected, or "
           "rtol=R,atol=A: A plus R times the expected; 0 if not given; zeros in place of values "
           "never pass");
  add_choice(app, "--cache", "WHICH", options->cache, {"cold", "warm"},
             "cold: before each launch of --module write more than the caches hold; warm if not "
             "given");
  add_size(app, "--bytes", options->bytes,
           "bytes that a launch reads and writes, for a rate in the result");
  add_count(app, "--flops", options->flops,
            "floating-point operations of a launch, for a rate in the result", 1);
  add_count(app, "--samples", options->samples,
            "timed launches; default: 1 of your kernel, as many as the noise requires of a "
            "built-in one",
            1, 1'000'000);
  add_repeat_options(app, options->repeat);
  add_compare_options(app, options->compare, "of --against: ");
  return {[options](Context& context) { return run_run_kernel(*options, context); },
          [options](const Environment&) { return files_of_run_kernel(*options); },
          // Devices that are hidden here would have other numbers in processes of --repeat.
          [options] { return options->repeat.repeats == 0; }};
}

/// What names of kernels do not take: the other refusals depend on which kernels are named.
std::vector<OptionRule> rules_of_run_kernel() {
  std::vector<OptionRule> rules = rules_of_repeat("");
  rules.push_back({"--shared", {"--module"}});
  for (const char* option : {"--list", "--sweep", "--out"})
    rules.push_back({option, {}, {"--repeat"}});
  for (const char* option :
       {"NAME", "--dtype", "--size", "--shape", "--layout", "--sweep", "--seed", "--time",
        "--together", "--fail-below", "--samples", "--device", "--platform"}) {
    rules.push_back({option, {}, {"--list"}});
  }
  // Alone, --module prints what is in the file, and opens no device.
  const std::vector<OptionUse> launch{"--grid", "--block", "--arg"};
  for (const char* option : {"--samples", "--seed", "--device", "--platform", "--shared"}) {
    rules.push_back({option, launch, {}, {"--module"}});
  }
  return rules;
}

std::vector<CompletionWords> run_kernel_words() {
  CompletionWords names{"NAME", {"all", "ops"}};
  CompletionWords types{"--dtype", {}};
  for (const measure::KernelFamily& family : measure::list_kernels()) {
    base::add_once(names.words, family.group);
    base::add_once(names.words, family.name);
    for (const std::string& dtype : family.dtypes) base::add_once(types.words, dtype);
  }
  base::add_once(types.words, std::string("i8"));  // of matmul
  CompletionWords libraries{"--lib", {"all"}};
  for (const auto kind : measure::problem_kinds) {
    for (const std::string& name : measure::implementations_of(kind)) {
      base::add_once(libraries.words, name);
    }
  }
  return {names, types, {"--layout", layout_names()}, libraries, {"--shapes", {"traps"}}};
}

}  // namespace

Command run_kernel_command() {
  return {
      .name = "run-kernel",
      .summary = "run kernels, check their results and rate them",
      .description =
          "Runs kernels on a device, checks every result and compares the rate with the peak "
          "of the device. NAME is a built-in kernel, a group of them, an operation of the "
          "library, ops for all operations, or all. --list prints the names.\n\n"
          "--lib also measures the products, convolutions and poolings of the vendors' "
          "libraries, each in a process of its own, so that a library that aborts or hangs is one "
          "failed "
          "line. With --module a kernel of your own is compiled or loaded and launched with "
          "the arguments that --arg gives.\n\n"
          "--fail-below makes a rate that is too low exit 1. A wrong result always exits 5.",
      .examples = {{"hiptool run-kernel all", "every built-in kernel, checked"},
                   {"hiptool run-kernel memtest --size 90%", "test the memory"},
                   {"hiptool run-kernel fma --time 60", "keep it busy, and check"},
                   {"hiptool run-kernel ops", "judge every operation"},
                   {"hiptool run-kernel add --shape 4096x4096", "one, timed and rated"},
                   {"hiptool run-kernel matmul --lib all", "matrix products of all libraries"},
                   {"hiptool run-kernel conv2d --lib all", "convolutions of all libraries"},
                   {"hiptool run-kernel avg_pool2d --lib all", "poolings, also max_pool2d"},
                   {"... --fail-below 'stream-triad>=80%'", "of peak; exit 1 if slower"},
                   {"hiptool run-kernel --module k.hip", "its kernels, a command for each"},
                   {"hiptool run-kernel --module k.hip \\", "a kernel of your own:"},
                   {"  --name saxpy --grid 4 --block 256 \\", "which, and how often"},
                   {"  --arg f32:2 --arg buf:f32:64:iota \\", "its arguments, in order"},
                   {"  --out 1:print:8 --expect 1:want.bin", "exit 5 if it differs"}},
      .formats = usual_formats,
      .export_formats = benchmark_formats,
      .takes_devices = true,
      .add = add_run_kernel,
      .rules = rules_of_run_kernel(),
      .completion_words = run_kernel_words,
  };
}

}  // namespace hiptool::cli
