#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes quantised_values.hpp: what products and rows of quantised weights must be, by the Python
package gguf (0.19.0) and, for Q1_0 and Q2_0, by tests/interop/dequantize.py.

Usage: quantised_values.py FILE
"""
import math
import pathlib
import sys

import gguf
import gguf.quants
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "interop"))
from dequantize import BY_HAND  # pylint: disable=wrong-import-position

ROWS, COLUMNS = 3, 768
# Bytes of a block that keep scales finite and moderate, as (offset, mask).
HALF = 0xBF
MASKS = {
    "Q4_0": [(1, HALF)], "Q4_1": [(1, HALF), (3, HALF)], "Q5_0": [(1, HALF)],
    "Q5_1": [(1, HALF), (3, HALF)], "Q8_0": [(1, HALF)], "Q2_K": [(81, HALF), (83, HALF)],
    "Q3_K": [(109, HALF)], "Q4_K": [(1, HALF), (3, HALF)], "Q5_K": [(1, HALF), (3, HALF)],
    "Q6_K": [(209, HALF)], "IQ2_XXS": [(1, HALF)], "IQ2_XS": [(1, HALF)], "IQ3_XXS": [(1, HALF)],
    "IQ1_S": [(1, HALF)], "IQ4_NL": [(1, HALF)], "IQ3_S": [(1, HALF)], "IQ2_S": [(1, HALF)],
    "IQ4_XS": [(1, HALF)], "IQ1_M": [(55, HALF)], "TQ1_0": [(53, HALF)], "TQ2_0": [(65, HALF)],
    "MXFP4": [(0, 0x7F)], "NVFP4": [(0, 0x3F), (1, 0x3F), (2, 0x3F), (3, 0x3F)],
    "Q1_0": [(1, HALF)], "Q2_0": [(1, HALF)],
}


def numbers(seed, count):
    """What the test's next_number() gives."""
    state, found = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        found.append(state >> 16)
    return found


def shape(name):
    if name in BY_HAND:
        return BY_HAND[name][:3]
    kind = gguf.GGMLQuantizationType[name]
    return (kind.value, *gguf.GGML_QUANT_SIZES[kind])


def dequantize(name, blocks):
    if name in BY_HAND:
        return BY_HAND[name][3](blocks).astype(numpy.float32).reshape(-1)
    return gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name]).reshape(-1)


def digest(values):
    """FNV-1a of the bits, a word at a time."""
    state = 0xCBF29CE484222325
    for bits in values.view(numpy.uint32):
        state = (state ^ int(bits)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def main():
    lines = []
    x = [(number % 2001 - 1000) / 1024 for number in numbers(1, COLUMNS)]
    for name, masks in MASKS.items():
        number, values, size = shape(name)
        count = ROWS * COLUMNS // values
        blocks = numpy.array([n & 255 for n in numbers(number, count * size)], numpy.uint8)
        blocks = blocks.reshape(count, size)
        for offset, mask in masks:
            blocks[:, offset] &= mask
        weights = dequantize(name, blocks)
        assert weights.dtype == numpy.float32 and numpy.all(numpy.isfinite(weights))
        rows = weights.astype(float).reshape(ROWS, COLUMNS)
        sums = [math.fsum(a * b for a, b in zip(row, x)) for row in rows]
        squares = [math.sqrt(math.fsum((a * b) ** 2 for a, b in zip(row, x))) for row in rows]
        listed = ["{" + ", ".join(f"{value:.17g}" for value in all_rows) + "}"
                  for all_rows in (sums, squares)]
        lines.append(f'    {{"{name}", {{{", ".join(f"{{{o}, {m}}}" for o, m in masks)}}},'
                     f" {', '.join(listed)}, 0x{digest(weights):016x}}},")
    text = ["// SPDX-License-Identifier: MIT",
            "/// Made by quantised_values.py: products of rows with x in float64, the root of the",
            "/// sum of the squared terms, and a digest of the rows' bits.",
            "#pragma once", "#include <cstddef>", "#include <cstdint>", "#include <string_view>",
            "", "namespace hiptool::test {", "",
            f"inline constexpr std::size_t golden_rows = {ROWS};",
            f"inline constexpr std::size_t golden_columns = {COLUMNS};", "",
            "/// A byte of each block and the bits of it that stay; no bits: none.",
            "struct ByteBits {", "  std::size_t offset;", "  unsigned keep;", "};", "",
            "struct GoldenType {",
            "  std::string_view name;",
            "  ByteBits masks[4];",
            "  double products[golden_rows];",
            "  double sizes[golden_rows];",
            "  std::uint64_t digest;", "};", "",
            "inline constexpr GoldenType golden_types[] = {", *lines,
            "};", "", "}  // namespace hiptool::test", ""]
    pathlib.Path(sys.argv[1]).write_text("\n".join(text), "utf-8")


if __name__ == "__main__":
    main()
