// SPDX-License-Identifier: MIT
#include "model/file_kind.hpp"

#include <doctest/doctest.h>

#include "refusal.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("files that are no model are named for what they are") {
  check_refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "input_failed",
                "Git LFS pointer");
  check_refused("<!DOCTYPE html><html></html>", "input_failed", "web page");
  check_refused("\n  <HTML><body>error</body>", "input_failed", "web page");
  check_refused(R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})", "input_failed",
                "JSON text");
  check_refused("[]", "input_failed", "JSON text");
  check_refused("PK\x03\x04 archive/data.pkl", "input_failed", "zip archive");
  check_refused("\x80\x02\x8a\x0alFFFFFFF", "input_failed", "pickle");
  check_refused("\x1f\x8b\x08gggggggggg", "input_failed", "gzip");
  check_refused("(\xb5/\xfdzzzzzzzzz", "input_failed", "zstd");
  check_refused("Entry not found", "input_failed", "neither GGUF nor safetensors",
                "45 6e 74 72 79 20 6e 6f");
}

TEST_CASE("formats from before GGUF") {
  for (const char* magic : {"lmgg", "fmgg", "tjgg", "algg", "ggml", "ggmf", "ggjt", "ggla"}) {
    check_refused(std::string(magic) + "\3\3\3\3\3\3\3\3\3\3\3\3", "input_failed",
                  "format from before GGUF");
  }
}

TEST_CASE("files that are damaged at their start") {
  check_refused("", "corrupt_data", "the file is empty");
  check_refused("GGU", "corrupt_data", "only 3 bytes");
  check_refused("GGUF", "corrupt_data", "version needs 4 bytes");
  check_refused(std::string(4096, '\0'), "corrupt_data", "begins with zero bytes");
  check_refused("\x10\0\0", "corrupt_data", "only 1 bytes");
}

TEST_CASE("paths that are no file") {
  const auto code_of = [](const std::filesystem::path& path) {
    try {
      ModelFile::open(path);
    } catch (const Error& error) {
      CHECK_FALSE(error.hint().empty());
      return error.code();
    }
    return ErrorCode::internal;
  };
  CHECK(code_of(std::filesystem::temp_directory_path()) == ErrorCode::input_failed);
  CHECK(code_of("/nonexistent/model.gguf") == ErrorCode::input_failed);
}

TEST_CASE("messages name the file") {
  const TemporaryFile file("GGUF", "named.gguf");
  try {
    ModelFile::open(file.path());
    FAIL("was accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(file.path().string() + ": ") == 0);
    CHECK_FALSE(error.hint().empty());
  }
}
