#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every quantised type has the values that the Python package gguf gives, bit for bit. Those that
the package (0.19.0) cannot convert are checked against numpy code in this file.

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
# For intermediate results only: ggml has no conversion to f32 (type_traits of ggml.c).
INTERMEDIATE = {"Q8_1", "Q8_K"}
PLAIN = {"F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"}


def low_bits_first(rows, bits):
    """The numbers of so many bits in each byte, the one of the lowest bits first."""
    shifts = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    numbers = (rows[:, :, None] >> shifts) & numpy.uint8(2 ** bits - 1)
    return numbers.reshape(len(rows), -1).astype(numpy.float32)


def scale(rows):
    return rows[:, :2].copy().view("<f2").astype(numpy.float32)


# From ggml-common.h (block_q1_0, block_q2_0) and ggml-quants.c (dequantize_row_q1_0, _q2_0) of
# https://github.com/ggml-org/llama.cpp: number, values and bytes of a block, and its values. An f16
# scale comes first; a bit of Q1_0 chooses between -scale and scale, two bits of Q2_0 among
# -1, 0, 1 and 2 times the scale.
BY_HAND = {
    "Q1_0": (41, 128, 18, lambda rows: numpy.where(low_bits_first(rows[:, 2:], 1) == 1,
                                                   scale(rows), -scale(rows))),
    "Q2_0": (42, 64, 18, lambda rows: (low_bits_first(rows[:, 2:], 2) - 1) * scale(rows)),
}


def references(name, blocks):
    """Values of the blocks, by each who has them."""
    kind = getattr(gguf.GGMLQuantizationType, name, None)
    can = gguf.quants._type_traits   # pylint: disable=protected-access
    found = []
    with numpy.errstate(all="ignore"):
        if kind is not None and kind in can:
            found.append(gguf.quants.dequantize(blocks, kind))
        if name in BY_HAND:
            found.append(BY_HAND[name][3](blocks))
    return [values.reshape(-1).astype(numpy.float32) for values in found]


def shapes(name):
    """(number, (values, bytes)) of the type, by each who has it."""
    kind = getattr(gguf.GGMLQuantizationType, name, None)
    found = [] if kind is None else [(kind.value, tuple(gguf.GGML_QUANT_SIZES[kind]))]
    if name in BY_HAND:
        found.append((BY_HAND[name][0], BY_HAND[name][1:3]))
    return found


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
            shape = (int(number), (int(values), int(size)))
            known_shapes = shapes(name.upper())
            if not known_shapes:
                continue  # an older package
            if any(known != shape for known in known_shapes):
                findings.append(f"{name}: number or block {shape} differ from {known_shapes}")
                continue
            blocks = random.integers(0, 256, (BLOCKS, int(size)), dtype=numpy.uint8)
            source.write_bytes(blocks.tobytes())
            subprocess.run([sys.argv[1], name, source, target], check=True)
            got = numpy.fromfile(target, dtype=numpy.float32)
            expectations = references(name.upper(), blocks)
            if not expectations:
                findings.append(f"{name}: nothing to compare with")
            for expected in expectations:
                checked += 1
                if got.shape != expected.shape or not same(got, expected):
                    wrong = numpy.flatnonzero(got != expected)
                    findings.append(f"{name}: {len(wrong)} of {len(expected)} differ, first at "
                                    f"{wrong[:1]}: {got[wrong[:1]]}, expected "
                                    f"{expected[wrong[:1]]}")
    known = {kind.name for kind in gguf.GGMLQuantizationType} | set(BY_HAND)
    known -= PLAIN | INTERMEDIATE
    missing = known - {row[0].upper() for row in rows}
    if missing:
        findings.append(f"no kernel for {sorted(missing)}")
    finish(checked, findings)


if __name__ == "__main__":
    main()
