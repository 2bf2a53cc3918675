# SPDX-License-Identifier: MIT
"""Prints the table of the steps of .ci/run, and as the last line its sums; exit 1 if one failed.

Usage: table.py FOLDER SECONDS
FOLDER holds a file for each step, named by the time of its end: name, what came of it, seconds of
the clock and of the processors, numbers of tests passed, failed and skipped, with "|" between them.
"""
import pathlib
import sys


def main():
    steps = [path.read_text("utf-8").strip().split("|")
             for path in sorted(pathlib.Path(sys.argv[1]).iterdir(),
                                key=lambda path: float(path.name))]
    width = max(len(step[0]) for step in steps)
    print(f"{'step':{width}}  {'wall':>6}  {'CPU':>6}")
    for name, said, wall, cpu, *_ in steps:
        print(f"{name:{width}}  {wall:>4} s  {cpu:>4} s  {said}")
    seconds = int(sys.argv[2])
    total = sum(int(step[3]) for step in steps)
    print(f"{'all':{width}}  {seconds:>4} s  {total:>4} s  {seconds // 60} min {seconds % 60} s")
    passed, failed, skipped = (sum(int(step[place]) for step in steps) for place in (4, 5, 6))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


main()
