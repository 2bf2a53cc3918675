// SPDX-License-Identifier: MIT
#include "model/element_types.hpp"

#include <algorithm>

namespace hiptool::model {
namespace {

// By ggml's numbers (ggml.h `enum ggml_type` of August 2026).
constexpr std::array<GgufType, 43> gguf_table = [] {
  std::array<GgufType, 43> types{};
  const auto add = [&](std::uint32_t id, std::string_view name, std::uint32_t block_elements,
                       std::uint32_t block_bytes, ScaleFormat format, std::uint16_t scale_at = 0,
                       std::uint16_t scale_count = 1) {
    types[id].entry = {name, block_elements, block_bytes * 8};
    types[id].format = format;
    types[id].scale_at = scale_at;
    types[id].scale_count = scale_count;
  };
  for (std::uint32_t id = 0; id < types.size(); ++id) types[id].id = id;
  using enum ScaleFormat;
  add(0, "F32", 1, 4, single);
  add(1, "F16", 1, 2, half);
  add(24, "I8", 1, 1, none);
  add(25, "I16", 1, 2, none);
  add(26, "I32", 1, 4, none);
  add(27, "I64", 1, 8, none);
  add(28, "F64", 1, 8, f64);
  add(30, "BF16", 1, 2, half);
  // ggml keeps intermediate results in these and never converts them back.
  add(9, "Q8_1", 32, 36, half, 0, 2);
  add(15, "Q8_K", 256, 292, single);
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, format, at, count) \
  add(number, text, values, bytes, format, at, count);
#include <hiptool_quantised.def>
  return types;
}();

constexpr std::uint64_t all = ~std::uint64_t{0};
constexpr std::uint64_t in_each_byte(std::uint64_t byte) { return 0x0101010101010101u * byte; }
constexpr std::uint64_t no_top_exponent_16 = 0xBFFFBFFFBFFFBFFFu;
constexpr std::uint64_t no_top_exponent_32 = 0xBFFFFFFFBFFFFFFFu;
constexpr std::uint64_t no_top_exponent_64 = 0xBFFFFFFFFFFFFFFFu;

// The dtypes of the safetensors reference reader (`enum Dtype`, tensor.rs).
constexpr std::array<SafetensorsType, 22> safetensors_table{{
    {{"BOOL", 1, 8}, in_each_byte(0x01), 0},
    {{"U8", 1, 8}, all, 0},
    {{"I8", 1, 8}, all, 0},
    {{"F8_E5M2", 1, 8}, in_each_byte(0xBF), 0},
    {{"F8_E4M3", 1, 8}, in_each_byte(0xBF), 0},
    {{"F8_E8M0", 1, 8}, in_each_byte(0x7F), 0},
    // The FNUZ types have one NaN, 0x80; an odd byte is never that.
    {{"F8_E4M3FNUZ", 1, 8}, in_each_byte(0xBF), in_each_byte(0x01)},
    {{"F8_E5M2FNUZ", 1, 8}, in_each_byte(0xBF), in_each_byte(0x01)},
    {{"I16", 1, 16}, all, 0},
    {{"U16", 1, 16}, all, 0},
    {{"F16", 1, 16}, no_top_exponent_16, 0},
    {{"BF16", 1, 16}, no_top_exponent_16, 0},
    {{"I32", 1, 32}, all, 0},
    {{"U32", 1, 32}, all, 0},
    {{"F32", 1, 32}, no_top_exponent_32, 0},
    {{"I64", 1, 64}, all, 0},
    {{"U64", 1, 64}, all, 0},
    {{"F64", 1, 64}, no_top_exponent_64, 0},
    {{"C64", 1, 64}, no_top_exponent_32, 0},
    {{"F6_E2M3", 1, 6}, all, 0},
    {{"F6_E3M2", 1, 6}, all, 0},
    {{"F4", 1, 4}, all, 0},
}};

struct NamedId {
  std::uint32_t id;
  std::string_view name;
};

// Of ggml's history; I2_S of BitNet.cpp has an id that ggml gave up.
constexpr std::array<NamedId, 8> removed_types{{{4, "Q4_2"},
                                                {5, "Q4_3"},
                                                {31, "Q4_0_4_4"},
                                                {32, "Q4_0_4_8"},
                                                {33, "Q4_0_8_8"},
                                                {36, "IQ4_NL_4_4, or I2_S of BitNet.cpp"},
                                                {37, "IQ4_NL_4_8"},
                                                {38, "IQ4_NL_8_8"}}};

// ik_llama.cpp's `enum ggml_type` (ggml.h), those with rows of their own.
constexpr std::array<NamedId, 24> ik_types{
    {{133, "Q6_0"},    {134, "IQ1_BN"},  {135, "IQ2_BN"}, {136, "Q8_K64"}, {137, "IQ2_K"},
     {138, "IQ3_K"},   {139, "IQ4_K"},   {140, "IQ5_K"},  {141, "IQ6_K"},  {144, "IQ4_KS"},
     {145, "IQ2_KS"},  {146, "IQ4_KSS"}, {147, "Q8_K16"}, {148, "Q8_K32"}, {149, "Q8_KR8"},
     {150, "Q8_K128"}, {151, "Q8_KV"},   {152, "IQ5_KS"}, {153, "IQ2_KT"}, {154, "IQ3_KT"},
     {155, "IQ4_KT"},  {156, "IQ3_KS"},  {157, "IQ2_KL"}, {158, "IQ1_KT"}}};

}  // namespace

std::span<const GgufType> gguf_types() noexcept { return gguf_table; }

const GgufType* find_gguf_type(std::uint32_t id) noexcept {
  if (id >= gguf_table.size() || gguf_table[id].entry.name.empty()) return nullptr;
  return &gguf_table[id];
}

const GgufType* find_gguf_type(std::string_view name) noexcept {
  for (const GgufType& candidate : gguf_table) {
    if (!name.empty() && candidate.entry.name == name) return &candidate;
  }
  return nullptr;
}

// Clearing the top bit of an exponent leaves a finite number below 2: the high byte of an F16, F32
// or F64 keeps all but 0x40.
std::array<ByteMask, 4> GgufType::scale_masks() const {
  std::array<ByteMask, 4> masks{};
  for (std::uint16_t i = 0; i < scale_count; ++i) {
    const auto high_byte = [&](int size_bytes) {
      return static_cast<std::uint16_t>(scale_at + (i + 1) * size_bytes - 1);
    };
    switch (format) {
      case ScaleFormat::none: break;
      case ScaleFormat::half: masks[i] = {high_byte(2), 0xBF}; break;
      case ScaleFormat::single: masks[i] = {high_byte(4), 0xBF}; break;
      case ScaleFormat::f64:
      case ScaleFormat::spread_half: masks[i] = {high_byte(8), 0xBF}; break;
      case ScaleFormat::e8m0: masks[i] = {high_byte(1), 0x7F}; break;   // 0xFF is NaN
      case ScaleFormat::ue4m3: masks[i] = {high_byte(1), 0x3F}; break;  // 0x7F and 0xFF are NaN
    }
  }
  return masks;
}

TypeRefusal refusal_of_gguf_type(std::uint32_t id) {
  const std::string opaque = "; --opaque takes the tensor as plain bytes";
  const auto by_id = [id](const NamedId& named) { return named.id == id; };
  if (const auto found = std::ranges::find_if(removed_types, by_id); found != removed_types.end()) {
    return {"(" + std::string(found->name) + ") was removed from ggml",
            "download or quantize the model again as Q4_0 or IQ4_NL, which llama.cpp repacks when "
            "it loads" +
                opaque};
  }
  const auto found = std::ranges::find_if(ik_types, by_id);
  // The ranges of its types with interleaved rows.
  const bool is_interleaved = (id >= 202 && id <= 233) || (id >= 335 && id <= 399);
  if (found != ik_types.end() || is_interleaved) {
    const std::string name = found == ik_types.end() ? "" : "(" + std::string(found->name) + ") ";
    return {name + "is a type of ik_llama.cpp, which ggml and llama.cpp do not have",
            "use ik_llama.cpp, or download the model in a type of llama.cpp such as Q4_K_M or "
            "IQ4_XS" +
                opaque};
  }
  return {"is not a tensor type of ggml",
          "update hiptool if the type is new; else download the model in another type" + opaque};
}

std::span<const SafetensorsType> safetensors_types() noexcept { return safetensors_table; }

const SafetensorsType* find_safetensors_type(std::string_view name) noexcept {
  for (const SafetensorsType& candidate : safetensors_table) {
    if (candidate.entry.name == name) return &candidate;
  }
  return nullptr;
}

}  // namespace hiptool::model
