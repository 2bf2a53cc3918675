// SPDX-License-Identifier: MIT
/// A runtime that the process has already, such as PyTorch's. Cases run in the order of this file,
/// for libraries stay mapped.
#include <doctest/doctest.h>

#include "hip/amd/library_search.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::amd {
namespace {

std::string map(test::TemporaryTree& tree, const std::string& name) {
  const std::filesystem::path path = tree.root() / name;
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::copy_file(test::fake_library("FAKE_HIP"), path);
  std::string error;
  REQUIRE(base::DynamicLibrary::open(path.string(), error));
  return path.string();
}

std::string found(const std::string& preferred = {}) {
  const auto library = find_mapped(preferred);
  return library ? library->path() : "";
}

}  // namespace

TEST_CASE("runtimes of any name and number are found where they are mapped, the newest first") {
  test::TemporaryTree tree;
  CHECK(found().empty());
  map(tree, "libamdhip64x.so");
  map(tree, "other-libamdhip64.so.7");
  CHECK(found().empty());
  const std::string wheel = map(tree, "torch/lib/libamdhip64.so");
  CHECK(found() == wheel);
  const std::string old = map(tree, "libamdhip64.so.7.2.53211");
  CHECK(found() == old);
  const std::string newest = map(tree, "libamdhip64.so.21");
  CHECK(found() == newest);
  CHECK(found(old) == old);
  CHECK(found("/nowhere/libamdhip64.so.7") == newest);
}

TEST_CASE("what is mapped goes before what ROCM_PATH names") {
  test::TemporaryTree tree;
  const std::string mapped = map(tree, "libamdhip64.so.22");
  std::filesystem::create_directories(tree.root() / "rocm/lib");
  std::filesystem::copy_file(test::fake_library("FAKE_HIP"),
                             tree.root() / "rocm/lib/libamdhip64.so.23");
  setenv("ROCM_PATH", "/rocm", 1);
  BindRequest request;
  request.system_root = tree.root().string();
  CHECK(bind_amd(request).status.library == mapped);
  unsetenv("ROCM_PATH");

  // The one in use stays, also when the process gets a newer one.
  map(tree, "libamdhip64.so.24");
  const PlatformStatus again = bind_amd(request).status;
  CHECK(again.usable);
  CHECK(again.library == mapped);
}

}  // namespace hiptool::hip::amd
