// SPDX-License-Identifier: MIT
#include "hip/amd/library_search.hpp"

#include <doctest/doctest.h>

#include <map>

#include "unit/hip/loader_cache.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::amd {
namespace {

using Names = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Places places_of(const test::TemporaryTree& tree, const Variables& variables = {}) {
  return {tree.root(), [variables](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::string() : found->second;
          }};
}

Names installed_in(const test::TemporaryTree& tree, const Variables& variables = {}) {
  Names names;
  for (const auto& file : list_installed(places_of(tree, variables))) {
    names.push_back(file.lexically_relative(tree.root()).string());
  }
  return names;
}

void link(const test::TemporaryTree& tree, const std::string& target, const std::string& name) {
  std::filesystem::create_directories((tree.root() / name).parent_path());
  std::filesystem::create_symlink(target, tree.root() / name);
}

}  // namespace

TEST_CASE("runtimes of a folder, newest first, whatever their major, the unversioned name last") {
  test::TemporaryTree tree;
  for (const char* name : {"libamdhip64.so", "libamdhip64.so.4", "libamdhip64.so.5",
                           "libamdhip64.so.10", "libamdhip64.so.31", "libamdhip64.so.7",
                           "libamdhip64.so.5.2.21153", "libamdhip64.so.x", "libother.so.9"}) {
    tree.write(name);
  }
  Names names;
  for (const auto& file : list_runtimes(tree.root())) names.push_back(file.filename().string());
  CHECK(names == Names{"libamdhip64.so.31", "libamdhip64.so.10", "libamdhip64.so.7",
                       "libamdhip64.so.5", "libamdhip64.so"});
  CHECK(list_runtimes(tree.root() / "nowhere").empty());
}

TEST_CASE("a wheel beside a runtime of the distribution: found by each way to its environment") {
  const std::string wheel = "venv/lib/python3.12/site-packages/_rocm_sdk_core/lib";
  const Names expected{wheel + "/libamdhip64.so.7", "usr/lib/x86_64-linux-gnu/libamdhip64.so.5"};
  for (const Variables& variables :
       {Variables{{"VIRTUAL_ENV", "/venv"}}, Variables{{"CONDA_PREFIX", "/venv"}},
        Variables{{"PATH", "/nowhere:/venv/bin:/usr/bin"}}}) {
    test::TemporaryTree tree;
    tree.write(wheel + "/libamdhip64.so.7");
    tree.write("venv/pyvenv.cfg");
    tree.write("usr/bin/python3.12");
    link(tree, "python3.12", "usr/bin/python3");
    link(tree, "../../usr/bin/python3", "venv/bin/python3");
    tree.write("usr/lib/x86_64-linux-gnu/libamdhip64.so.5.2.21153");
    link(tree, "libamdhip64.so.5.2.21153", "usr/lib/x86_64-linux-gnu/libamdhip64.so.5");
    CHECK(installed_in(tree, variables) == expected);
    CHECK(installed_in(tree, {{"PATH", "/usr/bin"}}) == Names{expected[1]});
  }
}

TEST_CASE("packages of the system's Python, of its user and of an interpreter behind a link") {
  test::TemporaryTree tree;
  const std::string tail = "/_rocm_sdk_core/lib/libamdhip64.so.7";
  const std::string of_user = "srv/u/.local/lib/python3.13/site-packages" + tail;
  const std::string of_local = "usr/local/lib/python3.13/dist-packages" + tail;
  const std::string of_link = "srv/u/uv/python-3.13/lib/python3.13/site-packages" + tail;
  for (const std::string& file : {of_user, of_local, of_link}) tree.write(file);
  tree.write("usr/bin/python3");
  tree.write("srv/u/uv/python-3.13/bin/python3.13");
  link(tree, "../../uv/python-3.13/bin/python3.13", "srv/u/tools/bin/python3");
  CHECK(installed_in(tree, {{"PATH", "/usr/bin"}, {"HOME", "/srv/u"}}) == Names{of_local, of_user});
  CHECK(installed_in(tree, {{"PATH", "/srv/u/tools/bin"}}) == Names{of_link});
}

TEST_CASE("conda's own packages and the runtime that PyTorch brings") {
  test::TemporaryTree tree;
  tree.write("conda/lib/libamdhip64.so.6.4.43484");
  link(tree, "libamdhip64.so.6.4.43484", "conda/lib/libamdhip64.so.6");
  link(tree, "libamdhip64.so.6", "conda/lib/libamdhip64.so");
  const std::string torch = "conda/lib/python3.11/site-packages/torch/lib/libamdhip64.so";
  tree.write(torch);
  CHECK(installed_in(tree, {{"CONDA_PREFIX", "/conda"}}) ==
        Names{"conda/lib/libamdhip64.so.6", torch});
}

TEST_CASE("newest first over all places, by release and not by spelling or place") {
  test::TemporaryTree tree;
  tree.write("opt/rocm/core-10.0/lib/libamdhip64.so.7");
  tree.write("opt/rocm/core-10.0/.info/version", "10.0.0\n");
  tree.write("opt/rocm/core-7.14/lib/libamdhip64.so.7");
  link(tree, "core-10.0", "opt/rocm/core");
  tree.write("opt/rocm-6.10.0/lib/libamdhip64.so.6");
  tree.write("opt/rocm-6.4.3/lib/libamdhip64.so.6");
  tree.write("opt/rocm-5.7.1/lib/libamdhip64.so.5");
  // Distributions: HIP 7.2 is older than ROCm 7.14, HIP 7.16 newer than ROCm 10.0.
  for (const char* number : {"7.2.53211", "7.16.2"}) {
    const std::string folder = std::string("cached/") + number;
    tree.write(folder + "/libamdhip64.so." + number);
    link(tree, std::string("libamdhip64.so.") + number, folder + "/libamdhip64.so.7");
  }
  tree.write("etc/ld.so.cache",
             test::loader_cache({{"libamdhip64.so.7", "/cached/7.2.53211/libamdhip64.so.7"},
                                 {"libamdhip64.so.7", "/cached/7.16.2/libamdhip64.so.7"},
                                 {"libamdhip64.so.7", "/removed/libamdhip64.so.7"}},
                                {}));
  tree.write("venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/libamdhip64.so.7");
  tree.write("venv/lib/python3.12/site-packages/_rocm_sdk_core/.info/version", "7.13.0-12\n");
  CHECK(installed_in(tree, {{"VIRTUAL_ENV", "/venv"}}) ==
        Names{"cached/7.16.2/libamdhip64.so.7", "opt/rocm/core/lib/libamdhip64.so.7",
              "opt/rocm/core-7.14/lib/libamdhip64.so.7",
              "venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/libamdhip64.so.7",
              "cached/7.2.53211/libamdhip64.so.7", "opt/rocm-6.10.0/lib/libamdhip64.so.6",
              "opt/rocm-6.4.3/lib/libamdhip64.so.6", "opt/rocm-5.7.1/lib/libamdhip64.so.5"});
}

TEST_CASE("what variables name goes first: LD_LIBRARY_PATH, then ROCm's own") {
  test::TemporaryTree tree;
  for (const char* name :
       {"a/lib/libamdhip64.so.5", "b/lib64/libamdhip64.so.6", "c/lib/libamdhip64.so",
        "d/libamdhip64.so.5", "opt/rocm/lib/libamdhip64.so.7"}) {
    tree.write(name);
  }
  CHECK(installed_in(tree, {{"ROCM_PATH", "/a"},
                            {"HIP_PATH", "/b"},
                            {"ROCM_HOME", "/c"},
                            {"LD_LIBRARY_PATH", "/d:/a/lib"}}) ==
        Names{"d/libamdhip64.so.5", "a/lib/libamdhip64.so.5", "b/lib64/libamdhip64.so.6",
              "c/lib/libamdhip64.so", "opt/rocm/lib/libamdhip64.so.7"});
}

TEST_CASE("only this machine's loader is asked for bare names, after all files") {
  test::TemporaryTree tree;
  CHECK(list_candidates(places_of(tree)).empty());
  const Names names = list_candidates(own_places());
  REQUIRE(names.size() >= 17);
  CHECK(names[names.size() - 17] == "libamdhip64.so.20");
  CHECK(names[names.size() - 2] == "libamdhip64.so.5");
  CHECK(names.back() == "libamdhip64.so");
}

TEST_CASE("the release beside a library, and HIP's version in its name") {
  test::TemporaryTree tree;
  const auto release_of = [&](const std::string& name) {
    return rocm_release(tree.root() / name / "lib/libamdhip64.so.7");
  };
  tree.write("opt/rocm-7.1.0/.info/version", "7.1.0-20\n");
  tree.write("opt/rocm-7.1.0/lib/libamdhip64.so.7.1.52802");
  link(tree, "libamdhip64.so.7.1.52802", "opt/rocm-7.1.0/lib/libamdhip64.so.7");
  link(tree, "rocm-7.1.0", "opt/rocm");
  tree.write("opt/core-10.0/lib/libamdhip64.so.7");
  tree.write("usr/lib/libamdhip64.so.7");
  CHECK(release_of("opt/rocm") == "7.1.0");
  CHECK(release_of("opt/core-10.0") == "10.0");
  CHECK(release_of("usr").empty());
  CHECK(version_of_file(tree.root() / "opt/rocm/lib/libamdhip64.so.7") == "7.1.52802");
  CHECK(version_of_file(tree.root() / "usr/lib/libamdhip64.so.7").empty());
}

}  // namespace hiptool::hip::amd
