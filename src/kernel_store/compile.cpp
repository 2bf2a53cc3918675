// SPDX-License-Identifier: MIT
#include "kernel_store/compile.hpp"

#include <array>
#include <system_error>

#include "hip/rtc.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/images.hpp"

namespace hiptool::kernel_store {
namespace {

/// The run-time compilers have the language built in, but not these files, which include ours. The
/// functions of the C library that a kernel can call are built in too.
constexpr const char* include_own = "#include <hip/hip_runtime.h>\n";
constexpr std::array other_headers{"cuda.h",
                                   "cuda_runtime.h",
                                   "cuda_runtime_api.h",
                                   "device_launch_parameters.h",
                                   "math.h",
                                   "cmath",
                                   "hip/hip_runtime_api.h",
                                   "stddef.h",
                                   "stdint.h",
                                   "cstdint",
                                   "stdio.h",
                                   "cstdio",
                                   "cstddef",
                                   "assert.h",
                                   "cassert"};

/// A file whose text goes to the compiler.
struct Header {
  const char* name;
  const char* text;
};

/// hipRTC has half types built in, NVRTC takes them from the toolkit's file.
std::vector<Header> headers_for(const CompileRequest& request) {
  std::vector<Header> headers;
  for (const SourceHeader& header : request.headers) {
    headers.push_back({header.name.c_str(), header.text.c_str()});
  }
  for (const char* name : other_headers) headers.push_back({name, include_own});
  if (request.platform == Platform::amd) {
    headers.push_back({"cuda_fp16.h", include_own});
    headers.push_back({"hip/hip_fp16.h", include_own});
  } else {
    headers.push_back({"hip/hip_fp16.h", "#include <hip/hip_runtime.h>\n#include <cuda_fp16.h>\n"});
  }
  return headers;
}

/// Where NVRTC finds the headers of the toolkit that it is a part of, such as <cuda_fp16.h>; empty
/// if they are not installed.
std::string toolkit_folder(const hip::RtcLibrary& library) {
  namespace fs = std::filesystem;
  const fs::path beside = fs::path(library.path).parent_path().parent_path() / "include";
  for (const fs::path& folder : {beside, fs::path("/usr/local/cuda/include")}) {
    std::error_code ignored;
    if (folder.is_absolute() && fs::exists(folder / "cuda_fp16.h", ignored)) return folder.string();
  }
  return {};
}

/// One program of a run-time compiler: made, compiled for one arch, destroyed.
class Program {
 public:
  Program(const hip::RtcLibrary& library, const CompileRequest& request)
      : library_(library), request_(request) {
    const std::string file = request.name + ".hip";
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const Header& header : headers_for(request)) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    check("create",
          library.api->create(&program_, request.source.c_str(), file.c_str(),
                              static_cast<int>(names.size()), texts.data(), names.data()));
  }
  ~Program() { library_.api->destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile() {
    auto options = hip::rtc_options(request_.platform, request_.arch);
    const std::string toolkit =
        request_.platform == Platform::nvidia ? toolkit_folder(library_) : std::string();
    if (!toolkit.empty()) options.push_back("--include-path=" + toolkit);
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
    if (image.is_text() && image.source == name) return image.text();
  }
  return {};
}

std::vector<SourceHeader> embedded_headers() {
  std::vector<SourceHeader> headers;
  for (const Image& image : embedded_images()) {
    if (image.target != "header") continue;
    headers.push_back({std::string(image.source), std::string(image.text())});
  }
  return headers;
}

}  // namespace hiptool::kernel_store
