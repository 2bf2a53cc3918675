#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies by bench-copy and by NVIDIA's nvbandwidth, alternately: the ratios of their medians.

Usage: nvbandwidth_ratio.py HIPTOOL NVBANDWIDTH [--size MIB] [--rounds N] [--cases PATTERN]
       [--samples N]

Measures the test cases of nvbandwidth whose names match PATTERN (all without it) on all GPUs that
are visible; those of several GPUs are left out where there is one. In each round both programs run
once for each case, one after the other: rates of the host's memory swing for seconds. Ctrl-C ends
the rounds early. --samples 3 gives bench-copy as many samples as nvbandwidth takes: a third of the
time, so that more rounds fit where rates swing. Prints one line for each case: both sums over its
lanes, each lane's median of the rounds, and their ratio. Exits 1 where a ratio is off by more than
0.5 %, or 1 % in cases that use all GPUs at once, or the two have a different number of lanes.
nvbandwidth 0.8 is
https://github.com/NVIDIA/nvbandwidth; its -j writes JSON, rates in GB/s, latencies in ns.
"""
import argparse
import collections
import json
import math
import re
import statistics
import subprocess
import sys

ENGINES = ("ce", "sm")
SINGLE = ["host_to_device_memcpy", "device_to_host_memcpy", "host_to_device_bidirectional_memcpy",
          "device_to_host_bidirectional_memcpy"]
SEVERAL = ["device_to_device_memcpy_read", "device_to_device_memcpy_write",
           "device_to_device_bidirectional_memcpy_read",
           "device_to_device_bidirectional_memcpy_write"]
ALL = ["all_to_host_memcpy", "all_to_host_bidirectional_memcpy", "host_to_all_memcpy",
       "host_to_all_bidirectional_memcpy", "all_to_one_write", "all_to_one_read",
       "one_to_all_write", "one_to_all_read"]


def with_engines(names):
    return [f"{name}_{engine}" for name in names for engine in ENGINES]


def cases_of(gpus):
    cases = with_engines(SINGLE) + ["device_local_copy", "host_device_latency_sm"]
    if gpus > 1:
        cases += with_engines(SEVERAL + ALL) + ["device_to_device_latency_sm"]
    return cases


def ours(options, case):
    """Of each lane the rate in GB/s, or the latency in ns."""
    command = [options.hiptool, "bench-copy", "--testcase", case, "--size", f"{options.size}MiB",
               "--format", "json", "--quiet", "--device", "all"]
    if options.samples:
        command += ["--samples", str(options.samples)]
    done = subprocess.run(command, capture_output=True, text=True)
    measured = [one for one in json.loads(done.stdout)["measurements"] if one["status"] == "ok"]
    if "latency" in case:
        return {one["id"]: one["median_s"] * 1e9 for one in measured}
    return {one["id"]: one["bytes_per_s"] / 1e9 for one in measured}


def theirs(options, case):
    # Without its check of each copy (-s), which takes longer than the copies and is not timed.
    command = [options.nvbandwidth, "-s", "-b", str(options.size), "-j", "-t", case]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    try:
        matrix = json.loads(output)["nvbandwidth"]["testcases"][0]["bandwidth_matrix"]
    except (json.JSONDecodeError, KeyError, IndexError):
        return {}   # without lanes it is off
    is_of_pairs = case.startswith("device_to_device_bidirectional")
    # Theirs of both directions are three matrices below each other; the last is their sum.
    rows = enumerate(matrix[-len(matrix) // 3:] if is_of_pairs else matrix)
    lanes = {(row, column): float(value) for row, lane in rows
             for column, value in enumerate(lane) if value != "N/A"}
    return means_of_pairs(lanes) if is_of_pairs else lanes


def means_of_pairs(lanes):
    """Of each pair, which is measured from both sides, one lane."""
    return {(row, column): (value + lanes[column, row]) / 2
            for (row, column), value in lanes.items() if row < column}


def sum_of_medians(rounds):
    lanes = collections.defaultdict(list)
    for values in rounds:
        for lane, value in values.items():
            lanes[lane].append(value)
    return sum(statistics.median(each) for each in lanes.values()), len(lanes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hiptool")
    parser.add_argument("nvbandwidth")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--cases", type=re.compile, default=re.compile(""))
    options = parser.parse_args()
    listed = subprocess.run([options.hiptool, "devices", "--format", "json", "--quiet"],
                            capture_output=True, text=True, check=True)
    gpus = sum(one["platform"] == "nvidia" for one in json.loads(listed.stdout)["devices"])
    if gpus == 0:
        print("no GPU is here", file=sys.stderr)
        return 77
    cases = [case for case in cases_of(gpus) if options.cases.search(case)]
    own, other = collections.defaultdict(list), collections.defaultdict(list)
    try:
        for _ in range(options.rounds):
            for case in cases:
                own[case].append(ours(options, case))
                other[case].append(theirs(options, case))
    except KeyboardInterrupt:
        cases = [case for case in cases if other[case]]   # those of the rounds so far
        if not cases:
            return 130
    is_right = True
    for case in cases:
        (mine, lanes), (reference, other_lanes) = map(sum_of_medians, (own[case], other[case]))
        tolerance = 0.01 if case.removesuffix("_ce").removesuffix("_sm") in ALL else 0.005
        unit = "ns" if "latency" in case else "GB/s"
        ratio = mine / reference if reference else math.nan
        is_near = lanes == other_lanes and abs(ratio - 1) <= tolerance
        print(f"{case:48} {mine:9.2f} {reference:9.2f} {unit:4}  {lanes} and {other_lanes} lanes  "
              f"{ratio:.4f}{'' if is_near else '  OFF'}", flush=True)
        is_right = is_right and is_near
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
