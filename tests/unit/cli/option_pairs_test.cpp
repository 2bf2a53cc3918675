// SPDX-License-Identifier: MIT
// All pairs of options of each command.
#include "option_pairs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>

#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

// By coreutils, as a reference that is not ours.
std::string sha256_of(const std::string& path) {
  std::array<char, 65> text{};
  std::FILE* const pipe = ::popen(("sha256sum '" + path + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  const std::size_t got = std::fread(text.data(), 1, 64, pipe);
  ::pclose(pipe);
  REQUIRE(got == 64);
  return text.data();
}

}  // namespace

TEST_CASE("pairs of options of load") {
  const PairFiles files;
  const std::string model = files.input("m.gguf");
  const std::string odd = files.input("odd.safetensors");
  const std::string unknown = files.input("unknown.safetensors");
  run_first({"make-model", model, "--architecture", "llama"});
  run_first({"load", model, "--device", "cpu", "--write-manifest", files.input("m.json")});
  run_first(
      {"load", model, "--prove", "--prompt-ids", "5", "--write-golden", files.input("golden")});
  // A name that is in no specification, and a type that no table has.
  test::write_small_model(
      odd, {{"w", test::random_bytes(8, 1), "F32", 4}, {"w2", test::random_bytes(3, 1)}});
  test::write_small_model(unknown, {{"w", test::random_bytes(8, 1), "X9", 1}});
  const Words short_prompt{"--prompt-ids", "5"};  // takes an eighth of the time of the usual one
  const std::vector<Words> decode{{"--decode", "3"}, short_prompt};
  const std::vector<Words> warm{{"--decode", "3"}, {"--temperature", "9"}, short_prompt};
  const std::vector<Words> proved{{"--prove"}, short_prompt};
  const std::string manifest = files.output("m.json");
  PairWalk walk = files.walk(
      {"load", model},
      {{"--verify", {"--verify", "readback"}},
       // A wrong one ends the run, if it is compared at all.
       {"--sha256", {"--sha256", sha256_of(model)}, {}, {}, {"--sha256", std::string(64, '0')}},
       {"--io", {"--io", "direct"}},
       {"--split", {"--split", "replicate"}, {{{"--device", "cpu:0,cpu:1"}}}},
       {"--trace", {"--trace", files.output("trace")}},
       {"--write-manifest", {"--write-manifest", manifest}},
       {"--manifest-digest", {"--manifest-digest", "sha256"}, {{{"--write-manifest", manifest}}}},
       {"--check-manifest", {"--check-manifest", files.input("m.json")}},
       {"--tensors", {}},
       {"--dry-run", {}},
       {"--context", {"--context", "64"}},
       {"--decode", {"--decode", "3"}, {{short_prompt}}},
       {"--prompt-ids", {"--prompt-ids", "3"}, {decode, proved}},
       {"--prove", {}, {{short_prompt}}},
       {"--layers", {"--layers", "0"}, {proved}},
       {"--write-golden", {"--write-golden", files.output("golden")}, {proved}},
       {"--check-golden", {"--check-golden", files.input("golden")}, {proved}},
       {"--temperature", {"--temperature", "9"}, {decode}},
       {"--top-k", {"--top-k", "1"}, {warm}},
       {"--top-p", {"--top-p", "0.001"}, {warm}},
       {"--seed", {"--seed", "7"}, {warm}},
       {"--self-test", {}},
       {"--check-tensors", {}},
       {"--force",
        {},
        {{{"--write-manifest", files.output("foreign")}},
         {{"--prove"}, short_prompt, {"--write-golden", files.output("foreign")}}}},
       {"--device", {"--device", "cpu:1"}}});
  for (const char* output : {"--write-manifest", "--manifest-digest", "--write-golden"}) {
    // It replaces a file only where there is one.
    walk.unseen[std::string(output) + " --force"] = "the output is new";
  }
  for (const char* choice : {"--top-k", "--top-p"}) {
    walk.unseen[std::string(choice) + " --seed"] = "one token is left to choose from";
  }
  walk.unseen["--split --device"] = "one device holds all";
  // These need models of their own; --demo takes no other option's model.
  check_walk(walk, "--kv-type --kv-type-k --kv-type-v --parallel --strict --opaque --demo");
}

TEST_CASE("pairs of options of prove") {
  const PairFiles files;
  const std::string model = files.input("m.gguf");
  run_first({"make-model", model, "--architecture", "llama"});
  run_first({"prove", model, "--prompt-ids", "5", "--write-golden", files.input("golden")});
  const Words short_prompt{"--prompt-ids", "5"};
  PairWalk walk = files.walk(
      {"prove", model},
      {{"--layers", {"--layers", "0"}, {{short_prompt}}},
       {"--write-golden", {"--write-golden", files.output("golden")}, {{short_prompt}}},
       {"--check-golden", {"--check-golden", files.input("golden")}, {{short_prompt}}},
       {"--prompt-ids", {"--prompt-ids", "3"}},
       {"--split", {"--split", "replicate"}, {{short_prompt, {"--device", "cpu:0,cpu:1"}}}},
       {"--trace", {"--trace", files.output("trace")}, {{short_prompt}}},
       {"--force", {}, {{short_prompt, {"--write-golden", files.output("foreign")}}}},
       {"--device", {"--device", "cpu:1"}, {{short_prompt}}}});
  walk.unseen["--write-golden --force"] = "the output is new";
  walk.unseen["--split --device"] = "one device holds all";
  check_walk(walk, "--strict");
}

TEST_CASE("pairs of options of inspect") {
  const PairFiles files;
  const std::string model = files.input("m.gguf");
  run_first({"make-model", model, "--architecture", "llama"});
  PairWalk walk = files.walk({"inspect", model},
                             {{"--metadata", {}},
                              {"--tensors", {}},
                              {"--key", {"--key", "general.architecture", "--format", "table"}},
                              {"--export", {"--export", "csv=" + files.output("e.csv")}}});
  check_walk(walk, "--chat-template --strict --opaque");
}

TEST_CASE("pairs of options of make-model") {
  const PairFiles files;
  PairWalk walk = files.walk({"make-model", files.output("m.gguf"), "--quiet"},
                             {{"--size", {"--size", "96KiB"}},
                              {"--tensor-count", {"--tensor-count", "5"}, {{{"--size", "64KiB"}}}},
                              {"--dtype", {"--dtype", "F16"}, {{{"--size", "64KiB"}}}},
                              {"--seed", {"--seed", "9"}, {{{"--size", "64KiB"}}}},
                              {"--shards", {"--shards", "2"}, {{{"--size", "64KiB"}}}},
                              {"--vocabulary", {"--vocabulary", "7"}, {{{"--size", "64KiB"}}}},
                              {"--architecture", {"--architecture", "qwen2"}},
                              {"--rope", {"--rope", "linear"}, {{{"--architecture", "llama"}}}},
                              {"--tied", {}, {{{"--architecture", "llama"}}}}});
  check_walk(walk, "--format --window --force");
}

TEST_CASE("pairs of options of report") {
  const PairFiles files;
  const std::string run = files.input("run.json");
  run_first({"bench-copy", "--device", "cpu", "--kind", "h2d", "--size", "4KiB", "--samples", "2",
             "--export", "json=" + run});
  check_walk(files.walk({"report", "compare", run, run},
                        {{"--effect", {"--effect", "50%"}},
                         {"--export", {"--export", "csv=" + files.output("e.csv")}}}),
             "--exclude-list");
  check_walk(files.walk({"report", "merge", run, run},
                        {{"--exclude-list", {"--exclude-list", files.output("list")}},
                         {"--export", {"--export", "csv=" + files.output("e.csv")}}}),
             "--effect");
}

TEST_CASE("options: what one lacks is said, not that another has no effect with it") {
  const std::vector<std::pair<Words, std::string>> runs{
      {{"--device", "cpu", "--write-golden", "a"}, "--write-golden applies only to --prove"},
      {{"--layers", "1"}, "--layers applies only to --prove"},
      {{"--check-golden", "a", "--dry-run", "--io", "direct"},
       "--check-golden applies only to --prove"},
      {{"--prove", "--write-golden", "a", "--check-golden", "b", "--device", "cpu"}, "two runs"},
      {{"--prove", "--write-golden", "a", "--decode", "3", "--verify", "full"}, "two runs"},
      {{"--prove", "--write-golden", "a", "--device", "cpu"},
       "--device has no effect with --write-golden"},
      {{"--force"}, "--force applies only to --write-manifest or --write-golden"}};
  for (const auto& run : runs) {
    const Words& words = run.first;
    const std::string& part = run.second;
    CAPTURE(part);
    Machine machine;
    Words all{"load", "m.gguf"};
    all.insert(all.end(), words.begin(), words.end());
    CHECK(machine.run(all) == 2);
    CHECK_MESSAGE(contains(machine.err.text, part), machine.err.text);
  }
}
