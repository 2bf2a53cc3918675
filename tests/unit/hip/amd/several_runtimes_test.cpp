// SPDX-License-Identifier: MIT
/// Several runtimes on one machine, of which some see no device. Cases run in the order of this
/// file: a runtime that was usable is kept.
#include <doctest/doctest.h>

#include "hip/amd/bound_runtime.hpp"
#include "hip/binding.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using doctest::Contains;

std::string install(const test::TemporaryTree& tree, const char* fake, const std::string& name) {
  const std::filesystem::path path = tree.root() / name;
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::copy_file(test::fake_library(fake), path);
  return path.string();
}

PlatformStatus bind_below(const test::TemporaryTree& tree) {
  BindRequest request;
  request.system_root = tree.root().string();
  return bind_amd(request).status;
}

}  // namespace

TEST_CASE("no runtime sees a device: the newest is named with its release, then the others") {
  test::TemporaryTree tree;
  const std::string old = install(tree, "FAKE_HIP5", "usr/lib/x86_64-linux-gnu/libamdhip64.so.5");
  const std::string rocm = install(tree, "FAKE_ROCM10", "opt/rocm/core-10.0/lib/libamdhip64.so.7");
  tree.write("opt/rocm/core-10.0/.info/version", "10.0.0\n");
  setenv("FAKE_HIP_DEVICES", "0", 1);
  for (int attempt = 0; attempt < 2; ++attempt) {  // the second finds both mapped
    const PlatformStatus status = bind_below(tree);
    CHECK_FALSE(status.usable);
    CHECK(status.library == rocm);
    CHECK(status.release == "ROCm 10.0.0");
    CHECK(status.runtime_version == "7.15.1");
    CHECK(status.reason.c_str() ==
          Contains(("the HIP runtime " + rocm + " (ROCm 10.0.0) reports no device: ").c_str()));
    CHECK(status.reason.c_str() == Contains(("; also tried: " + old).c_str()));
    REQUIRE(status.tried.size() == 2);
  }
  unsetenv("FAKE_HIP_DEVICES");
}

TEST_CASE("the newest sees no device: the next one is used, and the first is named") {
  test::TemporaryTree tree;
  const std::string rocm = install(tree, "FAKE_ROCM10", "opt/rocm/lib/libamdhip64.so.7");
  const std::string old = install(tree, "FAKE_HIP5", "usr/lib/x86_64-linux-gnu/libamdhip64.so.5");
  setenv("FAKE_HIP7_INIT", "100", 1);
  const PlatformStatus status = bind_below(tree);
  unsetenv("FAKE_HIP7_INIT");
  CHECK(status.usable);
  CHECK(status.library == old);
  CHECK(status.reason.empty());
  CHECK(status.note.c_str() == Contains(rocm.c_str()));
  REQUIRE(status.tried.size() == 1);
  CHECK(status.tried[0].c_str() == Contains("reports no device"));

  // Also when it is bound again, and for the libraries beside it, although a newer one is mapped.
  CHECK(bind_below(tree).library == old);
  const auto runtime = amd::find_runtime();
  REQUIRE(runtime);
  CHECK(runtime->path() == old);
}

}  // namespace hiptool::hip
