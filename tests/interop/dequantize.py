#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every quantised type has the values that the Python package gguf says, bit for bit.

Usage: dequantize.py DEQUANTIZE
"""
import pathlib
import subprocess
import sys
import tempfile

from kernel_images import finish, skip

try:
    import gguf
    import gguf.quants
    import numpy
except ImportError as error:
    skip(f"{error.name} is not installed")

BLOCKS = 97
# Types that the package knows by name and has no values for.
UNKNOWN = {"Q8_1", "Q8_K", "Q1_0", "Q2_0"}
PLAIN = {"F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"}


def same(got, expected):
    """The same bits, or both NaN: which one a device makes is not defined."""
    both_nan = numpy.isnan(got) & numpy.isnan(expected)
    return numpy.all(both_nan | (got.view(numpy.uint32) == expected.view(numpy.uint32)))


def main():
    listed = subprocess.run([sys.argv[1], "--list"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    findings, checked = [], 0
    random = numpy.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        source, target = (pathlib.Path(folder) / name for name in ("blocks", "values"))
        for name, number, values, size in rows:
            kind = getattr(gguf.GGMLQuantizationType, name.upper(), None)
            if kind is None:
                continue  # an older package
            if (int(number), (int(values), int(size))) != (kind.value, gguf.GGML_QUANT_SIZES[kind]):
                findings.append(f"{name}: number or block differ from {kind.value}, "
                                f"{gguf.GGML_QUANT_SIZES[kind]}")
                continue
            blocks = random.integers(0, 256, (BLOCKS, int(size)), dtype=numpy.uint8)
            source.write_bytes(blocks.tobytes())
            subprocess.run([sys.argv[1], name, source, target], check=True)
            got = numpy.fromfile(target, dtype=numpy.float32)
            with numpy.errstate(all="ignore"):
                expected = gguf.quants.dequantize(blocks, kind).reshape(-1).astype(numpy.float32)
            checked += 1
            if got.shape != expected.shape or not same(got, expected):
                wrong = numpy.flatnonzero(got != expected)
                findings.append(f"{name}: {len(wrong)} of {len(expected)} differ, first at "
                                f"{wrong[:1]}: {got[wrong[:1]]}, expected {expected[wrong[:1]]}")
    known = {kind.name for kind in gguf.GGMLQuantizationType} - PLAIN - UNKNOWN
    missing = known - {row[0].upper() for row in rows}
    if missing:
        findings.append(f"no kernel for {sorted(missing)}")
    finish(checked, findings)


if __name__ == "__main__":
    main()
