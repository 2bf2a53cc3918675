// SPDX-License-Identifier: MIT
#include "base/sha256.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

using namespace hiptool;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hash(std::string_view text) {
  base::Sha256 hasher;
  hasher.add(bytes_of(text));
  return hasher.hex_digest();
}

}  // namespace

// The examples of FIPS 180-2, appendix B, and of NIST's SHA test vectors.
TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("pieces of any size are one text, and a hasher is as new afterwards") {
  const std::string text(1000, 'x');
  base::Sha256 hasher;
  for (const std::size_t piece : {1u, 63u, 64u, 65u, 200u}) {
    std::string_view rest = text;
    while (!rest.empty()) {
      hasher.add(bytes_of(rest.substr(0, piece)));
      rest.remove_prefix(std::min(piece, rest.size()));
    }
    CHECK(hasher.hex_digest() == hash(text));
  }
}
