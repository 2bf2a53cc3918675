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
};

inline constexpr QuantisedType quantised_types[] = {
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...) {#name, number, values, bytes},
#include <hiptool_quantised.def>
};

}  // namespace hiptool::kernel_store
