// SPDX-License-Identifier: MIT
#include "model/token_text.hpp"

#include <array>
#include <string_view>

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace hiptool::model {
namespace {

// The byte that each of the characters from U+0000 to U+0143 stands for: visible ones of Latin-1
// for themselves, those from U+0100 on for the others in their order.
std::array<int, 0x144> gpt2_bytes() {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  std::size_t other = 0x100;
  for (int byte = 0; byte < 0x100; ++byte) {
    const bool is_visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    bytes[is_visible ? static_cast<std::size_t>(byte) : other++] = byte;
  }
  return bytes;
}

std::string bytes_of_gpt2(std::string_view token) {
  static const std::array<int, 0x144> bytes = gpt2_bytes();
  std::string text;
  while (!token.empty()) {
    const base::CodePoint point = base::first_code_point(token);
    const std::size_t length = point.bytes == 0 ? 1 : point.bytes;
    const bool is_byte = point.bytes > 0 && point.value < bytes.size() && bytes[point.value] >= 0;
    if (is_byte) {
      text += static_cast<char>(bytes[point.value]);
    } else {
      text += token.substr(0, length);  // a special token
    }
    token.remove_prefix(length);
  }
  return text;
}

std::string bytes_of_sentencepiece(std::string_view token) {
  if (token.size() == 6 && token.substr(0, 3) == "<0x" && token.back() == '>') {
    const auto byte = base::parse_number<unsigned char>(token.substr(3, 2), 16);
    if (byte) return std::string(1, static_cast<char>(*byte));
  }
  constexpr std::string_view space = "\xe2\x96\x81";
  std::string text(token);
  for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at)) {
    text.replace(at, space.size(), " ");
  }
  return text;
}

std::string well_formed(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = base::first_code_point(bytes).bytes;
    if (length == 0) {
      text += "\xef\xbf\xbd";
      bytes.remove_prefix(1);
      continue;
    }
    text += bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace

std::optional<std::string> token_text(const ModelFile& model, std::span<const std::uint32_t> ids) {
  const auto kind = model.text("tokenizer.ggml.model");
  if (kind != "gpt2" && kind != "llama") return std::nullopt;
  std::string bytes;
  for (const std::uint32_t id : ids) {
    const auto found = model.texts("tokenizer.ggml.tokens", id, 1);
    if (!found || found->empty()) return std::nullopt;
    bytes +=
        kind == "gpt2" ? bytes_of_gpt2(found->front()) : bytes_of_sentencepiece(found->front());
  }
  return well_formed(bytes);
}

}  // namespace hiptool::model
