// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("without a GPU the list says what works, why the rest does not, and succeeds") {
  const TemporaryFolder root;
  Machine machine;
  machine.system_root = root.path();
  CHECK(machine.run({"devices"}) == 0);
  CHECK(machine.out.text.find("no usable GPU; the CPU is usable: cpu:0") == 0);
  CHECK(contains(machine.out.text, "\namd: not usable: no runtime library was found\n"));
  CHECK(contains(machine.out.text, "  hint: install it\n"));
  CHECK(contains(machine.out.text, "\ncpu:0-1 "));
  CHECK(widest_line(machine.out.text) <= 80);
}

TEST_CASE("with GPUs the verdict names them; the default device is no filter") {
  Machine machine;
  machine.gpus = 2;
  machine.variables["HIPTOOL_DEVICE"] = "cpu";
  CHECK(machine.run({"devices"}) == 0);
  CHECK(machine.out.text.find("2 GPUs usable: nvidia:0") == 0);
  CHECK(contains(machine.out.text, "\nnvidia:0-1 "));
  CHECK(contains(machine.out.text, "\ncpu:0-1 "));
  CHECK(machine.run({"devices", "--verbose"}) == 0);
  CHECK(contains(machine.out.text, "\nnvidia:1 "));
  CHECK(contains(machine.out.text, "\ncpu:0 "));
}

TEST_CASE("JSON lists every platform and device") {
  Machine machine;
  machine.gpus = 1;
  CHECK(machine.run({"devices", "--format", "json"}) == 0);
  CHECK(contains(machine.out.text, "\"status\": \"ok\""));
  CHECK(count(machine.out.text, "\"runtime_version\"") == 3);
  CHECK(count(machine.out.text, "\"memory_free_bytes\":") == 3);
  CHECK(machine.err.text.empty());
}

TEST_CASE("one device in full, with units") {
  Machine machine;
  machine.gpus = 1;
  CHECK(machine.run({"devices", "nvidia:0"}) == 0);
  CHECK(machine.out.text.find("nvidia:0") == 0);
  CHECK(contains(machine.out.text, "  Shared per block "));
  CHECK(contains(machine.out.text, "Peak memory bandwidth"));  // among what is not reported
  CHECK(contains(machine.out.text, "iB\n"));
  CHECK_FALSE(contains(machine.out.text, "cpu:0"));
  CHECK(machine.run({"devices", "nvidia:0", "--format", "json"}) == 0);
  CHECK(count(machine.out.text, "\"runtime_version\"") == 1);
  CHECK(count(machine.out.text, "\"memory_free_bytes\":") == 1);
}

TEST_CASE("--device and --platform filter the list") {
  Machine machine;
  machine.gpus = 2;
  CHECK(machine.run({"devices", "--platform", "cpu", "--format", "csv"}) == 0);
  CHECK(count(machine.out.text, "nvidia:") == 0);
  CHECK(count(machine.out.text, "cpu:") == 2);
  CHECK(machine.run({"devices", "-d", "nvidia:1,cpu:0", "--format", "csv"}) == 0);
  CHECK(count(machine.out.text, "nvidia:1") == 1);
  CHECK(count(machine.out.text, "cpu:1") == 0);
}

TEST_CASE("an absent device and an unmet requirement are exit 3") {
  Machine machine;
  CHECK(machine.run({"devices", "nvidia:0"}) == 3);
  CHECK(contains(machine.err.text, "error: "));
  CHECK(machine.run({"devices", "--require", "gpu", "--format", "json"}) == 3);
  CHECK(contains(machine.out.text, "\"status\": \"failed\""));
  CHECK(contains(machine.out.text, "\"devices\": ["));
  CHECK(contains(machine.out.text, "\"code\": \"unavailable\""));
  CHECK(contains(machine.err.text, "\n  amd: no runtime library was found\n"));
  CHECK(contains(machine.err.text, "hint: install it"));
}

TEST_CASE("a requirement that is met changes nothing") {
  Machine machine;
  machine.gpus = 1;
  CHECK(machine.run({"devices", "--require", "gpu"}) == 0);
  CHECK(machine.run({"devices", "--require", "nvidia"}) == 0);
  CHECK(machine.run({"devices", "--require", "amd"}) == 3);
}
