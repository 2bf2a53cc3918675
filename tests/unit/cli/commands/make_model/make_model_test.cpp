// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

TEST_CASE("the ending of the name or --format decides the model's format") {
  const TemporaryFolder folder;
  Machine machine;
  CHECK(machine.run({"make-model", folder / "a.gguf", "--size", "1MiB", "--tensors", "4"}) == 0);
  CHECK(start_of(folder / "a.gguf", 4) == "GGUF");
  CHECK(machine.out.text.find("wrote " + folder / "a.gguf") == 0);
  CHECK(contains(machine.out.text, "in 4 tensors"));
  CHECK(machine.run({"make-model", folder / "b", "--format", "safetensors", "--size", "1M"}) == 0);
  CHECK(start_of(folder / "b", 9).back() == '{');
  CHECK(machine.run({"make-model", folder / "a.safetensors", "--format", "gguf", "--size", "1M"}) ==
        0);
  CHECK(start_of(folder / "a.safetensors", 4) == "GGUF");
}

TEST_CASE("JSON comes by export or by the environment") {
  const TemporaryFolder folder;
  Machine machine;
  CHECK(machine.run({"make-model", folder / "a.gguf", "--size", "1M", "--export",
                     "json=" + folder / "a.json"}) == 0);
  CHECK(contains(machine.out.text, "wrote "));
  CHECK(contains(start_of(folder / "a.json", 60), "\"schema\": \"hiptool.make-model/2\""));
  machine.variables["HIPTOOL_FORMAT"] = "json";
  CHECK(machine.run({"make-model", folder / "b.gguf", "--size", "1M"}) == 0);
  CHECK(contains(machine.out.text, "\"format\": \"gguf\""));
}

TEST_CASE("a file that cannot be written is exit 7, an unknown type is exit 2") {
  const TemporaryFolder folder;
  Machine machine;
  CHECK(machine.run({"make-model", folder / "none/a.gguf", "--size", "1M"}) == 7);
  CHECK(machine.run({"make-model", folder / "a.gguf", "--dtype", "F16,"}) == 2);
  CHECK(machine.run({"make-model", folder / "a.gguf", "--dtype", "NOTYPE"}) == 2);
}

TEST_CASE("an interrupted run is exit 130") {
  const TemporaryFolder folder;
  Machine machine;
  machine.cancel.cancel();
  machine.signal = 2;
  CHECK(machine.run({"make-model", folder / "a.gguf", "--size", "64M"}) == 130);
  CHECK(machine.out.text.empty());
}
