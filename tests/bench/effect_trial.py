#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often `bench-copy --repeat N --against OTHER --effect auto` is wrong on this machine.

Usage: effect_trial.py HIPTOOL JUDGE [--device ID] [--processes N] [--size BYTES] [--keep FILE]
       effect_trial.py HIPTOOL JUDGE --from FILE

Measures h2d and d2h in N processes one after the other (80; about 1.2 s each on a GPU), each with a
size and one that is 2 % larger, and keeps the document in FILE, from which --from judges it again,
on any machine. JUDGE is the program tests/bench/effect_judge of a build, which has the rule.
A comparison takes 32 consecutive processes as 16 old and 16 new ones: of each four in the order of
--against (old, new, new, old), or exchanged, by chance. Prints for each copy, of 100 comparisons of
equal programs, how many are called slower or faster, and of 20 with a slowdown of 2 %, how many are
found: one planted in the times of the new processes, one true, since the larger copy takes as much
longer. Exits 1 if more than one of the 100 is called slower, or not all of the 20 are found.

Limits: comparisons share processes, so they are not independent; where 2 % more bytes take another
time than 2 % more, as for small copies, the true slowdown is another. For a test without a GPU:
--device cpu --size 1048576, where copies vary too much for 2 % to be found.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 16
SLOWDOWN = 1.02
EQUAL, SLOWED = 100, 20


def larger(size_bytes):
    return int(size_bytes * SLOWDOWN) // 4 * 4


def measure(options, path):
    sizes = f"{options.size},{larger(options.size)}"
    command = [options.hiptool, "bench-copy", "--device", options.device, "--kind", "h2d,d2h",
               "--size", sizes, "--time", "0.2", "--repeat", str(options.processes), "--quiet",
               "--export", f"json={path}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def medians_of(document):
    """Of each copy and size the median time of each process, in the order of the processes."""
    medians = {}
    for one in document["measurements"]:
        samples, times = iter(one["samples_s"]), []
        for count in one["process_samples"]:
            times.append(statistics.median(next(samples) for _ in range(count)))
        medians[one["kind"], one["size_bytes"]] = times
    return medians


def windows(processes, count, chance):
    """Places of the old and of the new processes of so many comparisons."""
    for _ in range(count):
        start = chance.randrange(processes - 2 * ROUNDS + 1)
        sides = [[], []]
        for turn in range(2 * ROUNDS):
            if turn % 4 == 0:
                is_exchanged = chance.randrange(2)
            is_new = (turn // 2 + turn + is_exchanged) % 2
            sides[is_new].append(start + turn)
        yield sides


def judge(options, pairs):
    lines = "".join(f"{' '.join(map(repr, old))};{' '.join(map(repr, new))}\n"
                    for old, new in pairs)
    done = subprocess.run([options.judge], input=lines, capture_output=True, text=True, check=True)
    return done.stdout.split()


def trial(options, small, large):
    """The verdicts about equal programs, a planted and a true slowdown."""
    chance = random.Random(20261128)
    found = {}
    for name, count, after in (("equal", EQUAL, small), ("planted", SLOWED,
                                                         [SLOWDOWN * one for one in small]),
                               ("true", SLOWED, large)):
        found[name] = judge(options, [([small[i] for i in old], [after[i] for i in new])
                                      for old, new in windows(len(small), count, chance)])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("hiptool")
    parser.add_argument("judge")
    parser.add_argument("--device", default="nvidia:0")
    parser.add_argument("--processes", type=int, default=80)
    parser.add_argument("--size", type=int, default=256 << 20)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--from", dest="document", type=pathlib.Path)
    options = parser.parse_args()
    if options.document is None and options.processes < 2 * ROUNDS:
        parser.error(f"--processes: {2 * ROUNDS} at least")
    with tempfile.TemporaryDirectory() as folder:
        path = options.document or options.keep or pathlib.Path(folder) / "all.json"
        if options.document is None:
            measure(options, path)
        medians = medians_of(json.loads(path.read_text(encoding="utf-8")))
    is_right = True
    for kind in ("h2d", "d2h"):
        size, large = sorted(size for one, size in medians if one == kind)
        found = trial(options, medians[kind, size], medians[kind, large])
        times = medians[kind, size]
        noise = statistics.stdev(times) / statistics.mean(times)
        slower, faster = (found["equal"].count(word) for word in ("slower", "faster"))
        print(f"{kind}: {len(times)} processes, CV of their medians {100 * noise:.2f} %; "
              f"of {EQUAL} equal: {slower} slower, {faster} faster; of {SLOWED} slowed by 2 %: "
              f"planted {found['planted'].count('slower')}, true {found['true'].count('slower')} "
              "found", flush=True)
        is_right = is_right and slower <= EQUAL // 100 and all(
            found[name].count("slower") == SLOWED for name in ("planted", "true"))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
