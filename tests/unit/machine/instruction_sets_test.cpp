// SPDX-License-Identifier: MIT
#include "machine/instruction_sets.hpp"

#include <doctest/doctest.h>

using namespace hiptool;
using hiptool::machine::instruction_features;
using Texts = std::vector<std::string>;

TEST_CASE("instruction sets: AMD's by architecture and by what the name states") {
  const auto of = [](const char* arch) { return instruction_features(Platform::amd, arch); };
  CHECK(of("gfx90a:sramecc+:xnack-") ==
        Texts{"MFMA of f64 f32 f16 bf16 i8", "dot products of i8", "sramecc on", "xnack off"});
  CHECK(of("gfx942").front() == "MFMA of f64 f32 xf32 f16 bf16 fp8 i8");
  CHECK(of("gfx950").front().find("xf32") == std::string::npos);
  CHECK(of("gfx1030") == Texts{"dot products of i8"});
  CHECK(of("gfx1010").empty());
  CHECK(of("gfx1151").front() == "WMMA of f16 bf16 i8 i4");
  CHECK(of("gfx1201").front() == "WMMA of f16 bf16 fp8 i8 i4");
  CHECK(of("gfx900").empty());
  CHECK(of("").empty());
  CHECK(of(":").empty());
  CHECK(of("gfx9999:x").empty());
}

TEST_CASE("instruction sets: NVIDIA's by compute capability") {
  const auto of = [](const char* arch) { return instruction_features(Platform::nvidia, arch); };
  CHECK(of("sm_61").empty());
  CHECK(of("sm_70") == Texts{"tensor cores of f16"});
  CHECK(of("sm_75") == Texts{"tensor cores of f16 i8"});
  CHECK(of("sm_86") == Texts{"tensor cores of f16 i8 bf16 tf32 f64"});
  CHECK(of("sm_89") == Texts{"tensor cores of f16 i8 bf16 tf32 f64 fp8"});
  CHECK(of("sm_90") ==
        Texts{"tensor cores of f16 i8 bf16 tf32 f64 fp8", "thread block clusters", "wgmma"});
  CHECK(of("sm_100").back() == "tcgen05");
  CHECK(of("sm_120") ==
        Texts{"tensor cores of f16 i8 bf16 tf32 f64 fp8 fp4", "thread block clusters"});
  CHECK(of("sm_").empty());
  CHECK(instruction_features(Platform::cpu, "x86_64").empty());
}
