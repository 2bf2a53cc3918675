// SPDX-License-Identifier: MIT
#include "base/output_file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/temporary_folder.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using hiptool::base::OutputFile;

namespace {

std::size_t entries(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

constexpr std::array bytes{std::byte{'a'}, std::byte{'b'}};

}  // namespace

TEST_CASE("output file: finished is not yet there under its name") {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "m";
  {
    OutputFile file(target, 2);
    file.write_at(bytes, 0);
    file.finish();
    file.finish();
    CHECK_FALSE(std::filesystem::exists(target));
    CHECK(entries(folder.path()) == 1);
  }
  CHECK(entries(folder.path()) == 0);
  {
    OutputFile file(target, 2);
    file.write_at(bytes, 0);
    file.finish();
    file.commit();
  }
  CHECK(std::filesystem::file_size(target) == 2);
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("output file: withdrawing takes away what was committed, and only that") {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "m";
  std::ofstream(target) << "before";
  {
    OutputFile file(target, 2);
    file.withdraw();
    CHECK(std::filesystem::file_size(target) == 6);
    file.commit();
    CHECK(std::filesystem::file_size(target) == 0);
    file.withdraw();
    CHECK_FALSE(std::filesystem::exists(target));
  }
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("output file: a handler that ends the process leaves no part of a file") {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "m";
  OutputFile file(target, 2);
  file.write_at(bytes, 0);
  CHECK(entries(folder.path()) == 1);
  base::remove_temporary_paths();
  CHECK(entries(folder.path()) == 0);
  {
    OutputFile complete(target, 2);
    complete.commit();
    base::remove_temporary_paths();
  }
  CHECK(std::filesystem::exists(target));
}

TEST_CASE("output file: standard output is refused, not a file named -") {
  CHECK_THROWS_WITH_AS(OutputFile("-", 2), "cannot write -: this file cannot go to standard output",
                       Error);
}

TEST_CASE("output file: the hint is to create a folder only where it is missing") {
  const auto hint = [](const std::filesystem::path& path) {
    try {
      const OutputFile file(path, 1);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
      return error.hint();
    }
    return std::string("written");
  };
  const test::TemporaryFolder folder;
  CHECK(hint(folder.path() / "missing" / "m.gguf") == "create the folder first");
  CHECK(hint("/proc/m.gguf") == "choose another folder");  // it takes no files
}

TEST_CASE("output file: a name that cannot be taken leaves no temporary file") {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "m";
  std::optional<OutputFile> file(std::in_place, target, 2);
  std::filesystem::create_directories(target / "inside");
  CHECK_THROWS_AS(file->commit(), Error);
  file.reset();
  CHECK(entries(folder.path()) == 1);
}
