// SPDX-License-Identifier: MIT
/// hipRTC: inside the runtime up to HIP 6, a library of its own since 7.0. It takes hiptool's own
/// sources only, for which it answers what the build's compiler made of them.
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "kernel_store/images.hpp"

namespace {

using hiptool::kernel_store::embedded_images;
using hiptool::kernel_store::Image;

constexpr int success = 0;
constexpr int compilation_failed = 6;

struct Program {
  std::string source;
  std::string log;
  std::span<const std::byte> code;
};

/// The text's stem, empty for a text that is none of hiptool's.
std::string_view find_stem(std::string_view source) {
  for (const Image& image : embedded_images()) {
    const std::string_view text(reinterpret_cast<const char*>(image.bytes.data()),
                                image.bytes.size());
    if (image.target == "source" && text.substr(0, text.find('\0')) == source) return image.source;
  }
  return {};
}

Program& program_of(void* handle) { return *static_cast<Program*>(handle); }

}  // namespace

extern "C" {

int hiprtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                        const char* const*) {
  *program = new Program{source, {}, {}};
  return success;
}

int hiprtcCompileProgram(void* handle, int option_count, const char* const* options) {
  constexpr std::string_view arch_option = "--offload-arch=";
  Program& program = program_of(handle);
  std::string_view arch;
  for (const std::string_view option : std::span(options, static_cast<std::size_t>(option_count))) {
    if (option.starts_with(arch_option)) arch = option.substr(arch_option.size());
  }
  const std::string_view stem = find_stem(program.source);
  for (const Image& image : embedded_images()) {
    if (!stem.empty() && image.source == stem && image.target == arch) {
      program.code = hiptool::kernel_store::unpacked(image).bytes;
    }
  }
  if (!program.code.empty()) return success;
  program.log =
      "the fake hipRTC knows no such source for " + std::string(arch) + ":\n" + program.source;
  return compilation_failed;
}

int hiprtcGetProgramLogSize(void* program, std::size_t* bytes) {
  *bytes = program_of(program).log.size() + 1;
  return success;
}
int hiprtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, program_of(program).log.c_str());
  return success;
}
int hiprtcGetCodeSize(void* program, std::size_t* bytes) {
  *bytes = program_of(program).code.size();
  return success;
}
int hiprtcGetCode(void* program, char* code) {
  const auto bytes = program_of(program).code;
  std::memcpy(code, bytes.data(), bytes.size());
  return success;
}
int hiprtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  return success;
}
const char* hiprtcGetErrorString(int result) {
  return result == success ? "HIPRTC_SUCCESS" : "HIPRTC_ERROR_COMPILATION";
}

}  // extern "C"
