// SPDX-License-Identifier: MIT
#include "model/parts.hpp"

#include <doctest/doctest.h>

#include "builders.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("published digests stand in names and in what links lead to") {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() / name; };
  const std::string digest = "0123456789abcdef" + std::string(48, '7');
  CHECK(model::published_sha256("sha256-" + digest) == digest);
  CHECK(model::published_sha256("sha256:" + digest) == digest);
  CHECK(model::published_sha256("blobs/" + digest) == digest);
  CHECK(model::published_sha256("models/blobs/sha256/" + digest) == digest);
  for (const std::string& name :
       {digest, "sha256/" + digest, "manifests/sha256/" + digest, "blobs/" + digest + ".gguf",
        "sha256-" + digest.substr(1), "sha1-" + digest, "blobs/" + std::string(40, 'a'),
        "blobs/" + std::string(64, 'A'), "blobs/" + std::string(64, 'g'),
        "sha256-" + digest + "-partial"}) {
    CAPTURE(name);
    CHECK_FALSE(model::published_sha256(name).has_value());
  }
  std::filesystem::create_symlink("blobs/" + digest, path("link"));
  std::filesystem::create_symlink("link", path("second"));
  CHECK(model::published_sha256(path("second")) == digest);
  std::filesystem::create_symlink("loop", path("loop"));
  CHECK_FALSE(model::published_sha256(path("loop")).has_value());
  CHECK_FALSE(model::published_sha256(path("absent")).has_value());
}

TEST_CASE("a download into a folder leaves a digest beside it") {
  const TemporaryFolder folder;
  const std::string digest = "0123456789abcdef" + std::string(48, '7');
  const auto note = [&](const std::string& path, const std::string& text) {
    const auto beside =
        folder.path() / ".cache" / "huggingface" / "download" / (path + ".metadata");
    std::filesystem::create_directories(beside.parent_path());
    write_file(beside, text);
  };
  const auto found = [&](const std::string& path) {
    return model::downloaded_sha256(folder.path() / path);
  };
  note("m.gguf", "commit\n" + digest + "\n1700000000.25\n");
  note("sub/folder/m.gguf", "commit\n" + digest);
  note("small.json", "commit\n" + std::string(40, 'a') + "\n1\n");
  note("short", "commit");
  note("later", "commit\n\n" + digest + "\n");
  CHECK(found("m.gguf") == digest);
  CHECK(found("sub/folder/m.gguf") == digest);
  CHECK(found("sub/./folder/../folder/m.gguf") == digest);
  for (const char* name : {"small.json", "short", "later", "absent", "sub/m.gguf", ""}) {
    CAPTURE(std::string(name));
    CHECK_FALSE(found(name).has_value());
  }
}

TEST_CASE("why a path cannot be opened") {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() / name; };
  write_file(path("there"), "x");
  CHECK_FALSE(model::why_missing(path("there")).has_value());
  CHECK(model::why_missing(path("absent")) == "it is missing");
  std::filesystem::create_symlink("gone", path("link"));
  CHECK(model::why_missing(path("link")) ==
        "it is a link to " + path("gone").string() + ", which is missing");
}
