// SPDX-License-Identifier: MIT
#include "model/token_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "builders.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t gguf_text = 8;
constexpr std::uint32_t gguf_array = 9;

std::optional<std::string> text_of(const char* tokenizer, const std::vector<std::string>& tokens,
                                   const std::vector<std::uint32_t>& ids) {
  const TemporaryFolder folder;
  Bytes list;
  list.u32(gguf_text).u64(tokens.size());
  for (const std::string& token : tokens) list.text(token);
  Gguf file;
  file.architecture()
      .pair("tokenizer.ggml.model", gguf_text, Bytes().text(tokenizer))
      .pair("tokenizer.ggml.tokens", gguf_array, list);
  return model::token_text(ModelFile::open(write_file(folder / "m.gguf", file.bytes())), ids);
}

}  // namespace

TEST_CASE("tokens of byte-level BPE are bytes written as characters") {
  // U+0120 is a space, U+010A a line feed; U+00C3 U+00A9 are the bytes of e with an accent, U+00AD
  // is written as U+0143.
  const std::vector<std::string> tokens{"\xc4\xa0Paris",    ".",        "\xc4\x8a",
                                        "\xc3\x83\xc2\xa9", "\xc3\x83", "\xc3\x82\xc5\x83",
                                        "<|im_end|>"};
  CHECK(text_of("gpt2", tokens, {0, 1, 2, 3, 6}) == " Paris.\n\xc3\xa9<|im_end|>");
  CHECK(text_of("gpt2", tokens, {4, 1}) == "\xef\xbf\xbd.");
  CHECK(text_of("gpt2", tokens, {5}) == "\xc2\xad");
  CHECK(text_of("gpt2", tokens, {7}) == std::nullopt);
  CHECK(text_of("bert", tokens, {0}) == std::nullopt);
}

TEST_CASE("tokens of SentencePiece have a character for spaces, and bytes") {
  const std::vector<std::string> tokens{"\xe2\x96\x81the\xe2\x96\x81", "<0x0A>", "<0xC3>", "<0xA9>",
                                        "<0xZZ>"};
  CHECK(text_of("llama", tokens, {0, 1, 2, 3}) == " the \n\xc3\xa9");
  CHECK(text_of("llama", tokens, {4}) == "<0xZZ>");
}
