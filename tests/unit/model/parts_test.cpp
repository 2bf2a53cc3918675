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
  for (const std::string& name :
       {digest, "blobs/" + digest + ".gguf", "sha256-" + digest.substr(1), "sha1-" + digest,
        "blobs/" + std::string(40, 'a'), "blobs/" + std::string(64, 'A'),
        "blobs/" + std::string(64, 'g'), "sha256-" + digest + "-partial"}) {
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
