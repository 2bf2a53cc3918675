# SPDX-License-Identifier: MIT
"""Runs an example of docs/library.md that multiplies a matrix, which is made here, by ones.

Usage: run_weight.py PROGRAM TENSOR [VALGRIND]

With valgrind nothing invalid is read or written, and nothing is lost.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

from example_model import write_gguf

ROWS = [[1.0, 2.0, 3.5, -1.0], [0.0, 0.25, 8.0, 4.0], [-2.0, -2.0, -2.0, -3.0]]


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "model.gguf")
        values = [value for row in ROWS for value in row]
        # GGUF counts dimensions from the fastest one.
        write_gguf(model, {sys.argv[2]: ([4, 3], struct.pack("<12f", *values))})
        watched = [sys.argv[3], "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,"
                   "possible", "--error-exitcode=9"] if len(sys.argv) > 3 else []
        done = subprocess.run([*watched, sys.argv[1], model, "cpu:0"], capture_output=True,
                              text=True, check=False, timeout=280 if watched else 60)
        assert done.returncode == 0, done.stderr
        assert [float(word) for word in done.stdout.split()] == [sum(row) for row in ROWS], done


main()
