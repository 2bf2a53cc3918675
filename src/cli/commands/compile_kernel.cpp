// SPDX-License-Identifier: MIT
#include "cli/commands/compile_kernel.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/input_file.hpp"
#include "cli/exit_code.hpp"
#include "hiptool/error.hpp"
#include "kernels/compile.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t most_source_bytes = 64u << 20;

void write_image(const std::string& path, const std::vector<std::byte>& image) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  file.close();
  if (!file) {
    throw Error(ErrorCode::output_failed, "compile-kernel", path + ": could not be written");
  }
}

}  // namespace

bool is_compile_kernel(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "compile-kernel";
}

int run_compile_kernel(int argc, const char* const* argv) {
  constexpr int words = 7;
  if (argc != words || std::string_view(argv[3]) != "--target" ||
      std::string_view(argv[5]) != "--out") {
    throw Error(ErrorCode::invalid_argument, "compile-kernel",
                "usage: hiptool compile-kernel FILE --target ARCH --out FILE");
  }
  const std::string path = argv[2];
  const std::string arch = argv[4];
  const kernels::CompileRequest request{kernels::platform_of_arch(arch), arch,
                                        std::filesystem::path(path).stem().string(),
                                        base::read_input_file(path, most_source_bytes),
                                        std::string(kernels::embedded_text("hip/hip_runtime.h"))};
  write_image(argv[6], kernels::compile_in_process(request));
  return exit_done;
}

}  // namespace hiptool::cli
