// SPDX-License-Identifier: MIT
// Prints what kernel images say of themselves: "FILE TARGET", then for each kernel
// " NAME SIZE:KIND..." (v value, p pointer, ? not told). Of a fat binary "# WHAT" for each entry,
// its kernels behind it. Usage: image_info FILE...
#include "user_kernel/image_info.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "user_kernel/fatbin.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;

namespace {

void print(const std::vector<KernelInfo>& kernels) {
  for (const KernelInfo& kernel : kernels) {
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

void print_entries(std::span<const std::byte> image) {
  const auto entries = read_fatbin(image);
  for (const FatbinEntry& entry : entries) {
    std::printf("# %s\n", describe(entry).c_str());
    if (const auto kernels = kernels_of(entries, entry)) print(*kernels);
  }
}

void print(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto image = std::as_bytes(std::span(text.data(), text.size()));
  const ImageInfo info = read_image_info(image);
  std::printf("%s %s\n", path, info.target.c_str());
  if (info.kernels) print(*info.kernels);
  if (info.kind == core::ImageKind::fatbin) print_entries(image);
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
