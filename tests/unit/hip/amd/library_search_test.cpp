// SPDX-License-Identifier: MIT
#include "hip/amd/library_search.hpp"

#include <doctest/doctest.h>

#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::amd {
namespace {

void clear_environment() {
  for (const char* name : {"ROCM_PATH", "HIP_PATH", "ROCM_HOME"}) unsetenv(name);
}

}  // namespace

TEST_CASE("runtimes of a folder, newest first, whatever their major") {
  test::TemporaryTree tree;
  for (const char* name : {"libamdhip64.so", "libamdhip64.so.4", "libamdhip64.so.5",
                           "libamdhip64.so.10", "libamdhip64.so.31", "libamdhip64.so.7",
                           "libamdhip64.so.5.2.21153", "libamdhip64.so.x", "libother.so.9"}) {
    tree.write(name);
  }
  std::vector<std::string> names;
  for (const auto& file : list_runtimes(tree.root())) names.push_back(file.filename().string());
  CHECK(names == std::vector<std::string>{"libamdhip64.so.31", "libamdhip64.so.10",
                                          "libamdhip64.so.7", "libamdhip64.so.5"});
  CHECK(list_runtimes(tree.root() / "nowhere").empty());
}

TEST_CASE("ROCm's folders by version, not by spelling") {
  test::TemporaryTree tree;
  tree.write("opt/rocm-6.4.3/lib/x");
  tree.write("opt/rocm-6.10.0/lib/x");
  tree.write("opt/rocm-5.7.1/lib/x");
  tree.write("opt/rocm/core-7.11/lib/x");
  tree.write("opt/rocm/core-10.1/lib/x");
  std::vector<std::string> folders;
  for (const auto& folder : list_rocm_folders(tree.root())) {
    folders.push_back(folder.lexically_relative(tree.root()).string());
  }
  CHECK(folders == std::vector<std::string>{"opt/rocm/lib", "opt/rocm/lib64", "opt/rocm/hip/lib",
                                            "opt/rocm/core-10.1/lib", "opt/rocm/core-7.11/lib",
                                            "opt/rocm-6.10.0/lib", "opt/rocm-6.4.3/lib",
                                            "opt/rocm-5.7.1/lib"});
}

TEST_CASE("chosen folders come first, then bare names, then /opt, the unversioned names last") {
  test::TemporaryTree tree;
  const auto home = tree.write("home/lib64/libamdhip64.so.6");
  const auto home_plain = tree.write("home/lib/libamdhip64.so");
  const auto opt = tree.write("opt/rocm/lib/libamdhip64.so.7");
  const auto opt_plain = tree.write("opt/rocm/lib/libamdhip64.so");
  clear_environment();
  setenv("ROCM_HOME", (tree.root() / "home").c_str(), 1);
  const std::vector<std::string> found = list_candidates(tree.root());
  clear_environment();

  std::vector<std::string> expected{home.string()};
  for (int major = 20; major >= 5; --major) {
    expected.push_back("libamdhip64.so." + std::to_string(major));
  }
  expected.push_back(opt.string());
  expected.push_back(home_plain.string());
  expected.push_back(opt_plain.string());
  expected.emplace_back("libamdhip64.so");
  CHECK(found == expected);
}

TEST_CASE("ROCM_PATH goes before HIP_PATH and an empty value is none") {
  test::TemporaryTree tree;
  const auto first = tree.write("a/lib/libamdhip64.so.5");
  const auto second = tree.write("b/lib/libamdhip64.so.7");
  clear_environment();
  setenv("HIP_PATH", (tree.root() / "b").c_str(), 1);
  setenv("ROCM_PATH", (tree.root() / "a").c_str(), 1);
  setenv("ROCM_HOME", "", 1);
  const std::vector<std::string> found = list_candidates(tree.root());
  clear_environment();
  REQUIRE(found.size() > 2);
  CHECK(found[0] == first.string());
  CHECK(found[1] == second.string());
  CHECK(found[2] == "libamdhip64.so.20");
}

}  // namespace hiptool::hip::amd
