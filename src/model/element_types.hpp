// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// One bit mask for one byte of a block; with it that byte's field cannot be infinite or NaN.
struct ByteMask {
  std::uint16_t offset = 0;
  std::uint8_t keep = 0xFF;
};

enum class ScaleFormat {
  none,
  half,    ///< F16, little-endian; also BF16, whose exponent has its top bit at the same place
  single,  ///< F32
  f64,
  spread_half,  ///< an F16 in the upper nibbles of four u16, the highest last
  e8m0,
  ue4m3,
};

/// A tensor type of ggml.
struct GgufType {
  std::uint32_t id = 0;
  ElementType::Entry entry{};  ///< name empty: the id was removed from ggml
  // Of the scales of a block, or the value of a plain type.
  ScaleFormat format = ScaleFormat::none;
  std::uint16_t scale_at = 0;  ///< byte at which the first one starts, the others follow it
  std::uint16_t scale_count = 0;

  std::array<ByteMask, 4> scale_masks() const;  ///< make the scales of random blocks finite
};

/// Every id below ggml's count, in order, with empty entries where ggml has removed one.
std::span<const GgufType> gguf_types() noexcept;
/// The live type of that id or name, or null.
const GgufType* find_gguf_type(std::uint32_t id) noexcept;
const GgufType* find_gguf_type(std::string_view name) noexcept;

/// Why the id is not read, "is IQ4_K of ik_llama.cpp, which ggml does not have", and what to do.
struct TypeRefusal {
  std::string cause;
  std::string hint;
};
TypeRefusal refusal_of_gguf_type(std::uint32_t id);

/// A dtype of safetensors. Its random words become finite numbers as `(word & keep) | set`.
struct SafetensorsType {
  ElementType::Entry entry{};
  std::uint64_t keep = ~std::uint64_t{0};
  std::uint64_t set = 0;
};

std::span<const SafetensorsType> safetensors_types() noexcept;
const SafetensorsType* find_safetensors_type(std::string_view name) noexcept;

}  // namespace hiptool::model
