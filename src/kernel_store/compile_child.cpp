// SPDX-License-Identifier: MIT
#include <fstream>
#include <optional>
#include <utility>

#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/compile.hpp"
#include "system/child_process.hpp"

namespace hiptool::kernel_store {
namespace {

namespace fs = std::filesystem;

// Sanitizers reserve terabytes for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

std::vector<std::byte> compile_with(const fs::path& program, std::chrono::milliseconds timeout,
                                    const CancelToken* cancel, const CompileRequest& request) {
  const system::WorkFolder folder;
  const std::string source = folder.file("kernel.hip");
  const std::string out = folder.file("image");
  std::ofstream(source, std::ios::binary) << request.source;
  const system::ChildLimits limits{timeout, is_sanitized ? 0 : system::compiler_memory_bytes};
  const system::ChildRun child = run_child(
      {program.string(), "compile-kernel", source, "--target", request.arch, "--out", out}, folder,
      limits, cancel);
  const std::string subject =
      "the process that compiles '" + request.name + "' for " + request.arch + " ";
  if (!child.status) {
    throw Error(ErrorCode::timed_out, "compile kernel",
                subject + "was ended after " + std::to_string(timeout.count()) + " ms");
  }
  const std::string image = system::read_text(out);
  if (*child.status != 0 || image.empty()) {
    std::string message = subject + system::describe_end(*child.status);
    if (system::is_out_of_memory(child.output)) {
      message += "; it gets " + format_size(limits.memory_bytes) + " of memory";
    }
    if (!child.output.empty()) message += "\n" + child.output;
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

}  // namespace hiptool::kernel_store
