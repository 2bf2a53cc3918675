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
  check_refused(R"({"architectures":["LlamaForCausalLM"]})", "input_failed", "JSON text");
  check_refused("[]", "input_failed", "JSON text");
  check_refused("PK\x03\x04 archive/data.pkl", "input_failed", "zip archive");
  check_refused("\x80\x02\x8a\x0alFFFFFFF", "input_failed", "pickle");
  check_refused("\x1f\x8b\x08gggggggggg", "input_failed", "gzip");
  check_refused("(\xb5/\xfdzzzzzzzzz", "input_failed", "zstd");
  check_refused("\x93NUMPY\1\0v", "input_failed", "NumPy array (.npy)");
  check_refused("\x89HDF\r\n\x1a\nxxxx", "input_failed", "HDF5");
  check_refused(
      "\xfd"
      "7zXZxxxxxx",
      "input_failed", "xz archive");
  check_refused("BZh91AY&SY", "input_failed", "bzip2");
  check_refused("7z\xbc\xaf\x27\x1cxxxx", "input_failed", "7-Zip");
  check_refused("Rar!\x1a\x07xxxx", "input_failed", "RAR");
  check_refused("\x04\"M\x18xxxxxxx", "input_failed", "LZ4");
  check_refused(
      "\x7f"
      "ELF\2\1\1xxxxxxx",
      "input_failed", "ELF");
  check_refused(std::string("\x1c\0\0\0TFL3\x14\0\x20\0", 12), "input_failed", "TensorFlow Lite");
  // An exporter's name follows the version of the format.
  check_refused(
      "\x08\x0a\x12\x07pytorch\x1a\x05"
      "2.9.1:xxxx",
      "input_failed", "ONNX");
  std::string tar(1024, '\0');
  tar.replace(0, 5, "a.bin");
  tar.replace(257, 5, "ustar");
  check_refused(tar, "input_failed", "tar archive");
  check_refused("FUGG\0\0\0\3xxxxxxxx", "input_failed", "big-endian GGUF");
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
  CHECK(code_of("/proc/self/fdinfo") == ErrorCode::input_failed);  // a folder without models
  CHECK(code_of("/dev/null") == ErrorCode::input_failed);
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

TEST_CASE("truncated files with the name of an unfinished download") {
  const auto hint_for = [](const char* name) {
    const TemporaryFile file("GGUF\3\0", name);
    try {
      ModelFile::open(file.path());
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string();
  };
  for (const char* name : {"m.gguf.part", "abc.incomplete", "sha256-ab-partial"}) {
    CHECK(hint_for(name).find("finish the download") != std::string::npos);
  }
  CHECK(hint_for("m.gguf").find("download it again") != std::string::npos);
}
