// SPDX-License-Identifier: MIT
/// Binds the HIP runtime that this machine has (77: it has none). Runtimes load without a GPU, say
/// that there is none, and must not crash or print.
#include <cstdio>

#include "hip/api.hpp"
#include "hip/binding.hpp"

using namespace hiptool;

int main() {
  constexpr int skipped = 77;
  const hip::Binding binding = hip::bind_amd({});
  const PlatformStatus& status = binding.status;
  for (const std::string& line : status.tried) std::printf("tried %s\n", line.c_str());
  std::printf("library %s, version %s, usable %d, reason \"%s\", hint \"%s\"\n",
              status.library.c_str(), status.runtime_version.c_str(), status.usable,
              status.reason.c_str(), status.hint.c_str());
  if (status.library.empty()) {
    std::printf("skipped: no HIP runtime is installed\n");
    return status.reason.empty() ? 1 : skipped;
  }
  bool is_good = binding.api != nullptr && !status.runtime_version.empty();
  if (!status.usable) {
    int count = -1;
    const hip::hipError_t error = binding.api->hipGetDeviceCount(&count);
    is_good = is_good && !status.reason.empty() && count == 0 &&
              (error == hip::hipErrorNoDevice || error == hip::hipErrorInvalidDevice);
    void* pointer = nullptr;
    is_good = is_good && binding.api->hipMalloc(&pointer, 16) != hip::hipSuccess;
    is_good = is_good && binding.api->hipGetErrorName(hip::hipErrorNoDevice) != nullptr;
  }
  return is_good ? 0 : 1;
}
