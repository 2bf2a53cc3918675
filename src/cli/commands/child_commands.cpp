// SPDX-License-Identifier: MIT
#include "cli/commands/child_commands.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/input_file.hpp"
#include "cli/device_option.hpp"
#include "cli/exit_code.hpp"
#include "cli/output/failure.hpp"
#include "kernel_store/compile.hpp"
#include "machine/doctor/probe.hpp"
#include "measure/collective/reduce.hpp"
#include "measure/library/measure.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t most_source_bytes = 64u << 20;

bool is_command(int argc, const char* const* argv, std::string_view name) {
  return argc > 1 && argv[1] == name;
}

void write_image(const std::string& path, const std::vector<std::byte>& image) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  file.close();
  if (!file)
    throw Error(ErrorCode::output_failed, "compile-kernel", path + ": could not be written");
}

void compile_kernel(int argc, const char* const* argv, Environment& /*environment*/) {
  if (argc != 7 || std::string_view(argv[3]) != "--target" ||
      std::string_view(argv[5]) != "--out") {
    throw usage_error("usage: hiptool compile-kernel FILE --target ARCH --out FILE", "");
  }
  const std::string path = argv[2];
  const std::string arch = argv[4];
  const kernel_store::CompileRequest request{
      kernel_store::platform_of_arch(arch), arch, std::filesystem::path(path).stem().string(),
      base::read_input_file(path, most_source_bytes), kernel_store::embedded_headers()};
  write_image(argv[6], kernel_store::compile_in_process(request));
}

void probe_platform(int argc, const char* const* argv, Environment& environment) {
  const bool is_brief = argc == 5 && std::string_view(argv[4]) == "brief";
  if (argc != 4 && !is_brief)
    throw usage_error("usage: hiptool probe-platform NAME ROOT [brief]", "");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Platform platform = parse_platform(argv[2]);
  machine::ProbeOptions options;
  options.root = argv[3];
  options.with_libraries = !is_brief;
  options.with_copies = !is_brief;
  Platforms::Options platform_options = Platforms::Options::from_environment();
  platform_options.system_root = argv[3];
  const auto platforms = environment.make_platforms(std::move(platform_options));
  machine::probe_platform(*platforms, platform, options, [&](const machine::Record& record) {
    environment.console.out(machine::to_text(record));
  });
}

void measure_library(int argc, const char* const* argv, Environment& environment) {
  if (argc != 4) throw usage_error("usage: hiptool measure-library REQUEST RESULT", "");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  measure::run_library_child(argv[2], argv[3], environment.make_platforms);
}

void measure_collective(int argc, const char* const* argv, Environment& environment) {
  if (argc != 4) throw usage_error("usage: hiptool measure-collective REQUEST RESULT", "");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  measure::run_reduce_child(argv[2], argv[3], environment.make_platforms);
}

struct ChildCommand {
  std::string_view name;
  void (*run)(int argc, const char* const* argv, Environment& environment);
};

constexpr std::array<ChildCommand, 4> child_commands{{{"compile-kernel", compile_kernel},
                                                      {"probe-platform", probe_platform},
                                                      {"measure-library", measure_library},
                                                      {"measure-collective", measure_collective}}};

}  // namespace

bool is_probe_platform(int argc, const char* const* argv) {
  return is_command(argc, argv, "probe-platform");
}

std::optional<int> run_child_command(int argc, const char* const* argv, Environment& environment) {
  for (const ChildCommand& child : child_commands) {
    if (!is_command(argc, argv, child.name)) continue;
    // A vendor's library may have threads that are only ending.
    environment.has_left_threads = true;
    child.run(argc, argv, environment);
    return exit_done;
  }
  return {};
}

}  // namespace hiptool::cli
