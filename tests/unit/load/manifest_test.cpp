// SPDX-License-Identifier: MIT
#include "load/manifest.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/digest.hpp"
#include "small_model.hpp"

using namespace hiptool;
using load::Manifest;

namespace {

std::vector<std::byte> text_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Two tensors, one with a colon, of one file with a colon.
struct Fixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = test::write_small_model(
      folder.path() / "m:1.safetensors", {{"a:b", text_bytes("12345")}, {"c", text_bytes("xyz")}});
  ModelFile model = ModelFile::open(path);
  std::vector<std::uint64_t> digests{0x11, 0x22};
  Manifest good;
  load::FileHashes::Hashes hashes{{}, {"cc"}, {"aa", "bb"}};

  Fixture() {
    good.path = "manifest";
    good.digest = base::to_hex(load::model_digest(model, load::digest_order(model), digests));
    good.tensors = {{"a:b", "U8", {5}, 5, base::to_hex(0x11)},
                    {"c", "U8", {3}, 3, base::to_hex(0x22)}};
    good.kind = load::HashKind::xxh64;
    good.lines = {{"aa", "x/m:1.safetensors:a:b", 1},
                  {"bb", "m:1.safetensors:c", 2},
                  {"cc", "/y/m:1.safetensors", 3}};
  }

  std::string digest_failure() const {
    try {
      load::check_digests(good, model, digests);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::manifest_mismatch);
      CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
      return error.what();
    }
    return {};
  }
  std::string line_failure() const {
    try {
      load::check_hashes(good, model, hashes);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::manifest_mismatch);
      return error.what();
    }
    return {};
  }
};

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a manifest like the model") {
  CHECK(digest_failure().empty());
  std::swap(good.tensors[0], good.tensors[1]);  // the order does not count
  CHECK(digest_failure().empty());
}

TEST_CASE_FIXTURE(Fixture, "each difference of digests is told") {
  SUBCASE("another digest") {
    good.tensors[1].digest = base::to_hex(0x23);
    CHECK(has(digest_failure(), "'c'"));
    CHECK(has(digest_failure(), "0000000000000022"));
    CHECK_FALSE(has(digest_failure(), "other difference"));
  }
  SUBCASE("another type") {
    good.tensors[0].dtype = "I8";
    CHECK(has(digest_failure(), "type U8, the manifest I8"));
  }
  SUBCASE("another shape of the same size") {
    good.tensors[0].shape = {1, 5};
    CHECK(has(digest_failure(), "shape [5], the manifest [1, 5]"));
  }
  SUBCASE("another shape of the same rank") {
    good.tensors[0].shape = {4};
    CHECK(has(digest_failure(), "shape [5], the manifest [4]"));
  }
  SUBCASE("another model digest follows from it and is not told") {
    digests[1] = 0x23;
    CHECK(has(digest_failure(), "'c'"));
    CHECK_FALSE(has(digest_failure(), "other difference"));
  }
  SUBCASE("another size") {
    good.tensors[0].bytes = 6;
    CHECK(has(digest_failure(), "5 bytes, the manifest 6"));
  }
  SUBCASE("a tensor more") {
    good.tensors.push_back({"d", "U8", {1}, 1, base::to_hex(1)});
    CHECK(has(digest_failure(), "it has no tensor 'd'"));
  }
  SUBCASE("a tensor less") {
    good.tensors.pop_back();
    CHECK(has(digest_failure(), "the manifest has no tensor 'c'"));
  }
  SUBCASE("a tensor twice") {
    good.tensors.push_back(good.tensors.front());
    CHECK(has(digest_failure(), "'a:b' twice"));
  }
  SUBCASE("another digest of the model alone") {
    good.digest = base::to_hex(0);
    CHECK(has(digest_failure(), "the model has digest"));
  }
  SUBCASE("all of them") {
    good.tensors[0].dtype = "I8";
    good.tensors[1].bytes = 9;
    CHECK(has(digest_failure(), "(and 1 other difference)"));
    good.tensors.push_back({"d", "U8", {1}, 1, base::to_hex(1)});
    CHECK(has(digest_failure(), "(and 2 other differences)"));
  }
}

TEST_CASE_FIXTURE(Fixture, "lines like the files, in any folder and with colons in names") {
  CHECK(line_failure().empty());
  CHECK(load::has_chains(good, model));
  good.lines.pop_back();
  CHECK(line_failure().empty());
  CHECK_FALSE(load::has_chains(good, model));
  good.lines.push_back({"99", "another.gguf:c", 3});  // another model's
  good.lines.push_back({"99", "another.gguf", 4});
  CHECK(line_failure().empty());
  CHECK_FALSE(load::has_chains(good, model));
}

TEST_CASE_FIXTURE(Fixture, "each difference of lines is told") {
  SUBCASE("another hash") {
    good.lines[0].hash = "ab";
    CHECK(has(line_failure(), "'a:b'"));
  }
  SUBCASE("another hash of the whole") {
    good.lines[2].hash = "ab";
    CHECK(has(line_failure(), "the whole of the tensors in"));
  }
  SUBCASE("a tensor more") {
    good.lines[1].name = "m:1.safetensors:d";
    CHECK(has(line_failure(), "there is no tensor 'd'"));
  }
  SUBCASE("a tensor less") {
    good.lines = {good.lines[0]};
    CHECK(has(line_failure(), "neither the tensor 'c' nor the whole"));
  }
  SUBCASE("other files only") {
    for (auto& line : good.lines) line.name = "n" + line.name.substr(line.name.rfind('/') + 1);
    CHECK(has(line_failure(), "none of the model's files, but 'nm:1.safetensors:a:b'"));
  }
}
