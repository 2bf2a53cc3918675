// SPDX-License-Identifier: MIT
#include "measure/kernel/rates.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace hiptool;
using namespace hiptool::measure;

TEST_CASE("rates are there where they are published") {
  CHECK(multiply_add_rate("sm_90", "f32") == 256);
  CHECK(multiply_add_rate("sm_90", "f64") == 128);
  CHECK(multiply_add_rate("sm_90", "f16") == 512);
  CHECK(multiply_add_rate("sm_90", "bf16") == 512);
  CHECK(multiply_add_rate("sm_80", "bf16") == 256);
  CHECK(multiply_add_rate("gfx90a:sramecc+:xnack-", "f32") == 256);
  CHECK(!multiply_add_rate("gfx942", "i32"));
  // 157.3 and 78.6 TFLOPS of a MI355X with 256 CUs at 2.4 GHz.
  CHECK(multiply_add_rate("gfx950", "f32") == 256);
  CHECK(multiply_add_rate("gfx950", "f64") == 128);
  CHECK(!multiply_add_rate("gfx950", "f16"));
  CHECK(!shared_memory_rate(Platform::amd, "gfx950"));
  CHECK(multiply_add_rate("gfx908", "f64") == 64);
  // No public source, or figures for something else than the runtime counts.
  for (const char* const arch : {"gfx900", "gfx906", "gfx1030", "gfx1100", "gfx1201"}) {
    CAPTURE(arch);
    for (const char* const dtype : {"f32", "f64", "i32", "f16", "bf16"}) {
      CHECK(!multiply_add_rate(arch, dtype));
    }
    CHECK(!shared_memory_rate(Platform::amd, arch));
  }
  CHECK(!multiply_add_rate("sm_90", "f63"));
  CHECK(!multiply_add_rate("sm_9", "f32"));
  CHECK(!multiply_add_rate("", "f32"));
}

TEST_CASE("shared memory has 32 banks of 4 bytes where that is published") {
  CHECK(shared_memory_rate(Platform::nvidia, "sm_90a") == 128);
  CHECK(shared_memory_rate(Platform::amd, "gfx90a:xnack-") == 128);
  CHECK(!shared_memory_rate(Platform::cpu, "x86_64"));
}

TEST_CASE("matrix instructions and their rates") {
  CHECK(!has_matrix_instructions(Platform::nvidia, "sm_75"));
  CHECK(has_matrix_instructions(Platform::nvidia, "sm_80"));
  CHECK(has_matrix_instructions(Platform::nvidia, "sm_90a"));
  CHECK(has_matrix_instructions(Platform::nvidia, "sm_120"));
  CHECK(!has_matrix_instructions(Platform::amd, "gfx942"));
  CHECK(!has_matrix_instructions(Platform::cpu, "x86_64"));
  CHECK(matrix_rate("sm_80") == 2048);
  CHECK(matrix_rate("sm_90") == 4096);
  // AMD's figures: 1307.4 TFLOPS of a MI300X with 304 CUs at 2.1 GHz, 2.5 PFLOPS of a MI355X with
  // 256 CUs at 2.4 GHz, 2.3 PFLOPS of a MI350X at 2.2 GHz.
  CHECK(matrix_rate("gfx942:sramecc+:xnack-").value_or(0) * 304 * 2.1e9 ==
        doctest::Approx(1307.4e12).epsilon(0.0001));
  CHECK(matrix_rate("gfx950").value_or(0) * 256 * 2.4e9 == doctest::Approx(2.5e15).epsilon(0.01));
  CHECK(matrix_rate("gfx950").value_or(0) * 256 * 2.2e9 == doctest::Approx(2.3e15).epsilon(0.01));
  CHECK(!matrix_rate("gfx90a"));
  CHECK(!matrix_rate("sm_75"));
  CHECK(!matrix_rate("sm_120"));
}

TEST_CASE(
    "multiply-adds of 16 bits are missing where there is no instruction, and the reason says it") {
  const auto has = [](Platform platform, const char* arch, const char* dtype) {
    return missing_multiply_add(platform, arch, dtype).empty();
  };
  for (const char* const dtype : {"f32", "f64", "i32"}) {
    CHECK(has(Platform::nvidia, "sm_35", dtype));
    CHECK(has(Platform::amd, "gfx803", dtype));
  }
  CHECK(has(Platform::cpu, "x86_64", "f16"));
  CHECK(has(Platform::cpu, "x86_64", "bf16"));
  CHECK(has(Platform::nvidia, "sm_53", "f16"));
  CHECK(has(Platform::nvidia, "sm_60", "f16"));
  CHECK(has(Platform::nvidia, "sm_80", "bf16"));
  CHECK(has(Platform::nvidia, "sm_90a", "bf16"));
  CHECK(has(Platform::nvidia, "sm_120", "bf16"));
  CHECK(has(Platform::amd, "gfx900", "f16"));
  CHECK(has(Platform::amd, "gfx90a:xnack-", "f16"));
  CHECK(has(Platform::amd, "gfx1201", "f16"));
  CHECK(missing_multiply_add(Platform::nvidia, "sm_52", "f16") ==
        "sm_52 has no multiply-adds of f16; sm_53 and later have");
  CHECK(missing_multiply_add(Platform::nvidia, "sm_75", "bf16") ==
        "sm_75 has no multiply-adds of bf16; sm_80 and later have");
  CHECK(missing_multiply_add(Platform::amd, "gfx803", "f16") ==
        "gfx803 has no packed multiply-adds of f16; gfx900 and later have");
  CHECK(missing_multiply_add(Platform::amd, "gfx942", "bf16") ==
        "no AMD GPU up to gfx1201 has multiply-adds of bf16");
}
