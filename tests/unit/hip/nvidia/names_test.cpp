// SPDX-License-Identifier: MIT
/// Which names are tried without a wish: only the driver's own, never the toolkit's stub. A program
/// of its own, because on a machine with a driver that one would stay bound.
#include <cstdio>

#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

int main() {
  const hiptool::test::TemporaryTree tree;
  hiptool::hip::BindRequest request;
  request.system_root = tree.root().string();
  const hiptool::PlatformStatus status = hiptool::hip::bind_nvidia(request).status;
  if (!status.library.empty()) {
    std::printf("skipped: this machine has a driver, %s\n", status.library.c_str());
    return 77;
  }
  for (const std::string& attempt : status.tried) std::printf("tried %s\n", attempt.c_str());
  std::printf("%s\n", status.reason.c_str());
  const bool is_right = status.tried.size() == 2 && status.tried[0].starts_with("libcuda.so.1: ") &&
                        status.tried[1].starts_with("/usr/lib/wsl/lib/libcuda.so.1: ") &&
                        status.reason.find("libcuda.so.1 was not found") != std::string::npos;
  return is_right ? 0 : 1;
}
