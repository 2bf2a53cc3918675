// SPDX-License-Identifier: MIT
/// hipRTC as far as the loader asks for it: found, and able to compile nothing. It is inside the
/// runtime up to HIP 6 and a library of its own since 7.0.
#include <cstddef>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int compilation_failed = 6;
constexpr char log_text[] = "the stand-in for hipRTC compiles nothing";

}  // namespace

extern "C" {

int hiprtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                        const char* const*) {
  *program = new char;
  return success;
}
int hiprtcCompileProgram(void*, int, const char* const*) { return compilation_failed; }
int hiprtcGetProgramLogSize(void*, std::size_t* bytes) {
  *bytes = sizeof(log_text);
  return success;
}
int hiprtcGetProgramLog(void*, char* log) {
  std::memcpy(log, log_text, sizeof(log_text));
  return success;
}
int hiprtcGetCodeSize(void*, std::size_t* bytes) {
  *bytes = 0;
  return success;
}
int hiprtcGetCode(void*, char*) { return success; }
int hiprtcDestroyProgram(void** program) {
  delete static_cast<char*>(*program);
  return success;
}
const char* hiprtcGetErrorString(int result) {
  return result == success ? "HIPRTC_SUCCESS" : "HIPRTC_ERROR_COMPILATION";
}

}  // extern "C"
