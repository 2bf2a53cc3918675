// SPDX-License-Identifier: MIT
#include "load/verify/kernel_compiling.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;

TEST_CASE("a cancel ends the compiler of a load") {
  const test::TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "hiptool";
  std::ofstream(program) << "#!/bin/sh\nexec sleep 300\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Platforms platforms;
  CancelToken cancel;
  const auto options =
      load::loader_options(find_device(platforms, "cpu"), program.string(), &cancel);
  cancel.cancel();
  CHECK(test::code_of([&] {
          options.compile({Platform::amd, "gfx90a", "sample", "source of this test", {}});
        }) == ErrorCode::cancelled);
}
