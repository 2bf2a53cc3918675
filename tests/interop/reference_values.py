#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference decoder reads weights as the Python packages gguf and numpy do.

Usage: reference_values.py REFERENCE_VALUES [--vectors]. With --vectors it prints the blocks and
values of tests/unit/reference/prove/value_vectors.inc.
"""
import pathlib
import subprocess
import sys
import tempfile

from kernel_images import finish, skip

try:
    import gguf
    import numpy
except ImportError as error:
    skip(f"{error.name} is not installed")

from dequantize import references

BLOCKS = 64
PLAIN = {"F32": "<f4", "F64": "<f8", "F16": "<f2"}


def expected_values(name, blocks):
    """The values of the blocks, by each who has them."""
    if name in PLAIN:
        with numpy.errstate(invalid="ignore"):
            return [blocks.reshape(-1).view(PLAIN[name]).astype(numpy.float64)]
    return [values.astype(numpy.float64) for values in references(name, blocks)]


def differing(got, expected, block_values):
    """Where the two differ by more than the package's arithmetic in f32 explains."""
    finite = numpy.isfinite(expected)
    largest = numpy.where(finite, abs(expected), 0).reshape(-1, block_values).max(axis=1)
    bound = numpy.repeat(largest, block_values) * 5e-7
    same = numpy.where(finite, abs(got - expected) <= bound,
                       (got == expected) | (numpy.isnan(got) & numpy.isnan(expected)))
    # Products that a float cannot hold are infinite in the package only.
    return numpy.flatnonzero(~same & ~(numpy.isinf(expected) & (abs(got) > 1e38)))


def vectors(rows):
    """One line a type: its name, one block and sums of its values in 8 parts, weighted 1, 2, ..."""
    random = numpy.random.default_rng(11)
    for name, values, size in rows:
        if int(values) == 1:
            continue
        while True:
            blocks = random.integers(0, 256, (1, int(size)), dtype=numpy.uint8)
            with numpy.errstate(all="ignore"):
                found = expected_values(name, blocks)
            if found and numpy.all(numpy.isfinite(found[0])) and 1e-2 < abs(found[0]).max() < 1e3:
                break
        parts = found[0].reshape(8, -1)
        sums = (parts * numpy.arange(1, parts.shape[1] + 1)).sum(axis=1)
        print(f'    {{"{name}",')
        text = bytes(blocks[0]).hex()
        for at in range(0, len(text), 88):
            print(f'     "{text[at:at + 88]}"' + ("," if at + 88 >= len(text) else ""))
        print("     {" + ",\n      ".join(f"{value:.9g}" for value in sums) + "}},")


def main():
    listed = subprocess.run([sys.argv[1], "--list"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    if sys.argv[2:] == ["--vectors"]:
        vectors(rows)
        return
    findings, checked = [], 0
    random = numpy.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        source, target = (pathlib.Path(folder) / name for name in ("blocks", "values"))
        for name, values, size in rows:
            blocks = random.integers(0, 256, (BLOCKS, int(size)), dtype=numpy.uint8)
            source.write_bytes(blocks.tobytes())
            subprocess.run([sys.argv[1], name, source, target], check=True)
            got = numpy.fromfile(target, dtype=numpy.float64)
            with numpy.errstate(all="ignore"):
                expectations = expected_values(name, blocks)
            known = getattr(gguf.GGMLQuantizationType, name, None)
            if not expectations and known is not None:
                findings.append(f"{name}: nothing to compare with")
            for expected in expectations:
                checked += 1
                if got.shape != expected.shape:
                    findings.append(f"{name}: {got.shape} values, expected {expected.shape}")
                    continue
                wrong = differing(got, expected, int(values))
                if len(wrong) > 0:
                    at = wrong[0]
                    findings.append(f"{name}: {len(wrong)} of {len(got)} differ, first at {at}: "
                                    f"{got[at]}, expected {expected[at]}")
    finish(checked, findings)


if __name__ == "__main__":
    main()
