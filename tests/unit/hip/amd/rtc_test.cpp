// SPDX-License-Identifier: MIT
/// Which hipRTC belongs to which runtime. Cases run in the order of this file: libraries stay
/// mapped, and the newest mapped runtime is the one in use.
#include <doctest/doctest.h>

#include "base/dynamic_library.hpp"
#include "hip/rtc.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip::amd {
namespace {

using doctest::Contains;

std::string add(test::TemporaryTree& tree, const char* variable, const std::string& name) {
  const std::filesystem::path path = tree.root() / name;
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::copy_file(test::fake_library(variable), path);
  return path.string();
}

void map(const std::string& path) {
  std::string error;
  REQUIRE(base::DynamicLibrary::open(path, error));
}

}  // namespace

TEST_CASE("a wheel's runtime has no number, and its compiler lies beside it") {
  test::TemporaryTree tree;
  map(add(tree, "BARE_RUNTIME", "wheel/libamdhip64.so"));
  const std::string compiler = add(tree, "EMPTY_HIPRTC", "wheel/libhiprtc.so");
  const RtcLibrary found = open_rtc();
  CHECK(found.api != nullptr);
  CHECK(found.path == compiler);
  CHECK(found.reason.empty());
}

TEST_CASE("a runtime without a number is asked for it") {
  test::TemporaryTree tree;
  setenv("HIPTOOL_HIP_LIBRARY", add(tree, "BARE_RUNTIME", "b/libamdhip64.so").c_str(), 1);
  add(tree, "EMPTY_HIPRTC", "b/libhiprtc.so.6");
  const std::string compiler = add(tree, "EMPTY_HIPRTC", "b/libhiprtc.so.7");
  CHECK(open_rtc().path == compiler);
  unsetenv("HIPTOOL_HIP_LIBRARY");
}

TEST_CASE("no compiler of another release is taken") {
  test::TemporaryTree tree;
  const std::string runtime = add(tree, "BARE_RUNTIME", "lib/libamdhip64.so.31");
  map(runtime);
  add(tree, "EMPTY_HIPRTC", "lib/libhiprtc.so.32");
  add(tree, "EMPTY_HIPRTC", "lib/libhiprtc.so");
  const RtcLibrary none = open_rtc();
  CHECK(none.api == nullptr);
  CHECK(none.path.empty());
  CHECK(none.reason == "there is no hipRTC (libhiprtc) next to the HIP runtime " + runtime);
  const std::string compiler = add(tree, "EMPTY_HIPRTC", "lib/libhiprtc.so.31");
  CHECK(open_rtc().path == compiler);
  CHECK(open_rtc().version.c_str() == Contains("libhiprtc.so.31 of "));
}

}  // namespace hiptool::hip::amd
