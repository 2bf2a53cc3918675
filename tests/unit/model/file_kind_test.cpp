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
  check_refused("\xEF\xBB\xBF[]        ", "input_failed", "JSON text");
  check_refused(std::string("\0\x05\x16\x07\0\x02\0\0Mac OS X        ", 24), "input_failed",
                "AppleDouble");
  check_refused(std::string("\xFF\xFE{\0\"\0a\0\"\0", 10), "input_failed", "UTF-16");
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
  check_refused("\x45\x6e\x74\x01 not found", "input_failed", "neither GGUF nor safetensors",
                "45 6e 74 01 20 6e 6f 74");
  // A llamafile is a program for Windows, too.
  check_refused("MZqFpD='\n", "input_failed", "a program (Windows or llamafile)");
  check_refused("lmgg\x94\xca\0\0xxxxxxxx", "input_failed", "format from before GGUF");
}

TEST_CASE("texts in the place of a model are quoted, with what they are") {
  // What Hugging Face answers with status 404 and 401.
  check_refused("Entry not found", "input_failed", "a text, not a model: 'Entry not found'");
  check_refused("Invalid username or password.", "input_failed", "'Invalid username or password.'");
  check_refused("Access to model m is restricted.\nLog in.", "input_failed", "is restricted.'");
  check_refused(R"({"error":"Invalid credentials in Authorization header"})", "input_failed",
                "error message of a server");
  check_refused("FROM ./m.gguf\nPARAMETER temperature 1\n", "input_failed", "Modelfile of Ollama");
  check_refused("#version: 0.2\n\xc4\xa0 t\n", "input_failed", "merges of a tokenizer");
  for (const char* start : {"{%- if tools %}", "{{ bos_token }}", "{# a comment #}"}) {
    check_refused(start, "input_failed", "chat template (Jinja)");
  }
}

TEST_CASE("what stands in the place of a model that is kept elsewhere") {
  check_refused("/annex/objects/SHA256E-s9--00.gguf\n", "input_failed", "git-annex pointer");
  check_refused("# xet version 0\nfilesize = 9\nhash = '00'\n", "input_failed", "Xet pointer");
  check_refused("outs:\n- md5: 00\n  path: m.gguf\n", "input_failed", "pointer of DVC");
  check_refused("[ZoneTransfer]\r\nZoneId=3\r\n", "input_failed", "Zone.Identifier");
  check_refused("d8:announce35:udp://a.b:1", "input_failed", "a torrent");
  check_refused(std::string(64, 'a') + "  m.gguf\n", "input_failed", "list of SHA-256");
  check_refused(std::string(64, 'A') + "\tm.gguf\n", "input_failed", "list of SHA-256");
  // github.com/meta-llama/llama/issues/355: checklist.chk.
  check_refused(std::string(32, 'a') + "  consolidated.00.pth\n", "input_failed", "list of MD5");
  check_refused(std::string(40, 'a') + " *m.gguf\n", "input_failed", "list of SHA-1,");
  check_refused(std::string(128, '0') + "  m.gguf\n", "input_failed", "list of SHA-512");
  for (const std::string& text : {std::string(64, 'a'), std::string(65, 'a') + " m",
                                  std::string(63, 'a') + " m", std::string(64, 'g') + " m"}) {
    check_refused(text, "input_failed", "a text, not a model");
  }
}

TEST_CASE("other texts and formats") {
  check_refused("---\nlicense: mit\n---\n", "input_failed", "model card (README.md)");
  check_refused("# Title\n\nA page.\n", "input_failed", "a text, not a model: '# Title'");
  check_refused("# T\n\tx\r\n", "input_failed", "a text, not a model: '# T'");
  check_refused("ab\ncd\n\x01\x02 f", "input_failed", "neither GGUF nor safetensors");
  check_refused("LITERTLMxxxxxxxx", "input_failed", "LiteRT-LM");
  check_refused("PAR1xxxxxxxx", "input_failed", "Parquet");
  check_refused(R"({"dim": 4096, "n_layers": 32})", "input_failed", "(params.json)");
  check_refused(R"({"chat_template": "x"})", "input_failed", "(chat_template.json)");
  std::string zip("PK\x03\x04");
  zip.resize(30, '\0');
  zip[4] = 20;
  zip[26] = 9;
  check_refused(zip + "arr_0.npyxxxx", "input_failed", "NumPy arrays (.npz)");
  check_refused(zip + "arr_0.npz.npy", "input_failed", "a zip archive");
  check_refused(zip + "a/data.pk", "input_failed", "a zip archive");
}

TEST_CASE("files that accompany a model are named") {
  check_refused(R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"eos_token_id":2})",
                "input_failed", "the configuration of a model (config.json)");
  check_refused(R"({"version":"1.0","added_tokens":[],"model":{"type":"BPE"}})", "input_failed",
                "a tokenizer (tokenizer.json)");
  check_refused(R"({"add_bos_token":true,"tokenizer_class":"LlamaTokenizer"})", "input_failed",
                "tokenizer_config.json");
  check_refused(R"({"base_model_name_or_path":"a/b","peft_type":"LORA"})", "input_failed",
                "adapter_config.json");
  check_refused(R"({"eos_token_id":2})", "input_failed", "generation_config.json");
  check_refused(R"({"a":1})", "input_failed", "neither the index of a set nor a manifest");
  check_refused(std::string("\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", 16), "input_failed",
                "SentencePiece tokenizer");
  const std::string name = "blk.0.attn_q.weight";
  std::string imatrix("\2\0\0\0", 4);
  imatrix += std::string(1, static_cast<char>(name.size())) + std::string(3, '\0') + name;
  check_refused(imatrix + std::string(64, '\1'), "input_failed", "importance matrix (imatrix");
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
  check_refused("\x10\0\0", "corrupt_data", "only 1 byte");
}

TEST_CASE("paths that are no file") {
  const auto code_of = [](const std::filesystem::path& path) {
    try {
      static_cast<void>(ModelFile::open(path));
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
    static_cast<void>(ModelFile::open(file.path()));
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
      static_cast<void>(ModelFile::open(file.path()));
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
