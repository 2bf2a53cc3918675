// SPDX-License-Identifier: MIT
#include "cli/commands/compile_kernel.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/exit_code.hpp"
#include "hiptool/error.hpp"
#include "kernels/compile.hpp"

namespace hiptool::cli {
namespace {

std::string read_source(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    throw Error(ErrorCode::input_failed, "compile-kernel", path + ": could not be read");
  }
  return text;
}

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
  const kernels::CompileRequest request{
      kernels::platform_of_arch(arch), arch, std::filesystem::path(path).stem().string(),
      read_source(path), std::string(kernels::embedded_text("hip/hip_runtime.h"))};
  write_image(argv[6], kernels::compile_in_process(request));
  return exit_done;
}

}  // namespace hiptool::cli
