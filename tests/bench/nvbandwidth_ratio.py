#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies by bench-copy and by NVIDIA's nvbandwidth, alternately: the ratios of their medians.

Usage: nvbandwidth_ratio.py HIPTOOL NVBANDWIDTH [--size MIB] [--rounds N] [--device N]
Prints one line for each copy, and exits 1 if a ratio is off by more than 1 %. Both count each byte
once. nvbandwidth 0.8 is https://github.com/NVIDIA/nvbandwidth; its -j writes JSON, rates in GB/s.
"""
import argparse
import json
import statistics
import subprocess
import sys

# Name of the test case, and kind of bench-copy.
CASES = [("host_to_device_memcpy_ce", "h2d"), ("device_to_host_memcpy_ce", "d2h"),
         ("device_local_copy", "d2d")]
TOLERANCE = 0.01


def ours(options, kind):
    command = [options.hiptool, "bench-copy", "--kind", kind, "--size", f"{options.size}MiB",
               "--device", f"nvidia:{options.device}", "--format", "json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return next(one["bytes_per_s"] for one in document["measurements"]
                if one["kind"] == kind and one["bytes_per_s"] is not None)


def theirs(options, case):
    command = [options.nvbandwidth, "-t", case, "-b", str(options.size), "-j"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    case_of = next(one for one in document["nvbandwidth"]["testcases"] if one["name"] == case)
    return float(case_of["bandwidth_matrix"][0][options.device]) * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hiptool")
    parser.add_argument("nvbandwidth")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    is_right = True
    for case, kind in CASES:
        pairs = [(ours(options, kind), theirs(options, case))
                 for _ in range(options.rounds)]
        own, other = (statistics.median(side) for side in zip(*pairs))
        is_near = abs(own / other - 1) <= TOLERANCE
        print(f"{kind}: bench-copy {own / 1e9:.2f} GB/s, nvbandwidth {other / 1e9:.2f} GB/s, "
              f"ratio {own / other:.4f}{'' if is_near else ', off by more than 1 %'}")
        is_right = is_right and is_near
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
