// SPDX-License-Identifier: MIT
/// What the conversions of dtype.hpp give, as raw numbers for number_formats.py.
///
/// Usage: number_formats decode    writes the floats of all f16, bf16 and f8e4m3 codes
///        number_formats encode    reads floats; writes all of them as f16, then as bf16, then as
///                                 f8e4m3 that saturates, then as f8e4m3 that does not
#include <cstdio>
#include <cstring>
#include <vector>

#include "hiptool/dtype.hpp"

namespace {

using namespace hiptool;

template <class Value>
bool write(const std::vector<Value>& values) {
  return std::fwrite(values.data(), sizeof(Value), values.size(), stdout) == values.size();
}

template <class Number>
bool decode(std::uint32_t codes) {
  std::vector<float> values;
  for (std::uint32_t code = 0; code < codes; ++code) {
    values.push_back(to_float(Number{static_cast<decltype(Number::bits)>(code)}));
  }
  return write(values);
}

bool encode() {
  std::vector<Half> halves;
  std::vector<BFloat16> bfloats;
  std::vector<Float8E4M3> saturated;
  std::vector<Float8E4M3> strict;
  float value = 0;
  while (std::fread(&value, sizeof(value), 1, stdin) == 1) {
    halves.push_back(to_half(value));
    bfloats.push_back(to_bfloat16(value));
    saturated.push_back(to_float8_e4m3(value));
    strict.push_back(to_float8_e4m3(value, Float8Overflow::to_nan));
  }
  return write(halves) && write(bfloats) && write(saturated) && write(strict);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "encode") == 0) return encode() ? 0 : 1;
  return decode<Half>(65'536) && decode<BFloat16>(65'536) && decode<Float8E4M3>(256) ? 0 : 1;
}
