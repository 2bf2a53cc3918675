// SPDX-License-Identifier: MIT
#include "machine/instruction_sets.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace hiptool::machine {
namespace {

/// By the beginning of the name; the longest that fits counts.
struct AmdFeatures {
  std::string_view start;
  std::string_view matrix;  ///< types of matrix instructions
  std::string_view dot;     ///< dot products of bytes
};

// Of AMD: for which -mcpu clang 19 accepts the builtins (gfx950: LLVM's BuiltinsAMDGPU.td); of
// NVIDIA the target notes of PTX ISA, as LLVM's BuiltinsNVPTX has them.
constexpr AmdFeatures amd_features[] = {
    {"gfx906", "", "dot products of i8"},
    {"gfx908", "MFMA of f32 f16 bf16 i8", "dot products of i8"},
    {"gfx90a", "MFMA of f64 f32 f16 bf16 i8", "dot products of i8"},
    {"gfx942", "MFMA of f64 f32 xf32 f16 bf16 fp8 i8", "dot products of i8"},
    {"gfx950", "MFMA of f64 f32 f16 bf16 fp8 fp6 fp4 i8", "dot products of i8"},
    {"gfx1011", "", "dot products of i8"},
    {"gfx1012", "", "dot products of i8"},
    {"gfx103", "", "dot products of i8"},
    {"gfx110", "WMMA of f16 bf16 i8 i4", "dot products of i8"},
    {"gfx115", "WMMA of f16 bf16 i8 i4", "dot products of i8"},
    {"gfx120", "WMMA of f16 bf16 fp8 i8 i4", "dot products of i8"},
};

/// By the compute capability from which on they exist.
struct NvidiaFeature {
  int least;
  std::string_view type;
};

constexpr NvidiaFeature tensor_types[] = {{70, "f16"}, {72, "i8"},  {80, "bf16"}, {80, "tf32"},
                                          {80, "f64"}, {89, "fp8"}, {100, "fp4"}};

void add_amd(std::string_view arch, std::vector<std::string>& features) {
  const std::string_view name = arch.substr(0, arch.find(':'));
  const auto* const found = std::ranges::find_if(
      amd_features, [name](const AmdFeatures& one) { return name.starts_with(one.start); });
  if (found != std::end(amd_features)) {
    for (const std::string_view text : {found->matrix, found->dot}) {
      if (!text.empty()) features.emplace_back(text);
    }
  }
  // "gfx90a:sramecc+:xnack-".
  for (std::size_t start = arch.find(':'); start != std::string_view::npos;) {
    const std::size_t end = arch.find(':', start + 1);
    const std::string_view part = arch.substr(start + 1, end - start - 1);
    start = end;
    if (part.size() < 2) continue;
    features.push_back(std::string(part.substr(0, part.size() - 1)) +
                       (part.back() == '+' ? " on" : " off"));
  }
}

void add_nvidia(std::string_view arch, std::vector<std::string>& features) {
  int number = 0;
  if (!arch.starts_with("sm_")) return;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  std::string types;
  for (const NvidiaFeature& one : tensor_types) {
    if (number >= one.least) types += " " + std::string(one.type);
  }
  if (!types.empty()) features.push_back("tensor cores of" + types);
  if (number >= 90) features.emplace_back("thread block clusters");
  if (number / 10 == 9) features.emplace_back("wgmma");
  if (number >= 100 && number < 120) features.emplace_back("tcgen05");
}

}  // namespace

std::vector<std::string> instruction_features(Platform platform, std::string_view arch) {
  std::vector<std::string> features;
  if (platform == Platform::amd) add_amd(arch, features);
  if (platform == Platform::nvidia) add_nvidia(arch, features);
  return features;
}

}  // namespace hiptool::machine
