// SPDX-License-Identifier: MIT
/// Where the driver is searched without a wish: in the places of containers and distributions too,
/// and never for the toolkit's stub.
#include "hip/nvidia/driver_files.hpp"

#include <doctest/doctest.h>

#include <map>

#include "base/dynamic_library.hpp"
#include "hip/binding.hpp"
#include "hip/sensors.hpp"
#include "unit/hip/loader_cache.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::nvidia {
namespace {

using doctest::Contains;

Places places_of(const test::TemporaryTree& tree,
                 const std::map<std::string, std::string>& variables = {}) {
  return {tree.root(), [variables](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::string() : found->second;
          }};
}

std::vector<std::string> found_in(const Places& places) {
  std::vector<std::string> names;
  for (const auto& file : list_driver_files(places)) {
    names.push_back(file.lexically_relative(places.root).string());
  }
  return names;
}

PlatformStatus bind_below(const test::TemporaryTree& tree) {
  BindRequest request;
  request.system_root = tree.root().string();
  return bind_nvidia(request).status;
}

}  // namespace

TEST_CASE("the driver is found in every place, each file once, the stub in none") {
  test::TemporaryTree tree;
  tree.write("mine/libcuda.so.1");
  tree.write("cached/libcuda.so.1");
  tree.write("cached32/libcuda.so.1");
  tree.write("etc/ld.so.cache", test::loader_cache({{"libcuda.so.1", "/cached/libcuda.so.1"},
                                                    {"libcuda.so", "/cached/libcuda.so"},
                                                    {"libm.so.6", "/lib/libm.so.6"}},
                                                   {{"libcuda.so.1", "/cached32/libcuda.so.1"}}));
  tree.write("usr/lib/x86_64-linux-gnu/libcuda.so");
  tree.write("usr/lib64/libcuda.so.1");
  tree.write("usr/lib/wsl/lib/libcuda.so.1");
  tree.write("usr/local/nvidia/lib64/libcuda.so.1");
  tree.write("run/opengl-driver/lib/libcuda.so.1");
  std::filesystem::create_directories(tree.root() / "usr/lib");
  std::filesystem::create_symlink("../lib64/libcuda.so.1", tree.root() / "usr/lib/libcuda.so.1");
  CHECK(found_in(places_of(tree, {{"LD_LIBRARY_PATH", "/nowhere::/mine"}})) ==
        std::vector<std::string>{"mine/libcuda.so.1", "cached/libcuda.so.1",
                                 "usr/lib64/libcuda.so.1", "usr/lib/wsl/lib/libcuda.so.1",
                                 "usr/local/nvidia/lib64/libcuda.so.1",
                                 "run/opengl-driver/lib/libcuda.so.1"});
}

TEST_CASE("a damaged cache of the loader is an empty one") {
  const std::string whole = test::loader_cache({{"libcuda.so.1", "/cached/libcuda.so.1"}}, {});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    test::TemporaryTree tree;
    tree.write("cached/libcuda.so.1");
    tree.write("etc/ld.so.cache", whole.substr(0, length));
    CHECK(found_in(places_of(tree)).empty());
  }
}

TEST_CASE("no driver in any place, and one that is no library") {
  test::TemporaryTree tree;
  CHECK(bind_below(tree).reason ==
        "libcuda.so.1 was not found and no NVIDIA GPU is on the PCI bus");
  const std::string file = tree.write("usr/local/nvidia/lib64/libcuda.so.1").string();
  const PlatformStatus status = bind_below(tree);
  CHECK(status.reason.c_str() == Contains((file + " could not be loaded").c_str()));
  CHECK(status.tried.size() == 1);
}

TEST_CASE("Google's Kubernetes: the driver, its compiler and its sensors from its own folder") {
  test::TemporaryTree tree;
  const std::filesystem::path folder = tree.root() / "usr/local/nvidia/lib64";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(test::fake_library("FAKE_CUDA"), folder / "libcuda.so.1");
  const std::filesystem::path compiler = folder / "libnvidia-ptxjitcompiler.so.1";
  std::filesystem::copy_file(test::fake_library("FAKE_NVML"), compiler);
  const PlatformStatus status = bind_below(tree);
  CHECK(status.usable);
  CHECK(status.library == folder / "libcuda.so.1");
  CHECK(base::DynamicLibrary::find_loaded(compiler.string()));
}

}  // namespace hiptool::hip::nvidia
