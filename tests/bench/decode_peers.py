#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens per second of `load --decode` and of llama.cpp, alternately: both, and their ratio.

Usage: decode_peers.py HIPTOOL LLAMA_BENCH MODEL... [--tokens N] [--rounds N]

LLAMA_BENCH is llama.cpp's program llama-bench, built with CUDA; the source package of
llama-cpp-python has it. A model that `make-model --architecture llama` wrote serves both. Each
round runs each program once, with all layers on the GPU: hiptool continues its own prompt of 8
tokens, llama-bench generates from nothing; neither counts the load. hiptool computes in f32 in a
fixed order, llama.cpp in f16 and by integer products.
"""
import argparse
import json
import statistics
import subprocess


def ours(options, model):
    command = [options.hiptool, "load", model, "--device", "nvidia:0", "--verify", "none",
               "--decode", str(options.tokens), "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    decode = json.loads(done.stdout)["decode"]
    return decode["tokens_per_s"], decode["share_of_peak"], decode["logits_digest"]


def theirs(options, model):
    command = [options.llama_bench, "-m", model, "-p", "0", "-n", str(options.tokens), "-r", "3",
               "-ngl", "99", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[0]["avg_ts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hiptool")
    parser.add_argument("llama_bench")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for model in options.models:
        pairs = [(ours(options, model), theirs(options, model)) for _ in range(options.rounds)]
        digests = {digest for (_, _, digest), _ in pairs}
        rate = statistics.median(mine for (mine, _, _), _ in pairs)
        share = statistics.median(share for (_, share, _), _ in pairs)
        other = statistics.median(other for _, other in pairs)
        print(f"{model}: hiptool {rate:.1f} tokens/s ({share:.2f} of the memory bandwidth, digest "
              f"{' '.join(sorted(digests))}), llama.cpp {other:.1f}, ratio {rate / other:.2f}",
              flush=True)


if __name__ == "__main__":
    main()
