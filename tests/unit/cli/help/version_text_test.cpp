// SPDX-License-Identifier: MIT
#include "cli/help/version_text.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

void touch(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
}

}  // namespace

TEST_CASE("runtime libraries are found by their files, LD_LIBRARY_PATH first, links once") {
  const TemporaryFolder root;
  touch(root.path() / "usr/lib/x86_64-linux-gnu/libcuda.so.1");
  touch(root.path() / "usr/lib/x86_64-linux-gnu/libcuda.so");
  touch(root.path() / "usr/lib/x86_64-linux-gnu/libm.so.6");
  touch(root.path() / "opt/rocm-7.0/lib/libamdhip64.so.7");
  touch(root.path() / "mine/libamdhip64.so.6");
  std::filesystem::create_directory_symlink("rocm-7.0", root.path() / "opt/rocm");
  const auto found =
      find_runtime_libraries(root.path(), reader_of({{"LD_LIBRARY_PATH", ":/mine::/not/there"}}));
  REQUIRE(found.size() == 3);
  CHECK(found[0] == root / "mine/libamdhip64.so.6");
  CHECK(contains(found[1], "/lib/libamdhip64.so.7 (ROCm 7.0)"));
  CHECK(found[2] == root / "usr/lib/x86_64-linux-gnu/libcuda.so.1");
}

TEST_CASE("the version fits the terminal, each name with its number") {
  Machine machine;
  machine.variables["COLUMNS"] = "60";
  CHECK(machine.run({"--version"}) == 0);
  std::istringstream text(machine.out.text);
  bool is_list = false;
  for (std::string line; std::getline(text, line);) {
    is_list = line.starts_with("libraries:") || line.starts_with("kernel targets:") ||
              (is_list && line.starts_with(" "));
    if (is_list) CHECK(line.size() <= 60);
  }
  CHECK(contains(machine.out.text, ",\n                "));
}

TEST_CASE("no runtime libraries on an empty machine") {
  const TemporaryFolder root;
  CHECK(find_runtime_libraries(root.path(), reader_of({})).empty());
}
