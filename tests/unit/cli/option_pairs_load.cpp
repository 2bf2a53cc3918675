// SPDX-License-Identifier: MIT
// The walks of the commands that load models.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>

#include "option_pairs.hpp"
#include "small_model.hpp"
#include "tiny_decoder.hpp"

namespace hiptool::cli::testing {
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

const Words short_prompt{"--prompt-ids", "5"};  // takes an eighth of the time of the usual one

std::vector<OptionProbe> loading_probes(const PairFiles& files, const std::string& model) {
  const std::string manifest = files.output("m.json");
  return {
      {"--verify", {"--verify", "readback"}},
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
      {"--self-test", {}},
      {"--check-tensors", {}},
      {"--strict", {}, {}, {"load", files.input("odd.gguf")}},
      {"--opaque", {}, {}, {"load", files.input("unknown.safetensors")}},
      {"--device", {"--device", "cpu:1"}},
      {"--export", {"--export", "json=" + files.output("e.json")}}};
}

std::vector<OptionProbe> context_probes() {
  const std::vector<std::vector<Words>> context{{{"--context", "64"}}};
  return {{"--context", {"--context", "64"}},
          {"--kv-type", {"--kv-type", "f32"}, context},
          {"--kv-type-k", {"--kv-type-k", "q8_0"}, context},
          {"--kv-type-v", {"--kv-type-v", "q8_0"}, context},
          {"--parallel", {"--parallel", "2"}, context}};
}

std::vector<OptionProbe> computing_probes(const PairFiles& files) {
  const std::vector<Words> decode{{"--decode", "2"}, short_prompt};
  const std::vector<Words> warm{{"--decode", "2"}, {"--temperature", "9"}, short_prompt};
  const std::vector<Words> proved{{"--prove"}, short_prompt};
  return {{"--decode", {"--decode", "2"}, {{short_prompt}}},
          {"--prompt-ids", {"--prompt-ids", "3"}, {decode, proved}},
          {"--prove", {}, {{short_prompt}}},
          {"--layers", {"--layers", "0"}, {proved}},
          {"--write-golden", {"--write-golden", files.output("golden")}, {proved}},
          {"--check-golden", {"--check-golden", files.input("golden")}, {proved}},
          {"--temperature", {"--temperature", "9"}, {decode}},
          {"--top-k", {"--top-k", "1"}, {warm}},
          {"--top-p", {"--top-p", "0.001"}, {warm}},
          {"--seed", {"--seed", "7"}, {warm}},
          {"--force",
           {},
           {{{"--write-manifest", files.output("foreign")}},
            {{"--prove"}, short_prompt, {"--write-golden", files.output("foreign")}}}}};
}

void write_models(const PairFiles& files) {
  TinyDecoder::write(files.input("m.gguf"));
  constexpr bool has_gap = true;
  TinyDecoder::write(files.input("odd.gguf"), has_gap);
  // A type that no table has.
  test::write_small_model(files.input("unknown.safetensors"),
                          {{"w", test::random_bytes(8, 1), "X9", 1}});
}

}  // namespace

PairWalk load_walk(const PairFiles& files) {
  const std::string model = files.input("m.gguf");
  write_models(files);
  std::vector<OptionProbe> probes = loading_probes(files, model);
  for (const auto& more : {context_probes(), computing_probes(files)}) {
    probes.insert(probes.end(), more.begin(), more.end());
  }
  PairWalk walk = files.walk({"load", model}, std::move(probes));
  walk.make_inputs = [&files, model] {
    run_first({"load", model, "--device", "cpu", "--write-manifest", files.input("m.json")});
    run_first({"prove", model, "--prompt-ids", "5", "--write-golden", files.input("golden")});
  };
  for (const char* output : {"--write-manifest", "--manifest-digest", "--write-golden"}) {
    // It replaces a file only where there is one.
    walk.unseen[std::string(output) + " --force"] = "the output is new";
  }
  for (const char* choice : {"--top-k", "--top-p"}) {
    walk.unseen[std::string(choice) + " --seed"] = "one token is left to choose from";
  }
  walk.unseen["--split --device"] = "one device holds all";
  walk.left_out["--demo"] = "it takes the place of PATH; program-load";
  walk.left_out["--write-logits"] = "of a proof; program-prove_seen";
  walk.left_out["--observe"] = "of a proof; program-prove_seen";
  return walk;
}

PairWalk prove_walk(const PairFiles& files) {
  const std::string model = files.input("m.gguf");
  write_models(files);
  PairWalk walk = files.walk(
      {"prove", model},
      {{"--layers", {"--layers", "0"}, {{short_prompt}}},
       {"--write-golden", {"--write-golden", files.output("golden")}, {{short_prompt}}},
       {"--check-golden", {"--check-golden", files.input("golden")}, {{short_prompt}}},
       {"--prompt-ids", {"--prompt-ids", "3"}},
       {"--split", {"--split", "replicate"}, {{short_prompt, {"--device", "cpu:0,cpu:1"}}}},
       {"--trace", {"--trace", files.output("trace")}, {{short_prompt}}},
       {"--strict", {}, {}, {"prove", files.input("odd.gguf")}},
       {"--force", {}, {{short_prompt, {"--write-golden", files.output("foreign")}}}},
       {"--export", {"--export", "json=" + files.output("e.json")}, {{short_prompt}}},
       {"--device", {"--device", "cpu:1"}, {{short_prompt}}}});
  walk.make_inputs = [&files, model] {
    run_first({"prove", model, "--prompt-ids", "5", "--write-golden", files.input("golden")});
  };
  walk.unseen["--write-golden --force"] = "the output is new";
  walk.unseen["--split --device"] = "one device holds all";
  for (const char* name : {"--write-logits", "--observe", "--self-test"}) {
    walk.left_out[name] = "program-prove_seen";
  }
  return walk;
}

}  // namespace hiptool::cli::testing
