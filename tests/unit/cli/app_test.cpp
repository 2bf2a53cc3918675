// SPDX-License-Identifier: MIT
// Whole runs: words in, text and exit code out.
#include "cli/app.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <fstream>

#include "cli/command.hpp"
#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

TEST_CASE("a call without a command shows help and opens nothing") {
  Machine machine;
  CHECK(machine.run({}) == 0);
  CHECK(contains(machine.out.text, "Examples:\n  hiptool devices"));
  for (const Command& command : commands()) CHECK(contains(machine.out.text, command.name));
  CHECK(machine.err.text.empty());
  CHECK(machine.platforms_made == 0);
  CHECK(widest_line(machine.out.text) <= 80);
}

TEST_CASE("help of every command: examples first, three ways, 80 columns") {
  Machine machine;
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    CHECK(machine.run({command.name, "--help"}) == 0);
    const std::string text = machine.out.text;
    CHECK(text.find("Examples:") < text.find("Usage:"));
    CHECK(text.find("Usage:") < text.find("Options"));
    CHECK(widest_line(text) <= 80);
    CHECK(machine.run({"-h", command.name}) == 0);
    CHECK(machine.out.text == text);
    CHECK(machine.run({"help", command.name}) == 0);
    CHECK(machine.out.text == text);
  }
  CHECK(machine.platforms_made == 0);
}

TEST_CASE("help topics fit 80 columns; an unknown one gets a suggestion") {
  Machine machine;
  for (const char* topic : {"exit-codes", "environment", "thresholds", "units", "help"}) {
    CAPTURE(topic);
    CHECK(machine.run({"help", topic}) == 0);
    CHECK(machine.out.text.size() > 100);
    CHECK(widest_line(machine.out.text) <= 82);
  }
  CHECK(machine.run({"help", "exit-code"}) == 2);
  CHECK(machine.out.text.empty());
  CHECK(contains(machine.err.text, "did you mean 'exit-codes'?"));
}

TEST_CASE("the version lists compiler and libraries and opens nothing") {
  Machine machine;
  CHECK(machine.run({"--version"}) == 0);
  for (const char* part : {"hiptool ", "built with:", "CLI11 2.", "fmt ", "nlohmann_json ",
                           "xxHash ", "kernel targets: ", "runtimes found:"}) {
    CHECK(contains(machine.out.text, part));
  }
  CHECK(machine.run({"devices", "-V"}) == 0);
  CHECK(starts_with(machine.out.text, "hiptool "));
  CHECK(machine.platforms_made == 0);
}

TEST_CASE("wrong usage is exit 2, with a suggestion and a pointer to the help") {
  struct Case {
    std::vector<std::string> words;
    const char* error;
    const char* hint;
  };
  const std::vector<Case> cases{
      {{"devcies"}, "unknown command 'devcies'", "did you mean 'devices'?"},
      {{"zebra"}, "unknown command 'zebra'", "see 'hiptool help'"},
      {{"--quiet"}, "no command given", "see 'hiptool help'"},
      {{"-v"}, "no command given", "-V and --version print the version"},
      {{"help", "load", "alll"}, "unexpected argument 'alll'", "did you mean 'all'?"},
      {{"help", "report", "rendr"}, "unexpected argument 'rendr'", "did you mean 'render'?"},
      {{"devices", "--fromat", "json"}, "unknown option '--fromat'", "did you mean '--format'?"},
      {{"--fromat=json", "devices"}, "unknown option '--fromat'", "did you mean '--format'?"},
      {{"devices", "--requir", "gpu"}, "unknown option '--requir'", "'--require'?"},
      {{"devices", "-x"}, "unknown option '-x'", "see 'hiptool help devices'"},
      {{"devices", "cpu", "more"}, "unexpected argument 'more'", "see 'hiptool help devices'"},
      {{"devices", "--format"}, "--format needs a value", "see 'hiptool help devices'"},
      {{"devices", "--format", "html"},
       "expected one of table, json, csv, markdown",
       "write it to a file with --export html=FILE"},
      {{"devices", "--format", "JUnit"}, "expected one of table, json", "--export junit=FILE"},
      {{"bench-copy", "--size", "abc"}, "--size: 'abc' is not a size", "64MiB"},
      {{"run-kernel", "fma", "--size", "abc"}, "--size: 'abc' is not a size", "64MiB"},
      {{"devices", "--export", "file"}, "expected FORMAT=FILE", "--export json="},
      {{"devices", "--color", "alway"}, "expected one of auto, always, never", "'always'?"},
      {{"devices", "--platform", "nvida"}, "expected one of amd, nvidia, cpu", "'nvidia'?"},
      {{"devices", "--device", "cpu,"}, "empty list element", ""},
      {{"devices", "--require", "gup"}, "expected one of gpu, amd, nvidia", "did you mean 'gpu'?"},
      {{"make-model"}, "OUT is missing", "see 'hiptool help make-model'"},
      {{"report", "merge"}, "report merge needs a document", "hiptool report merge FILE..."},
      {{"report", "compare", "a"}, "report compare does not take 1 file", "compare OLD NEW"},
      {{"make-model", "--sed", "3"}, "unknown option '--sed'", "did you mean '--seed'?"},
      {{"make-model", "m.bin"}, "cannot infer the model format", "--format"},
      {{"make-model", "m.gguf", "--size", "-1"}, "--size: '-1' is not a size", "64MiB"},
      {{"make-model", "m.gguf", "--size", ""}, "--size has an empty value", "leave out --size"},
      {{"make-model", "m.gguf", "--size", "12xyz"}, "is not a size", "64MiB"},
      {{"make-model", "m.gguf", "--tensors", "0"}, "expected a whole number from 1 to", ""},
      {{"make-model", "m.gguf", "--tensors", "1e3"}, "expected a whole number from 1 to", ""},
      {{"make-model", "m.gguf", "--seed", "-1"}, "expected a whole number from 0", ""},
      {{"make-model", "m.gguf", "--format", "json"}, "expected one of gguf, safetensors", ""},
      {{"make-model", "m.gguf", "--device", "cpu"}, "make-model does not use a device", "--device"},
      {{"make-model", "m.gguf", "--export", "csv=x"}, "expected one of table, json", ""},
      {{"load", "m.gguf", "--verify", "sha256"}, "expected one of auto, full", "--sha256 HEX"},
      {{"report"}, "ACTION is missing", "report compare OLD NEW"},
      {{"report", "a.json"}, "not an action of report", "'hiptool report render a.json'?"},
      {{"make-model", "m.gguf", "--architecture", "mistral"},
       "mistral is written as safetensors only",
       "x.safetensors"},
  };
  Machine machine;
  for (const Case& wrong : cases) {
    CAPTURE(wrong.error);
    CHECK(machine.run(wrong.words) == 2);
    CHECK(machine.out.text.empty());
    CHECK(starts_with(machine.err.text, "error: "));
    CHECK(contains(machine.err.text, wrong.error));
    CHECK(contains(machine.err.text, wrong.hint));
  }
  CHECK(machine.platforms_made == 0);
}

TEST_CASE("an output that cannot be written is reported once") {
  Machine machine;
  CHECK(machine.run({"devices", "--device", "cpu", "--export", "json=/dev/full"}) == 7);
  const std::string error = "error: cannot write /dev/full";
  const std::size_t first = machine.err.text.find(error);
  CHECK(first != std::string::npos);
  CHECK(machine.err.text.find(error, first + 1) == std::string::npos);
}

TEST_CASE("an output that cannot be written stops no other one") {
  if (::access("/dev/full", W_OK) != 0) return;
  const TemporaryFolder folder;
  const std::string full = "json=/dev/full";
  const std::string csv = "csv=" + (folder / "out.csv");
  const std::vector<std::vector<std::string>> orders{{"--export", full, "--export", csv},
                                                     {"--export", csv, "--export", full}};
  for (const std::vector<std::string>& exports : orders) {
    std::filesystem::remove(folder / "out.csv");
    std::vector<std::string> words{"devices", "--device", "cpu"};
    words.insert(words.end(), exports.begin(), exports.end());
    Machine machine;
    CHECK(machine.run(words) == 7);
    CHECK(contains(machine.out.text, "cpu:0"));
    CHECK(starts_with(start_of(folder / "out.csv"), "id,platform,"));
    CHECK(starts_with(machine.err.text,
                      "error: cannot write /dev/full: No space left on device\nhint: "));
    CHECK_FALSE(contains(machine.err.text, "Bad file descriptor"));
  }
}

TEST_CASE("a file of a run that cannot be written does not hide the run's result") {
  if (::access("/dev/full", W_OK) != 0) return;
  Machine machine;
  CHECK(machine.run({"load", "--demo", "--device", "cpu", "--trace", "/dev/full"}) == 7);
  CHECK(contains(machine.err.text, "error: cannot write /dev/full"));
  CHECK(starts_with(machine.out.text, "verified "));
}

TEST_CASE("with --format json a failure is one document too") {
  Machine machine;
  CHECK(machine.run({"devices", "--format", "json", "--nothing"}) == 2);
  CHECK(starts_with(machine.out.text, "{\n  \"schema\": \"hiptool.devices/2\""));
  for (const char* part :
       {"\"tool\": ", "\"host\": ", "\"started_at\": \"20", "\"status\": \"failed\"",
        "\"code\": \"invalid_argument\"", "\"message\": \"unknown option",
        "\"hint\": \"see 'hiptool help devices'\"", "\"native\": null"}) {
    CAPTURE(part);
    CHECK(contains(machine.out.text, part));
  }
  CHECK(contains(machine.err.text, "error: unknown option"));

  CHECK(machine.run({"--format=json", "zebra"}) == 2);
  CHECK(contains(machine.out.text, "\"schema\": \"hiptool.hiptool/2\""));
  machine.variables["HIPTOOL_FORMAT"] = "json";
  CHECK(machine.run({"devices", "nvidia:7"}) == 3);
  CHECK(contains(machine.out.text, "\"code\": \"unavailable\""));
  CHECK(machine.run({"make-model", "m.bin"}) == 2);
  CHECK(contains(machine.out.text, "\"schema\": \"hiptool.make-model/2\""));
}

TEST_CASE("an interrupted run ends with the signal's code and says so in JSON") {
  Machine machine;
  machine.cancel.cancel();
  machine.signal = SIGTERM;
  CHECK(machine.run({"devices", "--format", "json"}) == 143);
  CHECK(contains(machine.out.text, "\"status\": \"interrupted\""));
  CHECK(contains(machine.out.text, "\"code\": \"cancelled\""));
  machine.signal = SIGINT;
  CHECK(machine.run({"devices"}) == 130);
  CHECK(machine.out.text.empty());
}

TEST_CASE("common options work before and after the command") {
  Machine machine;
  const std::vector<std::vector<std::string>> ways{{"devices", "--format", "csv"},
                                                   {"--format", "csv", "devices"},
                                                   {"--format", "json", "devices", "--format=csv"}};
  for (const std::vector<std::string>& words : ways) {
    CHECK(machine.run(words) == 0);
    CHECK(starts_with(machine.out.text, "id,platform,"));
  }
}

TEST_CASE("colour by option and environment, on the stream that is a terminal") {
  Machine machine;
  machine.gpus = 1;
  CHECK(machine.run({"devices"}) == 0);
  CHECK_FALSE(contains(machine.out.text, "\x1b["));
  CHECK(machine.run({"devices", "--color", "always"}) == 0);
  CHECK(contains(machine.out.text, "\x1b["));
  machine.out.terminal = true;
  CHECK(machine.run({"devices"}) == 0);
  CHECK(contains(machine.out.text, "\x1b["));
  machine.variables.insert_or_assign("NO_COLOR", std::string(1, '1'));
  CHECK(machine.run({"devices"}) == 0);
  CHECK_FALSE(contains(machine.out.text, "\x1b["));
  CHECK(machine.run({"--color=always", "--nothing"}) == 2);
  CHECK(contains(machine.err.text, "\x1b[1;31merror:"));
}

TEST_CASE("a broken output is exit 7, a closed one is not") {
  Machine machine;
  machine.out.error = ENOSPC;
  CHECK(machine.run({"devices"}) == 7);
  CHECK(contains(machine.err.text, "No space left on device"));
  machine.out.error = EPIPE;
  CHECK(machine.run({"devices"}) == 0);
  CHECK(machine.err.text.empty());
  CHECK(machine.run({"devices", "nvidia:9"}) == 3);
}

TEST_CASE("exports of a run that failed say so") {
  const TemporaryFolder folder;
  std::ofstream(folder / "out.json") << "old";
  Machine machine;
  CHECK(machine.run({"devices", "nvidia:7", "--export", "json=" + (folder / "out.json"), "--export",
                     "junit=" + (folder / "out.xml"), "--export", "prom=" + (folder / "out.prom"),
                     "--export", "html=" + (folder / "out.html")}) == 3);
  CHECK(contains(start_of(folder / "out.json"), "\"status\": \"failed\""));
  CHECK(contains(start_of(folder / "out.json"), "\"code\": \"unavailable\""));
  CHECK(contains(start_of(folder / "out.xml"), "errors=\"1\""));
  CHECK(contains(start_of(folder / "out.prom"), "hiptool_success{command=\"devices\"} 0\n"));
  CHECK(contains(start_of(folder / "out.html"), "class=\"verdict bad\""));
  // An export that fails too does not hide the reason; of both codes help names 7 first.
  if (::access("/dev/full", W_OK) == 0) {
    CHECK(machine.run({"devices", "nvidia:7", "--export", "json=/dev/full"}) == 7);
    CHECK(contains(machine.err.text, "nvidia:7 cannot be used"));
    CHECK(contains(machine.err.text, "error: cannot write /dev/full"));
  }
}

TEST_CASE("an export that cannot be opened stops the run before its work") {
  Machine machine;
  CHECK(machine.run({"devices", "--export", "json=/nonexistent/x", "--format", "json"}) == 7);
  CHECK(machine.platforms_made == 0);
  CHECK(contains(machine.out.text, "\"code\": \"output_failed\""));
}

TEST_CASE("notes are shown with --verbose only") {
  Machine machine;
  CHECK(machine.run({"devices"}) == 0);
  CHECK_FALSE(contains(machine.out.text, "tried: "));
  CHECK(machine.run({"devices", "--verbose"}) == 0);
  CHECK(contains(machine.out.text, "tried: librun.so.7"));
}
