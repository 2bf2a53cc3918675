// SPDX-License-Identifier: MIT
#include "measure/kernel/rates.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace hiptool::measure {
namespace {

struct Rate {
  std::string_view arch;
  double f32;
  double f64;
  double i32;
  double f16;
  double bf16;
};

// 0: no public source was found. docs/peaks.md names the source of every figure, and a test
// compares the two. A figure counts an addition and a multiplication for each multiply-add. RDNA is
// missing because the runtime by default counts pairs of compute units and AMD's figures are for
// one.
constexpr Rate rates[] = {
    {"sm_60", 128, 64, 0, 256, 0},     {"sm_61", 256, 8, 0, 4, 0},
    {"sm_70", 128, 64, 128, 256, 0},   {"sm_75", 128, 4, 128, 256, 0},
    {"sm_80", 128, 64, 128, 512, 256}, {"sm_86", 256, 4, 128, 0, 0},
    {"sm_89", 256, 4, 128, 0, 0},      {"sm_90", 256, 128, 128, 512, 512},
    {"sm_100", 256, 128, 128, 0, 0},   {"sm_120", 256, 4, 128, 0, 0},
    {"gfx908", 128, 64, 0, 0, 0},      {"gfx90a", 256, 128, 0, 0, 0},
    {"gfx942", 256, 128, 0, 0, 0},     {"gfx950", 256, 128, 0, 0, 0},
};

std::string_view base_name(std::string_view arch) { return arch.substr(0, arch.find(':')); }

/// 90 of "sm_90a", 0 of other names.
int sm_number(std::string_view arch) {
  int number = 0;
  if (arch.substr(0, 3) != "sm_") return 0;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

}  // namespace

std::optional<double> multiply_add_rate(std::string_view arch, std::string_view dtype) {
  const std::string_view name = base_name(arch);
  const auto* const found = std::ranges::find(rates, name, &Rate::arch);
  if (found == std::end(rates)) return std::nullopt;
  double rate = 0;
  if (dtype == "f32") rate = found->f32;
  if (dtype == "f64") rate = found->f64;
  if (dtype == "i32") rate = found->i32;
  if (dtype == "f16") rate = found->f16;
  if (dtype == "bf16") rate = found->bf16;
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

bool has_matrix_instructions(Platform platform, std::string_view arch) {
  return platform == Platform::nvidia && sm_number(arch) >= 80;
}

std::optional<double> matrix_rate(std::string_view arch) {
  const std::string_view name = base_name(arch);
  if (name == "sm_80") return 2048;
  if (name == "sm_90") return 4096;
  if (name == "gfx942") return 2048;
  if (name == "gfx950") return 4096;
  return std::nullopt;
}

std::optional<double> shared_memory_rate(Platform platform, std::string_view arch) {
  const std::string_view name = base_name(arch);
  const bool is_known =
      platform == Platform::nvidia || name == "gfx908" || name == "gfx90a" || name == "gfx942";
  return is_known ? std::optional(128.0) : std::nullopt;
}

std::string missing_multiply_add(Platform platform, std::string_view arch, std::string_view dtype) {
  const bool is_f16 = dtype == "f16";
  if (platform == Platform::cpu || (!is_f16 && dtype != "bf16")) return {};
  const std::string own(base_name(arch));
  if (platform == Platform::nvidia) {
    // PTX ISA, half precision floating point instructions, fma: target notes.
    const int least = is_f16 ? 53 : 80;
    if (sm_number(own) >= least) return {};
    return own + " has no multiply-adds of " + std::string(dtype) + "; sm_" +
           std::to_string(least) + " and later have";
  }
  if (!is_f16) return "no AMD GPU up to gfx1201 has multiply-adds of bf16";
  // gfx900 and all later ones have V_PK_FMA_F16 (Vega ISA).
  const bool is_old =
      own.substr(0, 4) == "gfx6" || own.substr(0, 4) == "gfx7" || own.substr(0, 4) == "gfx8";
  return is_old ? own + " has no packed multiply-adds of f16; gfx900 and later have" : "";
}

}  // namespace hiptool::measure
