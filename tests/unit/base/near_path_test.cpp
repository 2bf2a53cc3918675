// SPDX-License-Identifier: MIT
#include "base/near_path.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

void touch(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << 'x';
}

}  // namespace

TEST_CASE("a misspelt path gets the name that was meant") {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  touch(root / "models" / "Llama-3.2-1B-Instruct-Q4_K_M.gguf");
  touch(root / "models" / "qwen.gguf");
  const auto hint = [&](const char* path) { return base::spelling_hint(root / path); };
  const auto meant = [&](const char* path) {
    return "did you mean " + (root / path).string() + "?";
  };
  const std::string model = meant("models/Llama-3.2-1B-Instruct-Q4_K_M.gguf");
  CHECK(hint("models/Llama-3.2-1B-Instruct-Q4_K_S.gguf") == model);
  CHECK(hint("models/llama-3.2-1b-instruct-q4_k_m.gguf") == model);
  CHECK(hint("models/Llama-3.2-1B-Instruct-Q4KM.gguf") == model);
  CHECK(hint("models/Llama-3.2-1B-Instruct-Q4_K_M") == model);
  CHECK(hint("modles/Llama-3.2-1B-Instruct-Q4_K_M.gguf") == model);
  CHECK(hint("models/qwen") == meant("models/qwen.gguf"));
  // Of a path that is wrong twice the first part is named.
  CHECK(hint("modles/quen.gguf") == meant("models"));
  const std::string none = "check the spelling of the path";
  CHECK(hint("models/gemma-3-4b.gguf") == none);
  CHECK(hint("nowhere/at/all.gguf") == none);
  CHECK(hint("models/q") == none);
  CHECK(base::spelling_hint("") == none);
  // Names that several begin with say nothing.
  touch(root / "models" / "qwen-7b.gguf");
  CHECK(hint("models/qwe") == none);
}

TEST_CASE("opening a file that does not exist suggests its neighbour") {
  const TemporaryFolder folder;
  touch(folder.path() / "thresholds.txt");
  try {
    base::File::open(folder.path() / "treshold.txt");
    FAIL("it was opened");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("No such file") != std::string::npos);
    CHECK(error.hint() == "did you mean " + (folder.path() / "thresholds.txt").string() + "?");
  }
}
