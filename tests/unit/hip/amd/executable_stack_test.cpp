// SPDX-License-Identifier: MIT
/// A runtime that was linked for an executable stack, such as HIP 5.2, where the system refuses
/// one: glibc 2.41 always does, older ones if the process may not have one (77: it may).
#include <sys/prctl.h>

#include <cstdio>

#include "base/dynamic_library.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

int main() {
  constexpr int set_deny_write_execute = 65;  // PR_SET_MDWE of Linux 6.3
  prctl(set_deny_write_execute, 1UL, 0UL, 0UL, 0UL);
  const std::string library = hiptool::test::fake_library("NEEDS_EXECUTABLE_STACK");
  std::string sentence;
  if (hiptool::base::DynamicLibrary::open(library, sentence)) {
    std::printf("skipped: this system gives libraries an executable stack\n");
    return 77;
  }
  hiptool::hip::BindRequest request;
  request.library = library;
  const hiptool::PlatformStatus status = hiptool::hip::bind_amd(request).status;
  std::printf("%s\n%s\n%s\n", sentence.c_str(), status.reason.c_str(), status.hint.c_str());
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const bool is_right =
      has(status.reason, "needs an executable stack") && has(status.reason, library.c_str()) &&
      has(status.hint, "patchelf --clear-execstack") &&
      has(status.hint, "glibc.rtld.execstack=2") && !has(status.hint, "install ROCm's HIP runtime");
  return is_right ? 0 : 1;
}
