// SPDX-License-Identifier: MIT
// The walks of run-kernel: built-in kernels, products of matrices, and kernels of the user.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "option_pairs.hpp"
#include "user_kernel/cpu_compile.hpp"

namespace hiptool::cli::testing {
namespace {

/// Of all runs of built-in kernels.
std::vector<OptionProbe> builtin_probes(const PairFiles& files, const std::string& shape,
                                        const std::string& threshold) {
  return {{"--dtype", {"--dtype", "f16"}},
          {"--size", {"--size", "4KiB"}},
          {"--shape", {"--shape", shape}},
          {"--layout", {"--layout", "transposed"}},
          {"--seed", {"--seed", "7"}},
          {"--fail-below", {"--fail-below", threshold}},
          {"--samples", {"--samples", "2"}},
          {"--export", {"--export", "json=" + files.output("e.json")}},
          {"--device", {"--device", "cpu:1"}}};
}

PairWalk builtin_walk(const PairFiles& files, Words base, std::vector<OptionProbe> probes,
                      const std::vector<OptionProbe>& more) {
  probes.insert(probes.end(), more.begin(), more.end());
  PairWalk walk = files.walk(std::move(base), std::move(probes));
  walk.measured = "got|reason";
  walk.left_out["--time"] = "how often a kernel is repeated depends on time; program-run-kernel";
  walk.left_out["--together"] = "takes seconds; program-run_kernel_builtin";
  walk.left_out["--cache"] = "of --module; program-run_kernel_trust";
  for (const char* name : {"--repeat", "--against", "--effect", "--strict-compare"}) {
    walk.left_out[name] = "starts processes; program-repeat";
  }
  return walk;
}

/// Two kernels with the same arguments.
constexpr const char* kernels_text = R"(
#include <hip/hip_runtime.h>
extern "C" __global__ void one(float* out, int n) { out[threadIdx.x] += n; }
extern "C" __global__ void two(float* out, int n) { out[threadIdx.x] -= n; }
)";

/// A compiler in a folder of its own that remembers what it has compiled: hundreds of runs compile
/// the same two kernels. Empty without a compiler.
std::string folder_of_compiler(const PairFiles& files) {
  const char* const path = std::getenv("PATH");
  const auto compiler = user_kernel::find_host_compiler(path == nullptr ? "" : path);
  if (compiler.empty()) return {};
  const std::filesystem::path script = files.input("bin/" + compiler.filename().string());
  std::filesystem::create_directories(script.parent_path());
  std::ofstream(script) << "#!/bin/sh\n"
                           "previous=\n"
                           "for word in \"$@\"; do\n"
                           "  [ \"$previous\" = -o ] && library=$word\n"
                           "  previous=$word\n"
                           "done\n"
                           "kept=${0%/*}/$(cksum < \"$previous\" | tr ' ' -)\n"
                           "[ -e \"$kept\" ] || { "
                        << compiler.string()
                        << " \"$@\" && cp \"$library\" \"$kept\"; } || exit\n"
                           "cp \"$kept\" \"$library\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return script.parent_path().string();
}

}  // namespace

PairWalk operation_walk(const PairFiles& files) {
  PairWalk walk = builtin_walk(files, {"run-kernel", "relu", "--quiet"},
                               builtin_probes(files, "4x4", "relu>=1000TB/s"),
                               {{"--sweep", {"--sweep", "quick"}}});
  walk.usual = {{{"--dtype", "f32"}, {}},
                {{"--shape", "8x8"}, {"--size", "--sweep"}},
                {{"--samples", "1"}, {"--sweep"}}};
  return walk;
}

PairWalk product_walk(const PairFiles& files) {
  const std::string shapes = files.input("shapes");
  std::ofstream(shapes) << "8x8x8\n4x4x4 batch=2\n";
  PairWalk walk = builtin_walk(files, {"run-kernel", "matmul", "--quiet"},
                               builtin_probes(files, "4x4x4", "matmul>=1000TFLOP/s"),
                               {{"--lib", {"--lib", "own-exact"}},
                                {"--shapes", {"--shapes", shapes}},
                                {"--transpose", {"--transpose", "tt"}},
                                {"--batch", {"--batch", "3"}},
                                {"--compute", {"--compute", "f16"}}});
  walk.usual = {{{"--shape", "8x8x8"}, {"--size", "--shapes"}}, {{"--samples", "1"}, {}}};
  for (const char* option : {"--dtype", "--seed", "--fail-below", "--samples"}) {
    walk.unseen[option + std::string(" --compute")] =
        "nothing on the processor sums in another type";
  }
  return walk;
}

PairWalk kernel_list_walk(const PairFiles& files) {
  const std::string module = files.input("kernels.hip");
  std::ofstream(module) << kernels_text;
  const std::vector<std::vector<Words>> list{{{"--list"}}};
  PairWalk walk = files.walk({"run-kernel", "--quiet"},
                             {{"--list", {}},
                              {"--module", {"--module", module}},
                              {"--format", {"--format", "csv"}, list},
                              {"--export", {"--export", "csv=" + files.output("e.csv")}, list}});
  walk.unseen["--list --module"] = "--module alone lists its kernels, too";
  return walk;
}

PairWalk module_walk(const PairFiles& files) {
  const std::string module = files.input("kernels.hip");
  const std::string wanted = files.input("wanted");
  std::ofstream(module) << kernels_text;
  std::ofstream(wanted) << std::string(16 * sizeof(float), '\0');
  const Words expected{"--expect", "0:" + wanted};
  const Words output{"--out", "0:" + files.output("out")};
  PairWalk walk = files.walk({"run-kernel", "--module", module, "--quiet"},
                             {{"--name", {"--name", "two"}},
                              {"--grid", {"--grid", "2"}},
                              {"--block", {"--block", "8"}},
                              {"--shared", {"--shared", "64"}},
                              {"--arg", {"--arg", "buf:f32:16:iota", "--arg", "i32:1"}, {{output}}},
                              {"--out", output},
                              {"--expect", expected},
                              {"--tolerance", {"--tolerance", "10"}, {{expected}}},
                              {"--bytes", {"--bytes", "128"}},
                              {"--flops", {"--flops", "16"}},
                              {"--samples", {"--samples", "2"}},
                              {"--export", {"--export", "json=" + files.output("e.json")}},
                              {"--device", {"--device", "cpu:1"}}});
  walk.usual = {{{"--name", "one"}, {}},
                {{"--grid", "1"}, {}},
                {{"--block", "4"}, {}},
                {{"--arg", "buf:f32:16:zeros", "--arg", "i32:1"}, {}},
                {{"--device", "cpu:0"}, {}}};
  walk.variables["PATH"] = folder_of_compiler(files);
  return walk;
}

}  // namespace hiptool::cli::testing
