// SPDX-License-Identifier: MIT
#include "load/manifest/manifest_text.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "hiptool/error.hpp"
#include "small_model.hpp"

using namespace hiptool;
using load::HashKind;
using load::Manifest;

namespace {

struct ManifestTextFixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "manifest";

  Manifest read(const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
    return load::read_manifest(path);
  }
  ErrorCode refuse(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
      return error.code();
    }
    CAPTURE(text);
    FAIL("it was taken");
    return ErrorCode::internal;
  }
};

const std::string zeros_16(16, '0');
const std::string zeros_64(64, '0');
const std::string head = R"({"schema":"hiptool.manifest/1","digest":"00000000000000ff",)";

}  // namespace

TEST_CASE("the name decides which form is written") {
  CHECK(load::manifest_kind_of_name("a.xxh64") == HashKind::xxh64);
  CHECK(load::manifest_kind_of_name("folder.json/a.b.sha256") == HashKind::sha256);
  CHECK(load::manifest_kind_of_name("a.xxh3") == HashKind::xxh3);
  for (const char* name : {"a.json", "a", ".sha256", "sha256", "a.sha1", "a.sha256/b", "a."}) {
    CAPTURE(std::string(name));
    CHECK_FALSE(load::manifest_kind_of_name(name).has_value());
  }
}

TEST_CASE_FIXTURE(ManifestTextFixture, "what was written is read again, whatever the names hold") {
  std::vector<test::SmallTensor> tensors{{"b", test::random_bytes(20, 1)},
                                         {"a \\\"\\\\ \\u0001\\n é:", test::random_bytes(3, 2)},
                                         {"", {}}};
  const ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  const std::vector<std::uint64_t> digests{1, 2, 3};
  const std::vector<load::FileHashes::Metadata> metadata{{77, zeros_16, zeros_64}};
  const std::vector<std::string> sha256(3, zeros_64);
  const Manifest manifest = read(load::digest_manifest(model, {digests, {}, metadata}));
  CHECK_FALSE(manifest.kind.has_value());
  CHECK_FALSE(manifest.has_sha256);
  CHECK(manifest.covers_metadata);
  REQUIRE(manifest.metadata.size() == 1);
  CHECK(manifest.metadata[0].file == "m.safetensors");
  CHECK(manifest.metadata[0].bytes == 77);
  REQUIRE(manifest.tensors.size() == 3);
  CHECK(load::compare_digests(manifest, model, {digests, {}, metadata}).empty());
  const std::vector<std::uint64_t> others{1, 2, 4};
  CHECK(load::compare_digests(manifest, model, {others, {}, metadata}).size() == 1);
  const Manifest strong = read(load::digest_manifest(model, {digests, sha256, metadata}));
  CHECK(strong.has_sha256);
  CHECK(strong.metadata[0].sha256 == zeros_64);
  CHECK(strong.tensors[2].sha256 == zeros_64);

  const load::FileHashes::Hashes hashes{{zeros_16}, {zeros_16, zeros_16, zeros_16}, {}, {}};
  try {
    load::hash_manifest(model, HashKind::xxh64, hashes);
    FAIL("a line cannot hold a line break");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
  }
}

TEST_CASE_FIXTURE(ManifestTextFixture, "lines") {
  const Manifest manifest =
      read("# note\n\nxxh64     " + zeros_16 + "  my model.gguf:a b\n" + "  xxh64\t" + zeros_16 +
           " m.gguf  -  Mismatch\r\n" + "sha1 0 x\n");
  CHECK(manifest.kind == HashKind::xxh64);
  REQUIRE(manifest.lines.size() == 2);
  CHECK(manifest.lines[0].name == "my model.gguf:a b");
  CHECK(manifest.lines[0].number == 3);
  CHECK(manifest.lines[1].name == "m.gguf");
  const Manifest strongest = read("xxh3 " + zeros_16 + " a\nxxh64 " + zeros_16 + " b\n");
  CHECK(strongest.kind == HashKind::xxh64);
  REQUIRE(strongest.lines.size() == 1);
  CHECK(strongest.lines[0].name == "b");
  CHECK(read("xxh64 " + zeros_16 + " b\nsha256 " + zeros_64 + " a\n").kind == HashKind::sha256);
}

TEST_CASE_FIXTURE(ManifestTextFixture, "bad lines") {
  for (const std::string& text :
       {"xxh64 " + zeros_16 + " m.gguf", "xxh64 " + zeros_64 + " m.gguf\n", std::string("xxh64\n"),
        "xxh64 " + zeros_16 + "\n", "sha256 " + zeros_16 + " m.gguf\n",
        std::string("xxh64 000000000000000G m\n"), std::string("xxh64 000000000000000A m\n")}) {
    CHECK(refuse(text) == ErrorCode::corrupt_data);
  }
  for (const std::string& text :
       {std::string(), std::string("\n\n"), std::string("sha1 00 m.gguf\n"), std::string(100, '\0'),
        std::string("xxh6 ") + zeros_16 + " m\n"}) {
    CHECK(refuse(text) == ErrorCode::input_failed);
  }
}

TEST_CASE_FIXTURE(ManifestTextFixture, "documents") {
  const Manifest manifest =
      read(" \n" + head +
           R"("more":[{}],"tensors":[{"name":"a","shape":[2,3],"bytes":7,"dtype":"F4",)"
           R"("digest":"0000000000000001","more":1}]})");
  CHECK(manifest.digest == "00000000000000ff");
  REQUIRE(manifest.tensors.size() == 1);
  CHECK(manifest.tensors[0].name == "a");
  CHECK(manifest.tensors[0].dtype == "F4");
  CHECK(manifest.tensors[0].shape == std::vector<std::uint64_t>{2, 3});
  CHECK(manifest.tensors[0].bytes == 7);
  CHECK(read(head + R"("tensors":[]})").tensors.empty());
}

TEST_CASE_FIXTURE(ManifestTextFixture, "a name or field that appears twice is refused") {
  const std::string a = R"({"name":"a","digest":"0000000000000001"})";
  const std::string file = R"({"digest":"0000000000000001"})";
  CHECK(read(head + R"("tensors":[)" + a + "]}").tensors.size() == 1);
  CHECK(read(head + R"("metadata":[)" + file + "," + file + R"(],"tensors":[]})").metadata.size() ==
        2);
  for (const std::string& text :
       {head + R"("tensors":[)" + a + "," + a + "]}",
        head + R"("tensors":[],"digest":"00000000000000ff"})",
        head + R"("tensors":[],"schema":"hiptool.manifest/1"})",
        head + R"("tensors":[],"metadata":[],"metadata":[]})",
        head + R"("tensors":[],"other":1,"other":2})",
        head + R"("tensors":[{"name":"a","name":"b","digest":"0000000000000001"}]})",
        head +
            R"("tensors":[{"name":"a","digest":"0000000000000001","digest":"0000000000000001"}]})",
        head + R"("tensors":[{"name":"a","digest":"0000000000000001","x":1,"x":1}]})",
        head + R"("tensors":[],"metadata":[{"digest":"0000000000000001","bytes":1,"bytes":1}]})",
        "xxh64 " + zeros_16 + " m.gguf:a\nxxh64 " + zeros_16 + " m.gguf:a\n"}) {
    CAPTURE(text);
    CHECK(refuse(text) == ErrorCode::corrupt_data);
  }
  // Of different hashes there may be one line each.
  CHECK(read("xxh64 " + zeros_16 + " m\nsha256 " + zeros_64 + " m\n").lines.size() == 1);
}

TEST_CASE_FIXTURE(ManifestTextFixture,
                  "SHA-256 is there for all or for none, and metadata may be missing") {
  const std::string with =
      R"({"name":"a","digest":"0000000000000001","sha256":")" + zeros_64 + "\"}";
  const std::string without = R"({"name":"b","digest":"0000000000000001"})";
  CHECK(read(head + R"("tensors":[)" + with + "]}").has_sha256);
  CHECK_FALSE(read(head + R"("tensors":[)" + without + "]}").has_sha256);
  CHECK_FALSE(read(head + R"("tensors":[)" + without + "]}").covers_metadata);
  CHECK(read(head + R"("metadata":[],"tensors":[]})").covers_metadata);
  for (const std::string& text :
       {head + R"("tensors":[)" + with + "," + without + "]}",
        head + R"("metadata":[{"digest":"0000000000000001"}],"tensors":[)" + with + "]}",
        head + R"("metadata":{},"tensors":[]})", head + R"("metadata":[{}],"tensors":[]})",
        head + R"("metadata":[{"digest":"1"}],"tensors":[]})",
        head + R"("tensors":[{"name":"a","digest":"0000000000000001","sha256":"00"}]})"}) {
    CAPTURE(text);
    CHECK(refuse(text) == ErrorCode::corrupt_data);
  }
}

TEST_CASE_FIXTURE(ManifestTextFixture, "bad documents") {
  const std::string tensor = R"({"name":"a","digest":"0000000000000001")";
  std::string deep = head + R"("tensors":[)" + tensor + R"(,"shape":[)";
  for (int i = 0; i < 65; ++i) deep += i == 0 ? "1" : ",1";
  for (const std::string& text :
       {std::string("{"), head + R"("tensors":[)", head + R"("tensors":{}})",
        head + R"("tensors":[1]})", head + R"("tensors":[{}]})", head + R"("tensors":[]} x)",
        head + R"("tensors":[],"tensors":[]})", head + R"("tensors":[)" + tensor + "]}",
        head + R"("tensors":[)" + tensor + R"(,"bytes":-1}]})",
        head + R"("tensors":[)" + tensor + R"(,"bytes":"1"}]})",
        head + R"("tensors":[)" + tensor + R"(,"shape":1}]})",
        head + R"("tensors":[)" + tensor + R"(,"shape":[0.5]}]})",
        head + R"("tensors":[{"name":"a"}]})", head + R"("tensors":[{"name":1}]})",
        head + R"("tensors":[{"digest":"0000000000000001"}]})",
        head + R"("tensors":[{"name":"a","digest":"1"}]})", deep + "]}]}",
        std::string(R"({"schema":"hiptool.manifest/1","tensors":[]})"),
        std::string(R"({"schema":"hiptool.manifest/1","digest":"00000000000000ff"})")}) {
    CHECK(refuse(text) == ErrorCode::corrupt_data);
  }
  for (const char* text : {"{}", R"({"schema":"hiptool.load/1"})", R"({"tensors":[]})"}) {
    CHECK(refuse(text) == ErrorCode::input_failed);
  }
}

TEST_CASE_FIXTURE(ManifestTextFixture, "a model given for a manifest is not read into memory") {
  for (const char* start : {"{", "xxh64 "}) {
    std::ofstream(path, std::ios::binary) << start;
    std::filesystem::resize_file(path, (std::uint64_t{256} << 20) + 1);
    try {
      load::read_manifest(path);
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::input_failed);
      CHECK(std::string(error.what()).find("too large") != std::string::npos);
    }
  }
}
