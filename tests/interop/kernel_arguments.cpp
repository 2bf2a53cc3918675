// SPDX-License-Identifier: MIT
/// Prints the arguments of kernels as the cpu platform's table has them: NAME OFFSET:SIZE...
#include <cstdio>

#include "hip/cpu/kernel_table.hpp"
#include "kernel_store/images.hpp"

int main(int argc, char** argv) {
  if (hiptool::kernel_store::embedded_images().empty()) return 1;
  for (int i = 1; i < argc; ++i) {
    const auto* kernel = hiptool::hip::cpu::find_kernel(argv[i]);
    if (kernel == nullptr) continue;
    std::printf("%s", argv[i]);
    for (const auto& argument : kernel->arguments) {
      std::printf(" %zu:%zu", argument.offset_bytes, argument.size_bytes);
    }
    std::printf("\n");
  }
  return 0;
}
