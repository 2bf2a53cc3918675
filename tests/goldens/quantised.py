# SPDX-License-Identifier: MIT
"""Quantised weights of make-model --architecture: their bytes from the formula, and their values as
the Python package gguf dequantises them. It converts no Q1_0 and Q2_0 in its version 0.19.0: those
are read as their published layout says (tests/interop/dequantize.py)."""
import math

from dequantize import references, shapes
import numpy

# log2 of the root mean square of random blocks whose scale is in [1, 2); the places of F16 scales,
# and of minima which are 2^shift times as large and negative where they are added.
HALVES = {
    "Q4_0": (2.8, 0), "Q4_1": (3.0, 0, 2, 3, True), "Q5_0": (3.8, 0),
    "Q5_1": (4.0, 0, 2, 4, True), "Q8_0": (6.8, 0), "Q2_K": (4.6, 80, 82, 1, False),
    "Q3_K": (6.1, 108), "Q4_K": (8.7, 0, 2, 3, False), "Q5_K": (9.7, 0, 2, 4, False),
    "Q6_K": (11.0, 208), "IQ2_XXS": (6.4, 0), "IQ2_XS": (6.4, 0), "IQ3_XXS": (7.8, 0),
    "IQ1_S": (3.5, 0), "IQ4_NL": (6.7, 0), "IQ3_S": (7.7, 0), "IQ2_S": (6.4, 0),
    "IQ4_XS": (10.9, 0), "TQ1_0": (0.3, 52), "TQ2_0": (0.9, 64), "Q1_0": (0.6, 0),
    "Q2_0": (0.9, 0)}
OTHERS = {"IQ1_M": 3.5, "MXFP4": 1.6, "NVFP4": 2.1}
TYPES = [*HALVES, *OTHERS]


def nearest(value):
    """C's lround."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def half_bits(at, exponent, is_negative=False):
    """The high byte of an F16 of that exponent."""
    biased = min(max(exponent + 15, 1), 30)
    return at + 1, 0x03, biased << 2 | (0x80 if is_negative else 0)


def scale_bits(kind, magnitude):
    """(offset, bits that stay random, bits that are set) of bytes in each block."""
    unit = OTHERS[kind] if kind in OTHERS else HALVES[kind][0]
    exponent = nearest(magnitude + 0.6 - unit)
    if kind == "IQ1_M":
        biased = min(max(exponent + 15, 1), 30)
        return [(55, 0x0F, biased >> 2 << 4), (53, 0x3F, (biased & 3) << 6)]
    if kind == "MXFP4":
        return [(0, 0, 127 + exponent)]
    if kind == "NVFP4":
        return [(at, 0x07, min(max(exponent + 7, 1), 14) << 3) for at in range(4)]
    scale_at, *minimum = HALVES[kind][1:]
    if not minimum:
        return [half_bits(scale_at, exponent)]
    minimum_at, shift, is_negative = minimum
    exponent = max(exponent, -14)
    return [half_bits(scale_at, exponent), half_bits(minimum_at, exponent + shift, is_negative)]


def block_elements(kind):
    """Elements of a block; 1 of a type that is not quantised."""
    return shapes(kind)[0][1][0] if kind in TYPES else 1


def values_of(kind, random_bytes, count, magnitude):
    """So many values of blocks of random bytes; random_bytes(count) makes those."""
    (_, (elements, size)), *rest = shapes(kind)
    assert all(other[1] == (elements, size) for other in rest), kind
    blocks = random_bytes(count // elements * size).reshape(-1, size).copy()
    for at, keep, bits in scale_bits(kind, magnitude):
        blocks[:, at] = blocks[:, at] & keep | bits
    first, *others = references(kind, blocks)
    assert all(numpy.array_equal(first, other) for other in others), kind
    assert numpy.all(numpy.isfinite(first)), kind
    return first.astype(numpy.float64)
