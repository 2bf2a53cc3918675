// SPDX-License-Identifier: MIT
// The walks of the commands that read and write files alone.
#include "option_pairs.hpp"
#include "small_model.hpp"
#include "tiny_decoder.hpp"

namespace hiptool::cli::testing {

PairWalk inspect_walk(const PairFiles& files) {
  const std::string model = files.input("m.gguf");
  const std::string odd = files.input("odd.gguf");
  const std::string unknown = files.input("unknown.safetensors");
  TinyDecoder::write(model);
  constexpr bool has_gap = true;
  TinyDecoder::write(odd, has_gap);
  test::write_small_model(unknown, {{"w", test::random_bytes(8, 1), "X9", 1}});
  return files.walk({"inspect", model},
                    {{"--metadata", {}},
                     {"--tensors", {}},
                     {"--key", {"--key", "general.architecture"}},
                     {"--chat-template", {}, {{{"--format", "table"}}}},
                     {"--strict", {}, {}, {"inspect", odd}},
                     {"--opaque", {}, {}, {"inspect", unknown}},
                     {"--format", {"--format", "csv"}},
                     {"--export", {"--export", "csv=" + files.output("e.csv")}}});
}

PairWalk make_model_walk(const PairFiles& files) {
  const std::vector<std::vector<Words>> small{{{"--size", "64KiB"}}};
  const std::vector<std::vector<Words>> decoder{{{"--architecture", "llama"}}};
  PairWalk walk =
      files.walk({"make-model", files.output("m.gguf"), "--quiet"},
                 {{"--size", {"--size", "96KiB"}},
                  {"--tensor-count", {"--tensor-count", "5"}, small},
                  {"--dtype", {"--dtype", "F16"}, small},
                  {"--seed", {"--seed", "9"}, small},
                  {"--shards", {"--shards", "2"}, small},
                  {"--vocabulary", {"--vocabulary", "7"}, small},
                  {"--architecture", {"--architecture", "qwen2"}},
                  {"--rope", {"--rope", "linear"}, decoder},
                  {"--window", {"--window", "4"}, decoder},
                  {"--tied", {}, decoder},
                  {"--format", {"--format", "safetensors"}, small},
                  {"--force",
                   {},
                   small,
                   {"make-model", files.output("foreign"), "--quiet", "--format", "gguf"}}});
  walk.unseen["--shards --force"] = "the files of a set are new";
  return walk;
}

PairWalk compare_walk(const PairFiles& files) {
  const std::string run = files.input("run.json");
  PairWalk walk = files.walk({"report", "compare", run, run},
                             {{"--effect", {"--effect", "50%"}},
                              {"--export", {"--export", "csv=" + files.output("e.csv")}}});
  walk.make_inputs = [run] {
    run_first({"bench-copy", "--device", "cpu", "--kind", "h2d", "--size", "4KiB", "--samples", "2",
               "--export", "json=" + run});
  };
  walk.left_out["--strict-compare"] = "of an ambiguous verdict; program-report_compare";
  return walk;
}

PairWalk merge_walk(const PairFiles& files) {
  PairWalk walk = compare_walk(files);
  walk.base[1] = "merge";
  walk.probes.front() = {"--exclude-list", {"--exclude-list", files.output("list")}};
  return walk;
}

}  // namespace hiptool::cli::testing
