// SPDX-License-Identifier: MIT
#include "cli/distinct_files.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "harness.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::cli;
namespace fs = std::filesystem;

TEST_CASE("an output is neither an input nor another output, whatever its name is") {
  const fs::path folder = fs::temp_directory_path() / "hiptool-distinct-files";
  fs::remove_all(folder);
  fs::create_directories(folder / "sub");
  std::ofstream(folder / "in.json") << "{}";
  fs::create_symlink(folder / "in.json", folder / "link.json");
  const auto refused = [](const fs::path& output, const fs::path& input) {
    try {
      require_distinct_files({{output, "--export json"}}, {{input, "the input"}});
      return std::string();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      return std::string(error.what());
    }
  };
  const std::string message = refused(folder / "in.json", folder / "in.json");
  CHECK(message.find("--export json and the input name the same file") != std::string::npos);
  CHECK(!refused(folder / "link.json", folder / "in.json").empty());
  CHECK(!refused(folder / "sub" / ".." / "in.json", folder / "in.json").empty());
  CHECK(!refused(folder / "new.json", folder / "sub" / ".." / "new.json").empty());
  CHECK(refused(folder / "new.json", folder / "in.json").empty());
  CHECK(refused({}, {}).empty());
  CHECK(refused("/dev/null", "/dev/null").empty());
  CHECK_THROWS_AS(
      require_distinct_files({{folder / "a", "--export json"}, {folder / "a", "--export csv"}}, {}),
      Error);
  CHECK_NOTHROW(require_distinct_files(
      {{folder / "a", "--export json"}, {folder / "b", "--export csv"}}, {}));
  fs::remove_all(folder);
}
