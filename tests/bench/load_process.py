# SPDX-License-Identifier: MIT
"""The time that a user waits for `hiptool load`, from the start of the process to its exit.

    load_process.py HIPTOOL FLOOR FILE [--repeat 5] [--fresh]

FLOOR is the program driver_floor: it starts the driver, makes a context, allocates as much, pins as
much and exits. Both run alternately, each with one GPU visible from outside and with all of them.
Targets: process time <= floor + 1.06 x bytes / link + 40 ms, and with all GPUs visible <= 1.1 times
that with one. --fresh starts each load with an empty cache of compiled kernels. Exits 1 where a
target is missed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PINNED_BYTES = 128 << 20


def timed(command, visible, fresh):
    environment = dict(os.environ)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    with tempfile.TemporaryDirectory() as cache:
        if fresh:
            environment["CUDA_CACHE_PATH"] = cache
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return time.perf_counter() - start, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("floor")
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    size = os.path.getsize(options.file)
    load = [options.hiptool, "load", options.file, "--format", "json", "--quiet"]
    floor = [options.floor, str(size), str(PINNED_BYTES)]
    times = {(what, visible): [] for what in ("floor", "load") for visible in ("0", None)}
    documents, steps = [], []
    for turn in range(options.repeat + 1):
        for (what, visible), each in times.items():
            seconds, document = timed(floor if what == "floor" else load, visible, options.fresh)
            if turn == 0:
                continue  # warms the page cache and the driver
            each.append(seconds)
            (documents if what == "load" else steps).append(document)
    for (what, visible), each in times.items():
        print(f"{what}, {'all GPUs' if visible is None else 'one GPU'} visible: "
              f"{statistics.median(each):.3f} s ({' '.join(f'{one:.3f}' for one in each)})")
    print("floor in ms: " + ", ".join(
        f"{name[:-2]} {1e3 * statistics.median(step[name] for step in steps):.0f}"
        for name in steps[0]))
    phases = {}
    for phase in (phase for document in documents for phase in document["phases"]):
        phases.setdefault(phase["name"], []).append(phase["duration_s"] * 1e3)
    print("phases in ms: " + ", ".join(f"{name} {statistics.median(each):.0f}"
                                       for name, each in phases.items()))
    link = statistics.median(document["limits"]["h2d_bytes_per_s"] for document in documents)
    seen = {key: statistics.median(each) for key, each in times.items()}
    missed = 0
    for text, value, target in (
            ("process time in s", seen["load", "0"],
             seen["floor", "0"] + 1.06 * size / link + 0.04),
            ("all GPUs visible to one visible", seen["load", None] / seen["load", "0"], 1.1)):
        missed += value > target
        print(f"{text}: {value:.3f}, target at most {target:.3f}: "
              f"{'met' if value <= target else 'MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
