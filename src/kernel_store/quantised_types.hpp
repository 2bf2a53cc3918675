// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

namespace hiptool::kernel_store {

/// A quantised type of GGUF that hiptool_dequantize supports: every type that ggml
/// converts to f32 (ggml.c, type_traits: those with `to_float`); Q8_1 and Q8_K, which ggml only
/// uses for intermediate results and never converts back, have no kernel.
struct QuantisedType {
  std::string_view name;  ///< as ggml writes it, in lower case
  std::uint32_t id;       ///< ggml's number
  std::uint32_t values;   ///< of one block
  std::uint32_t bytes;    ///< of one block
  /// Offsets of 16-bit scales in a block; ~0: none.
  std::uint32_t scale = 0;
  std::uint32_t second_scale = ~0u;
};

inline constexpr QuantisedType quantised_types[] = {
    {"q4_0", 2, 32, 18},         {"q4_1", 3, 32, 20, 0, 2},    {"q5_0", 6, 32, 22},
    {"q5_1", 7, 32, 24, 0, 2},   {"q8_0", 8, 32, 34},          {"q2_k", 10, 256, 84, 80, 82},
    {"q3_k", 11, 256, 110, 108}, {"q4_k", 12, 256, 144, 0, 2}, {"q5_k", 13, 256, 176, 0, 2},
    {"q6_k", 14, 256, 210, 208}, {"iq2_xxs", 16, 256, 66},     {"iq2_xs", 17, 256, 74},
    {"iq3_xxs", 18, 256, 98},    {"iq1_s", 19, 256, 50},       {"iq4_nl", 20, 32, 18},
    {"iq3_s", 21, 256, 110},     {"iq2_s", 22, 256, 82},       {"iq4_xs", 23, 256, 136},
    {"iq1_m", 29, 256, 56, 54},  // the upper byte of its scale
    {"tq1_0", 34, 256, 54, 52},  {"tq2_0", 35, 256, 66, 64},   {"mxfp4", 39, 32, 17, ~0u},
    {"nvfp4", 40, 64, 36, ~0u},  {"q1_0", 41, 128, 18},        {"q2_0", 42, 64, 18},
};

}  // namespace hiptool::kernel_store
