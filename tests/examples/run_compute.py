# SPDX-License-Identifier: MIT
"""Runs the example that computes; what it prints was worked out by Python's math.

Usage: run_compute.py PROGRAM
"""
import math
import subprocess
import sys

ROWS = [[1.5, 3.0, 3.0], [-0.5, 0.0, 5.0]]   # with the bias


def main():
    words = []
    for row in ROWS:
        powers = [math.exp(value - max(row)) for value in row]
        words += [f"{power / sum(powers):.4f}" for power in powers]
    words += [str(row.index(max(row))) for row in ROWS]
    done = subprocess.run([sys.argv[1], "cpu"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*words, "on", "cpu:0"], done.stdout
    failed = subprocess.run([sys.argv[1], "cpu:7"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "cpu:7" in failed.stderr, failed


main()
