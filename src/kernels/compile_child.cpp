// SPDX-License-Identifier: MIT
#include <fstream>
#include <optional>
#include <utility>

#include "hiptool/error.hpp"
#include "kernels/child_process.hpp"
#include "kernels/compile.hpp"

namespace hiptool::kernels {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> compile_with(const fs::path& program, std::chrono::milliseconds timeout,
                                    const CancelToken* cancel, const CompileRequest& request) {
  const WorkFolder folder;
  const std::string source = folder.file("kernel.hip");
  const std::string out = folder.file("image");
  const std::string log = folder.file("log");
  std::ofstream(source, std::ios::binary) << request.source;
  const std::optional<int> status = run_child(
      {program.string(), "compile-kernel", source, "--target", request.arch, "--out", out}, log,
      timeout, cancel);
  const std::string subject =
      "the process that compiles '" + request.name + "' for " + request.arch + " ";
  if (!status) {
    throw Error(ErrorCode::timed_out, "compile kernel",
                subject + "was ended after " + std::to_string(timeout.count()) + " ms");
  }
  const std::string image = read_text(out);
  if (*status != 0 || image.empty()) {
    std::string message = subject + describe_end(*status);
    if (const std::string said = read_text(log); !said.empty()) message += "\n" + said;
    while (message.back() == '\n') message.pop_back();
    throw Error(ErrorCode::device, "compile kernel", std::move(message));
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + image.size()};
}

}  // namespace

Compile compile_in_child(fs::path program, std::chrono::milliseconds timeout,
                         const CancelToken* cancel) {
  return [program = std::move(program), timeout, cancel](const CompileRequest& request) {
    return compile_with(program, timeout, cancel, request);
  };
}

}  // namespace hiptool::kernels
