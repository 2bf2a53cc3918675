// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel/run_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/contains.hpp"
#include "base/text.hpp"
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
  if (!base::equals_ignoring_case(options.shapes, "traps"))
    files.inputs.push_back({options.shapes, "--shapes"});
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

/// "256 MiB, on cpu 4.00 MiB".
std::string default_sizes_text() {
  return fmt::format("{}, on cpu {}", format_size(measure::gpu_kernel_defaults.size_bytes),
                     format_size(measure::cpu_kernel_defaults.size_bytes));
}

/// "32.0 KiB to 1.00 MiB".
std::string operation_sizes_text() {
  return fmt::format("{} to {}", format_size(measure::cpu_convolution_defaults.size_bytes),
                     format_size(measure::cpu_usual_operation_defaults.size_bytes));
}

// "own" and the libraries of any operation.
std::vector<std::string> library_names() {
  std::vector<std::string> names{"all"};
  for (const auto kind : measure::problem_kinds) {
    for (const std::string& name : measure::implementations_of(kind)) base::add_once(names, name);
  }
  return names;
}

// Of these the short help has only the names.
constexpr const char* libraries_group = "Libraries, for matmul, conv2d and pooling";
constexpr const char* module_group = "A kernel of your own";
constexpr const char* versions_group = "Compare two versions";

Runner add_run_kernel(CLI::App& app) {
  auto options = std::make_shared<RunKernelOptions>();
  add_words(app, "NAME", options->names,
            OptionHelp("kernels, operations, groups of them, all or ops")
                .with_details("all: every kernel and the most used operations; ops: every "
                              "operation; --list names them"));
  begin_group(app, "What to run");
  add_flag(app, "--list", options->list,
           OptionHelp("name the kernels and operations")
               .with_details("with --module the kernels of that file"));
  add_texts(app, "--dtype", "LIST", options->dtypes, "only with these types: f32,f64");
  add_text(app, "--size", "SIZES", options->size,
           OptionHelp("bytes of each array: 64MiB, a list, a range, 90%")
               .with_details("rounded to a size the kernel supports, or for an operation down to "
                             "the largest shape that fits; 90% is of the free memory, for all "
                             "arrays together; operations on cpu take " +
                             operation_sizes_text())
               .with_default(default_sizes_text()));
  add_text(app, "--shape", "SHAPE", options->shape,
           OptionHelp("an operation's inputs: 4096x4096; of matmul MxNxK")
               .with_details(
                   "instead of a size; of conv2d n8c64h56w56:k64r3s3 (n images, c channels, h "
                   "height, w width; k channels of the result, r height and s width of the filter) "
                   "and if needed u2 (stride), p1 (padding), d1 (dilation), each also as p1x2 "
                   "(height x width), g1 (groups); with --lib of avg_pool2d and max_pool2d "
                   "n8c64h56w56:r3s3 and u2"));
  add_texts(app, "--layout", "LIST", options->layouts,
            OptionHelp("how an operation's tensors are stored")
                .with_values(layout_names())
                .with_default("packed, in a sweep all"));
  add_choice(app, "--sweep", "WHICH", options->sweep, {"quick", "full"},
             OptionHelp("judge operations in many cases, untimed")
                 .with_details("with every type, layout and many shapes"));
  add_text(app, "--seed", "N", options->seed,
           OptionHelp("seed of the data of operations")
               .with_details("with --module: launch and check three times, with new buffers, and "
                             "poison from N where --arg has poison; exit 5 if results differ or "
                             "elements keep the poison")
               .with_default("1"));
  begin_group(app, "How long, and thresholds");
  add_text(app, "--time,--seconds", "SECONDS", options->time,
           "repeat each kernel, checked, for that long");
  add_flag(app, "--together", options->together,
           OptionHelp("on all chosen devices at once; exit 1 if one is slow")
               .with_details("for --time (10 s without it), with the rates of each second"));
  add_count(app, "--samples", options->samples,
            OptionHelp("timed launches")
                .with_details("1 of your own kernel")
                .with_default("as the noise requires"),
            1, 1'000'000);
  add_texts(app, "--fail-below", "THRESHOLD", options->fail_below,
            OptionHelp("exit 1 if slower: 'stream-triad>=80%' of peak")
                .with_details("'sum.1GiB>=3.5TB/s', 'fma.f32>=50TFLOP/s', or @FILE; see hiptool "
                              "help thresholds"));
  begin_group(app, libraries_group);
  add_texts(app, "--lib", "LIST", options->libraries,
            OptionHelp("which libraries to run")
                .with_details("matmul: all but miopen and cudnn; conv2d: own, miopen, cudnn, and "
                              "openblas for the matrix products of own; poolings: own, miopen, "
                              "cudnn")
                .with_values(library_names())
                .with_default("own"));
  add_text(app, "--shapes", "traps|FILE", options->shapes,
           OptionHelp("shapes on which libraries were reported wrong, or a file of shapes")
               .with_details("traps: of matmul and conv2d; a file has lines such as "
                             "4096x4096x4096 tn bf16 batch=2 or n8c64h56w56:k64r3s3p1 f16"));
  add_choice(app, "--transpose", "WHICH", options->transpose, {"nn", "nt", "tn", "tt"},
             OptionHelp("of matmul: t for a matrix that is stored transposed, A first")
                 .with_default("nn"));
  add_count(app, "--batch", options->batch,
            OptionHelp("of matmul: products at once").with_default("1"), 1, 1'048'576);
  add_choice(app, "--compute", "TYPE", options->compute, {"f32", "tf32", "f16"},
             OptionHelp("accumulator type of the library")
                 .with_details("conv2d: not f16")
                 .with_default("f64 for f64, otherwise f32"));
  begin_group(app, module_group);
  add_text(app, "--module", "FILE", options->module,
           OptionHelp("source, PTX, cubin, fat binary or code object")
               .with_details("HIP or CUDA; the content decides which; alone it prints the kernels "
                             "with their arguments and a command for each, and opens no device"));
  add_text(app, "--name", "SYMBOL", options->name, "the kernel, if the file has several");
  add_text(app, "--grid", "X,Y,Z", options->grid,
           OptionHelp("blocks in the grid").with_details("Y and Z may be left out"));
  add_text(app, "--block", "X,Y,Z", options->block, "threads in a block");
  add_size(app, "--shared", options->shared_bytes,
           OptionHelp("dynamic shared memory of a block").with_default("0"), 0);
  add_texts(app, "--arg", "TYPE:VALUE", options->arguments,
            OptionHelp("next argument: i32:5, f32:2.5, buf:TYPE:COUNT:zeros")
                .with_details(
                    "types i8 to u64, f16, bf16, f32, f64; 0x... is bits; bytes:HEX for a struct; "
                    "buf:TYPE:COUNT: and zeros, iota, value:V, random:SEED, file:PATH or poison "
                    "(an output that the kernel must fill); types are compared with the source or "
                    "the image"));
  add_texts(app, "--out", "I:FILE", options->outputs,
            OptionHelp("write buffer I to a file, or I:print:N shows N elements")
                .with_details("arguments count from 0"));
  add_texts(app, "--expect", "I:FILE", options->expected, "exit 5 unless buffer I is that file");
  add_text(app, "--tolerance", "T", options->tolerance,
           OptionHelp("of --expect: T, or rtol=R,atol=A")
               .with_details("for each real: T times the larger of 1 and the expected value, or A "
                             "plus R times it; zeros in place of values never pass")
               .with_default("0"));
  add_choice(app, "--cache", "WHICH", options->cache, {"cold", "warm"},
             OptionHelp("state of the caches before each launch")
                 .with_details("cold: write more than they hold")
                 .with_default("warm"));
  add_size(app, "--bytes", options->bytes, "bytes that a launch reads and writes, for its rate");
  add_count(app, "--flops", options->flops, "floating-point operations of a launch, for its rate",
            1);
  begin_group(app, versions_group);
  add_repeat_options(app, options->repeat);
  add_compare_options(app, options->compare, "with --against");
  return {[options](Context& context) {
            for (std::string& name : options->names) name = base::lower_case(std::move(name));
            return run_run_kernel(*options, context);
          },
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
  return {names, types, {"--shapes", {"traps"}}};
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
                   {"... --fail-below 'stream-triad>=80%'", "of peak; exit 1 if slower"},
                   {"hiptool run-kernel conv2d --lib all", "convolutions of all libraries"},
                   {"hiptool run-kernel avg_pool2d --lib all", "poolings, also max_pool2d"},
                   {"hiptool run-kernel --module k.hip", "its kernels, a command for each"},
                   {"hiptool run-kernel --module k.hip \\", "a kernel of your own:"},
                   {"  --name saxpy --grid 4 --block 256 \\", "which, and how often"},
                   {"  --arg f32:2 --arg buf:f32:64:iota \\", "its arguments, in order"},
                   {"  --out 1:print:8 --expect 1:want.bin", "exit 5 if it differs"}},
      .formats = usual_formats,
      .export_formats = benchmark_formats,
      .usual_devices = "largest GPU",
      .add = add_run_kernel,
      .rules = rules_of_run_kernel(),
      .completion_words = run_kernel_words,
      .condensed = {libraries_group, module_group, versions_group},
  };
}

}  // namespace hiptool::cli
