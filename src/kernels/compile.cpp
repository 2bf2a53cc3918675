// SPDX-License-Identifier: MIT
#include "kernels/compile.hpp"

#include <string>

#include "hip/rtc.hpp"
#include "hiptool/error.hpp"
#include "kernels/images.hpp"

namespace hiptool::kernels {
namespace {

constexpr const char* include_name = "hip/hip_runtime.h";

/// One program of a run-time compiler: made, compiled for one arch, destroyed.
class Program {
 public:
  Program(const hip::RtcLibrary& library, const CompileRequest& request)
      : library_(library), request_(request) {
    const std::string file = request.name + ".hip";
    const char* const header = request.header.c_str();
    check("create", library.api->create(&program_, request.source.c_str(), file.c_str(), 1, &header,
                                        &include_name));
  }
  ~Program() { library_.api->destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile() {
    const auto options = hip::rtc_options(request_.platform, request_.arch);
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    check("compile", library_.api->compile(program_, static_cast<int>(words.size()), words.data()));
  }

  std::vector<std::byte> code() {
    std::size_t size_bytes = 0;
    check("size the code of", library_.api->get_code_size(program_, &size_bytes));
    std::vector<std::byte> code(size_bytes);
    check("take the code of",
          library_.api->get_code(program_, reinterpret_cast<char*>(code.data())));
    return code;
  }

 private:
  std::string log() {
    std::size_t size_bytes = 0;
    if (program_ == nullptr || library_.api->get_log_size(program_, &size_bytes) != 0) return {};
    std::string log(size_bytes, '\0');
    if (size_bytes == 0 || library_.api->get_log(program_, log.data()) != 0) return {};
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    return log;
  }

  void check(const std::string& step, int result) {
    if (result == 0) return;
    const char* text = library_.api->error_text(result);
    std::string message = library_.name + " could not " + step + " '" + request_.name + "' for " +
                          request_.arch + ": " + (text != nullptr ? text : "unknown error") + " (" +
                          std::to_string(result) + ")";
    if (const std::string details = log(); !details.empty()) message += "\n" + details;
    throw Error(ErrorCode::device, "compile kernel", std::move(message));
  }

  const hip::RtcLibrary& library_;
  const CompileRequest& request_;
  void* program_ = nullptr;
};

}  // namespace

std::vector<std::byte> compile_in_process(const CompileRequest& request) {
  const hip::RtcLibrary& library = hip::find_rtc(request.platform);
  if (library.api == nullptr) {
    throw Error(ErrorCode::unsupported, "compile kernel", library.reason,
                request.platform == Platform::amd ? "install hipRTC of the same ROCm release"
                                                  : "install NVRTC, a part of the CUDA toolkit");
  }
  Program program(library, request);
  program.compile();
  return program.code();
}

Platform platform_of_arch(std::string_view arch) {
  if (arch.starts_with("gfx")) return Platform::amd;
  if (arch.starts_with("sm_") || arch.starts_with("compute_")) return Platform::nvidia;
  throw Error(ErrorCode::invalid_argument, "compile kernel",
              "'" + std::string(arch) + "' is neither an arch of AMD nor of NVIDIA",
              "write it as gfx90a or sm_90");
}

std::string_view embedded_text(std::string_view name) {
  for (const Image& image : embedded_images()) {
    if (image.target != "source" || image.source != name) continue;
    const std::string_view text(reinterpret_cast<const char*>(image.bytes.data()),
                                image.bytes.size());
    return text.substr(0, text.find('\0'));
  }
  return {};
}

}  // namespace hiptool::kernels
