// SPDX-License-Identifier: MIT
#include "cli/wrong_words.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

struct Guess {
  std::vector<std::string> words;
  const char* hint;
};

// Each is refused as wrong usage, before anything is opened.
void check_hints(const std::vector<Guess>& guesses) {
  Machine machine;
  for (const Guess& guess : guesses) {
    CAPTURE(guess.words.front());
    CAPTURE(guess.words.back());
    CHECK(machine.run(guess.words) == 2);
    INFO(machine.err.text);
    CHECK(contains(machine.err.text, guess.hint));
    CHECK(machine.out.text.empty());
  }
  CHECK(machine.platforms_made == 0);
}

}  // namespace

TEST_CASE("words of other programs lead to the command") {
  check_hints({{{"info"}, "did you mean 'hiptool devices'?"},
               {{"list"}, "did you mean 'hiptool devices'?"},
               {{"smi"}, "did you mean 'hiptool devices'?"},
               {{"SMI"}, "did you mean 'hiptool devices'?"},
               {{"nvidia-smi"}, "did you mean 'hiptool devices'?"},
               {{"doctor"}, "did you mean 'hiptool devices --doctor'?"},
               {{"top"}, "did you mean 'hiptool devices --watch'?"},
               {{"topo"}, "did you mean 'hiptool devices --topology'?"},
               {{"status"}, "did you mean 'hiptool devices'?"},
               {{"test"}, "did you mean 'hiptool check'?"},
               {{"burn"}, "did you mean 'hiptool check --duration 1h'?"},
               {{"bandwidth"}, "did you mean 'hiptool bench-copy'?"},
               {{"kernel"}, "did you mean 'hiptool run-kernel NAME'?"},
               {{"merge"}, "did you mean 'hiptool report merge FILE...'?"},
               {{"render"}, "did you mean 'hiptool report render FILE'?"},
               {{"verify"}, "did you mean 'hiptool load MODEL'?"},
               {{"verify", "m.gguf"}, "did you mean 'hiptool load m.gguf'?"},
               {{"healthcheck"}, "did you mean 'hiptool check'?"},
               {{"run", "m.gguf"}, "did you mean 'hiptool load m.gguf --decode 32'?"},
               {{"chat", "m.gguf"}, "did you mean 'hiptool load m.gguf --decode 32'?"},
               {{"fit", "m.gguf"}, "'hiptool load m.gguf --dry-run --context 8k'?"},
               {{"info", "my model.gguf"}, "did you mean 'hiptool inspect 'my model.gguf''?"},
               {{"bench"}, "did you mean 'hiptool bench-copy' or 'hiptool run-kernel all'?"},
               {{"version"}, "did you mean 'hiptool --version'?"},
               {{"compare", "a.json", "b.json"}, "did you mean 'hiptool report compare OLD NEW'?"},
               {{"LOAD"}, "did you mean 'load'?"},
               {{"zebra"}, "see 'hiptool help'"}});
}

TEST_CASE("a model without a command leads to those that take one") {
  for (const char* model : {"m.gguf", "./no/such.GGUF", "m.safetensors"}) {
    check_hints({{{model}, "hiptool load "},
                 {{model}, "hiptool inspect "},
                 {{model}, "hiptool prove "},
                 {{model}, model}});
  }
  check_hints({{{"a b.gguf"}, "hiptool load 'a b.gguf' "}, {{"a.gguf"}, "no such file is here"}});
  const TemporaryFolder folder;
  const std::string document = (folder.path() / "run.json").string();
  check_hints({{{document}, "see 'hiptool help'"}});
  std::ofstream(document) << "{}";
  check_hints({{{document}, "did you mean 'hiptool report render "},
               {{folder.path().string()}, "hiptool load "}});
}

TEST_CASE("an unknown command comes before the options after it") {
  check_hints({{{"topo", "-m"}, "unknown command 'topo'"},
               {{"topo", "-m"}, "did you mean 'hiptool devices --topology'?"},
               {{"list", "--json"}, "did you mean 'hiptool devices'?"},
               {{"lod", "m.gguf", "-ngl", "99"}, "did you mean 'load'?"},
               {{"m.gguf", "-c", "4096"}, "hiptool load "},
               {{"--color", "never", "smi", "-q"}, "unknown command 'smi'"},
               {{"--json", "topo"}, "unknown option '--json'"},
               {{"devices", "topo", "-m"}, "unknown option '-m'"}});
}

TEST_CASE("options of other programs lead to the option") {
  check_hints({{{"--list-devices"}, "did you mean 'hiptool devices'?"},
               {{"--json"}, "did you mean '--format json'?"},
               {{"devices", "--json"}, "did you mean '--format json'?"},
               {{"load", "m.gguf", "--gpu", "0"}, "'--device amd:0' or '--device nvidia:0'?"},
               {{"devices", "--gpu"}, "'--device amd:0' or '--device nvidia:0'?"},
               {{"load", "m.gguf", "--gpu=1"}, "'--device amd:1' or '--device nvidia:1'?"},
               {{"--gpu", "2", "devices"}, "'--device amd:2' or '--device nvidia:2'?"},
               {{"check", "--quick"}, "did you mean '--level quick'?"},
               {{"bench-copy", "--quick"}, "did you mean '--level quick'?"},
               {{"load", "m.gguf", "--quick"}, "did you mean '--verify fast'?"},
               {{"check", "--full"}, "did you mean '--level long'?"},
               {{"bench-copy", "--full"}, "did you mean '--level full'?"},
               {{"load", "m.gguf", "--full"}, "did you mean '--verify full'?"},
               {{"run-kernel", "add", "--quick"}, "did you mean '--sweep quick'?"},
               {{"bench-copy", "--iterations", "9"}, "did you mean '--samples N'?"},
               {{"devices", "--csv"}, "did you mean '--format csv'?"},
               {{"devices", "--html"}, "did you mean '--export html=FILE'?"},
               {{"check", "--output", "x"}, "did you mean '--export json=FILE'?"},
               {{"check", "--no-color"}, "did you mean '--color never'?"},
               {{"check", "--junit", "x"}, "did you mean '--export junit=FILE'?"},
               {{"bench-copy", "--seconds", "2"}, "did you mean '--time SECONDS'?"},
               {{"run-kernel", "fma", "--duration", "2"}, "did you mean '--time SECONDS'?"},
               {{"load", "m.gguf", "-c", "4096"}, "did you mean '--context N'?"},
               {{"load", "m.gguf", "-ngl", "9"}, "did you mean '--dry-run --context N'?"},
               {{"load", "m.gguf", "--tokens", "9"}, "did you mean '--decode N'?"},
               {{"load", "--model", "m.gguf"}, "did you mean 'hiptool load"},
               {{"--list"}, "did you mean 'hiptool devices'?"},
               {{"devices", "--fromat", "json"}, "did you mean '--format'?"}});
}

TEST_CASE("an option of another command names the commands that have it") {
  check_hints({{{"load", "m.gguf", "--samples", "3"}, "bench-copy and run-kernel have --samples"},
               {{"load", "m.gguf", "--samples", "3"}, "see 'hiptool help load'"},
               {{"devices", "--grid", "5"}, "run-kernel has --grid"},
               {{"check", "--layers=1"}, "load and prove have --layers"}});
}

TEST_CASE("a value without its option names the option") {
  check_hints({{{"check", "quick"}, "did you mean '--level quick'?"},
               {{"check", "MEMORY"}, "did you mean '--stage memory'?"},
               {{"bench-copy", "h2d"}, "did you mean '--kind h2d'?"},
               {{"check", "json"}, "did you mean '--format json'?"},
               {{"check", "nvidia:0"}, "did you mean '--device nvidia:0'?"},
               {{"check", "all"}, "did you mean '--device all'?"},
               {{"bench-copy", "cuda:1"}, "did you mean 'nvidia:1'?"},
               {{"check", "nvidia:0-7"}, "did you mean '--device nvidia:0-7'?"},
               {{"check", "--device", "cuda:0-3"}, "did you mean 'nvidia:0-3'?"},
               {{"check", "--device", "0-3"}, "did you mean 'amd:0-3' or 'nvidia:0-3'?"},
               {{"check", "a b.gguf"}, "did you mean '--model 'a b.gguf''?"},
               {{"bench-copy", "m.gguf"}, "see 'hiptool help bench-copy'"},
               {{"help", "load", "cpu"}, "see 'hiptool help load'"}});
}

TEST_CASE("a value without its command leads to the command and to its help") {
  check_hints({{{"matmul"}, "did you mean 'hiptool run-kernel matmul'?"},
               {{"matmul"}, "see 'hiptool help run-kernel'"},
               {{"help", "matmul"}, "did you mean 'hiptool run-kernel matmul'?"},
               {{"help", "MATMUL"}, "see 'hiptool help run-kernel'"},
               {{"help", "memtest-random"}, "did you mean 'hiptool run-kernel memtest-random'?"},
               {{"help", "bash"}, "did you mean 'hiptool completion bash'?"},
               {{"help", "h2d"}, "'h2d' is a value of bench-copy --kind"},
               {{"help", "h2d"}, "see 'hiptool help bench-copy'"},
               {{"help", "host_to_device_memcpy_ce"}, "is a value of bench-copy --testcase"},
               {{"help", "llama"}, "'llama' is a value of make-model --architecture"},
               {{"help", "q8_0"}, "see 'hiptool help load' or 'hiptool help run-kernel'"},
               {{"help", "json"}, "did you mean '--format json'?"},
               {{"help", "gfx90a"}, "'hiptool devices' shows the architecture of each GPU"},
               {{"sm_90"}, "see 'hiptool help devices'"},
               {{"help", "doctor"}, "did you mean 'hiptool devices --doctor'?"},
               {{"help", "doctor"}, "see 'hiptool help devices'"},
               {{"help", "m.gguf"}, "hiptool inspect m.gguf"},
               {{"help", "laod"}, "did you mean 'load'?"},
               {{"help", "zebra"}, "see 'hiptool help'"}});
}

TEST_CASE("a word that a topic lists leads to the topic") {
  check_hints({{{"help", "HIPTOOL_DEVICE"}, "see 'hiptool help environment'"},
               {{"help", "HIP_PATH"}, "see 'hiptool help environment'"},
               {{"help", "130"}, "see 'hiptool help exit-codes'"},
               {{"help", "1.5GiB"}, "see 'hiptool help units'"},
               {{"help", "kfd-missing"}, "see 'hiptool help HT-KFD-MISSING'"}});
}

TEST_CASE("names of devices in other programs lead to an id") {
  check_hints({{{"devices", "-d", "0"}, "did you mean 'amd:0' or 'nvidia:0'?"},
               {{"devices", "0"}, "did you mean 'amd:0' or 'nvidia:0'?"},
               {{"devices", "-d", "gpu"}, "did you mean 'all', every GPU?"},
               {{"devices", "-d", "GPU:1"}, "did you mean 'amd:1' or 'nvidia:1'?"},
               {{"devices", "-d", "cuda:1"}, "did you mean 'nvidia:1'?"},
               {{"devices", "-d", "CUDA"}, "did you mean 'nvidia:0'?"},
               {{"devices", "-d", "rocm:0"}, "did you mean 'amd:0'?"},
               {{"devices", "-d", "cpu,hip:2"}, "did you mean 'amd:2'?"}});
}

TEST_CASE("what a hint names is there") {
  Machine machine;
  const auto check_words = [&machine](const std::string& wrong, const std::string& hint) {
    CAPTURE(wrong);
    CAPTURE(hint);
    REQUIRE(contains(hint, "hiptool "));
    for (std::size_t at = 0; (at = hint.find("hiptool ", at)) != std::string::npos;) {
      at += 8;
      std::istringstream words(hint.substr(at, hint.find('\'', at) - at));
      std::string command;
      words >> command;
      if (command == "--version") continue;
      REQUIRE(machine.run({"help", command, "all"}) == 0);
      const std::string help = machine.out.text;
      for (std::string word; words >> word;) {
        if (starts_with(word, "--") || word == "compare" || word == "render" || word == "merge") {
          CHECK(contains(help, word));
        }
      }
    }
  };
  for (const char* word :
       {"info",    "list",        "ls",          "gpus",    "device",   "smi",    "nvidia-smi",
        "amd-smi", "rocm-smi",    "rocminfo",    "status",  "top",      "watch",  "monitor",
        "topo",    "topology",    "doctor",      "diag",    "diagnose", "test",   "health",
        "verify",  "validate",    "show",        "run",     "kernel",   "stress", "burn",
        "bench",   "benchmark",   "bandwidth",   "compare", "merge",    "render", "version",
        "copy",    "chat",        "generate",    "decode",  "fit",      "plan",   "hash",
        "memtest", "healthcheck", "health-check"}) {
    check_words(word, hint_for_command(word, ""));
  }
  for (const char* option : {"--list-devices", "--list-gpus", "--doctor", "--topology"}) {
    check_words(option, hint_for_option(option, "", ""));
  }
}

TEST_CASE("a uuid or a bus id is no name of another program") {
  for (const char* id : {"GPU-0123-4567", "0000:65:00.0", "MIG-0123-4567", "cpu:0", "all"}) {
    CAPTURE(id);
    CHECK(hint_for_device(id).empty());
  }
}

TEST_CASE("words of a list in any case, also where another option depends on them") {
  Machine machine;
  CHECK(machine.run({"run-kernel", "FMA", "--dtype", "F32", "--size", "4KiB", "--samples", "1",
                     "--device", "CPU"}) == 0);
  CHECK(machine.run({"devices", "CPU:0", "--platform", "Cpu", "--format", "CSV"}) == 0);
  // --duration applies to the stage soak alone: refused with another stage, in any case.
  CHECK(machine.run({"check", "--stage", "DOCTOR", "--duration", "1s"}) == 2);
  CHECK(machine.run({"check", "--stage", "SOAK", "--duration", "0s"}) == 2);
  CHECK(contains(machine.err.text, "'0s' is not a time"));
}

TEST_CASE("report render: a table on a terminal, HTML elsewhere") {
  const TemporaryFolder folder;
  const std::string document = (folder.path() / "run.json").string();
  Machine machine;
  REQUIRE(machine.run({"devices", "--export", "json=" + document}) == 0);
  const std::string table = machine.out.text;
  CHECK(machine.run({"report", "render", document}) == 0);
  CHECK(starts_with(machine.out.text, "<!DOCTYPE html>"));
  machine.out.terminal = true;
  CHECK(machine.run({"report", "render", document}) == 0);
  CHECK(contains(machine.out.text, table.substr(0, table.find('\n'))));
  CHECK_FALSE(contains(machine.out.text, "<html"));
  CHECK(machine.run({"report", "render", document, "--format", "html"}) == 0);
  CHECK(starts_with(machine.out.text, "<!DOCTYPE html>"));
}
