// SPDX-License-Identifier: MIT
// Prints what kernel images say of themselves: "FILE TARGET", then for each kernel
// " NAME SIZE:KIND..." (v value, p pointer, ? not told). Usage: image_info FILE...
#include "kernels/image_info.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

using namespace hiptool::kernels;

namespace {

void print(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const ImageInfo info = read_image_info(std::as_bytes(std::span(text.data(), text.size())));
  std::printf("%s %s\n", path, info.target.c_str());
  if (!info.kernels) return;
  for (const KernelInfo& kernel : *info.kernels) {
    std::printf(" %s", kernel.name.c_str());
    for (const ArgumentInfo& argument : kernel.arguments) {
      const char kind = argument.kind == ArgumentKind::pointer ? 'p'
                        : argument.kind == ArgumentKind::value ? 'v'
                                                               : '?';
      std::printf(" %llu:%c", static_cast<unsigned long long>(argument.size_bytes), kind);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    for (int i = 1; i < argument_count; ++i) print(arguments[i]);
  } catch (const std::exception& failure) {
    std::printf("failed: %s\n", failure.what());
    return 1;
  }
  return 0;
}
