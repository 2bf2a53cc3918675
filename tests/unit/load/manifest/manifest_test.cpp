// SPDX-License-Identifier: MIT
#include "load/manifest/manifest.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "small_model.hpp"

using namespace hiptool;
using load::Manifest;

namespace {

std::vector<std::byte> text_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Two tensors, one with a colon, of one file with a colon.
struct ManifestFixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = test::write_small_model(
      folder.path() / "m:1.safetensors", {{"a:b", text_bytes("12345")}, {"c", text_bytes("xyz")}});
  ModelFile model = ModelFile::open(path);
  std::vector<std::uint64_t> digests{0x11, 0x22};
  Manifest good;
  load::FileHashes::Hashes hashes{{"cc"}, {"aa", "bb"}, {}, {}};
  std::vector<load::FileHashes::Metadata> metadata{{200, "md", "ms"}};
  std::vector<std::string> sha256{"s0", "s1"};

  ManifestFixture() {
    good.path = "manifest";
    good.digest = base::to_hex(load::model_digest(model, load::digest_order(model), digests));
    good.tensors = {{"a:b", "U8", {5}, 5, base::to_hex(0x11)},
                    {"c", "U8", {3}, 3, base::to_hex(0x22)}};
    good.kind = load::HashKind::xxh64;
    good.lines = {{"aa", "x/m:1.safetensors:a:b", 1},
                  {"bb", "m:1.safetensors:c", 2},
                  {"cc", "/y/m:1.safetensors", 3}};
  }

  std::vector<load::ManifestDifference> digest_differences() const {
    return load::compare_digests(good, model, {digests, sha256, metadata});
  }
  std::string digest_failure() const { return message(digest_differences()); }
  std::string line_failure() const { return message(load::compare_hashes(good, model, hashes)); }
  std::string message(const std::vector<load::ManifestDifference>& differences) const {
    if (differences.empty()) return {};
    const Error error = load::manifest_error(good, model, differences);
    CHECK(error.code() == ErrorCode::manifest_mismatch);
    CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
    return error.what();
  }
};

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(ManifestFixture, "a manifest like the model") {
  CHECK(digest_failure().empty());
  std::swap(good.tensors[0], good.tensors[1]);  // the order does not count
  CHECK(digest_failure().empty());
}

TEST_CASE_FIXTURE(ManifestFixture, "each difference of digests is told") {
  SUBCASE("another digest") {
    good.tensors[1].digest = base::to_hex(0x23);
    CHECK(has(digest_failure(), "'c'"));
    CHECK(has(digest_failure(), "0000000000000022"));
    CHECK(digest_differences().size() == 1);
  }
  SUBCASE("another type") {
    good.tensors[0].dtype = "I8";
    CHECK(has(digest_failure(), "type is U8, the manifest has I8"));
  }
  SUBCASE("another shape of the same size") {
    good.tensors[0].shape = {1, 5};
    CHECK(has(digest_failure(), "shape is [5], the manifest has [1, 5]"));
  }
  SUBCASE("another shape of the same rank") {
    good.tensors[0].shape = {4};
    CHECK(has(digest_failure(), "shape is [5], the manifest has [4]"));
  }
  SUBCASE("another model digest follows from it and is not told") {
    digests[1] = 0x23;
    CHECK(has(digest_failure(), "'c'"));
    CHECK(digest_differences().size() == 1);
  }
  SUBCASE("another size") {
    good.tensors[0].bytes = 6;
    CHECK(has(digest_failure(), "bytes is 5, the manifest has 6"));
  }
  SUBCASE("a tensor more") {
    good.tensors.push_back({"d", "U8", {1}, 1, base::to_hex(1)});
    CHECK(has(digest_failure(), "tensor 'd' is only in the manifest"));
  }
  SUBCASE("a tensor less") {
    good.tensors.pop_back();
    CHECK(has(digest_failure(), "tensor 'c' of " + path.string() + " is only in the model"));
  }
  SUBCASE("another digest of the model alone") {
    good.digest = base::to_hex(0);
    CHECK(has(digest_failure(), "the model: digest is"));
  }
  SUBCASE("all of them") {
    good.tensors[0].dtype = "I8";
    good.tensors[1].bytes = 9;
    good.tensors[1].shape = {9};
    good.tensors.push_back({"d", "U8", {1}, 1, base::to_hex(1)});
    const auto found = digest_differences();
    REQUIRE(found.size() == 4);
    CHECK(found[0].what == "type");
    CHECK(found[0].tensor == "a:b");
    CHECK(found[0].file == path.string());
    CHECK(found[0].expected == "I8");
    CHECK(found[0].got == "U8");
    CHECK(found[1].what == "shape");
    CHECK(found[2].what == "bytes");
    CHECK(found[3].what == "tensor");
    CHECK(found[3].tensor == "d");
    CHECK(found[3].file.empty());
    CHECK(found[3].got == "absent");
  }
}

TEST_CASE_FIXTURE(ManifestFixture, "lines like the files, in any folder and with colons in names") {
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

TEST_CASE_FIXTURE(ManifestFixture, "each difference of lines is told") {
  SUBCASE("another hash") {
    good.lines[0].hash = "ab";
    CHECK(has(line_failure(), "'a:b'"));
  }
  SUBCASE("another hash of the whole") {
    good.lines[2].hash = "ab";
    CHECK(has(line_failure(), "xxh64 of all its tensors"));
  }
  SUBCASE("a tensor more") {
    good.lines[1].name = "m:1.safetensors:d";
    CHECK(has(line_failure(), "tensor 'd' of " + path.string() + " is only in the manifest"));
  }
  SUBCASE("a tensor less") {
    good.lines = {good.lines[0]};
    CHECK(has(line_failure(), "tensor 'c' of " + path.string() + " is only in the model"));
  }
  SUBCASE("other files only") {
    for (auto& line : good.lines) line.name = "n" + line.name.substr(line.name.rfind('/') + 1);
    CHECK(
        has(line_failure(), "file name is m:1.safetensors, the manifest has nm:1.safetensors:a:b"));
  }
}

TEST_CASE_FIXTURE(ManifestFixture,
                  "metadata is compared by the order of the files, where it is covered") {
  metadata[0].xxh3 = "other";
  CHECK(digest_differences().empty());
  good.covers_metadata = true;
  good.metadata = {{"another name", 200, "md", {}}};
  const auto what = [&] {
    const auto found = digest_differences();
    REQUIRE(found.size() == 1);
    CHECK(found[0].tensor.empty());
    return found[0].what;
  };
  CHECK(what() == "metadata digest");
  CHECK(has(digest_failure(), path.string() + ": metadata digest is other, the manifest has md"));
  metadata[0].xxh3 = "md";
  CHECK(digest_differences().empty());
  good.metadata[0].sha256 = "mt";
  CHECK(what() == "metadata sha256");
  good.metadata[0].sha256 = "ms";
  CHECK(digest_differences().empty());
  good.metadata[0].bytes = 199;
  CHECK(what() == "metadata bytes");
  good.metadata.clear();
  CHECK(what() == "number of files");
}

TEST_CASE_FIXTURE(ManifestFixture, "SHA-256 is compared where the manifest has it") {
  good.tensors[0].sha256 = "s0";
  good.tensors[1].sha256 = "s1";
  CHECK(digest_differences().empty());
  sha256[1] = "forged";  // with the digest that is expected
  const auto found = digest_differences();
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "sha256");
  CHECK(found[0].tensor == "c");
}

TEST_CASE_FIXTURE(ManifestFixture,
                  "the message has ten differences at most and counts the others") {
  const auto lines_of = [&](std::size_t count) {
    const std::vector<load::ManifestDifference> found(count, {"t", {}, "digest", "1", "2"});
    const std::string text = message(found);
    CHECK(has(text, "... and") == (count > 10));
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  CHECK(lines_of(1) == 1);
  CHECK(lines_of(10) == 10);
  CHECK(lines_of(11) == 11);
  CHECK(lines_of(1000) == 11);
  CHECK(has(message(std::vector<load::ManifestDifference>(12, {"t", {}, "digest", "1", "2"})),
            "... and 2 more"));
}
