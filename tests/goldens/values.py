# SPDX-License-Identifier: MIT
"""The tensors of make-model's decoders, remade from their formula."""
import math

import numpy
import quantised

SEED = 1
SCALE_BLOCK = 128   # rows and columns of FP8 with a scale
# name: numpy type of the words, bits of exponent and mantissa, bias
FLOATS = {"F64": (8, 11, 52, 1023), "F32": (4, 8, 23, 127), "F16": (2, 5, 10, 15),
          "BF16": (2, 8, 7, 127), "F8_E4M3": (1, 4, 3, 7)}
GAMMA, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix(value):
    """SplitMix64's output function on an array of words."""
    value = (value ^ (value >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return value ^ (value >> numpy.uint64(31))


def tensor_seed(number):
    first = int(mix(numpy.array([(SEED + GAMMA) & MASK], numpy.uint64))[0])
    return int(mix(numpy.array([(first + (number + 1) * GAMMA) & MASK], numpy.uint64))[0])


def random_bytes(number, count):
    words = numpy.arange(1, (count + 7) // 8 + 1, dtype=numpy.uint64)
    words = mix(numpy.uint64(tensor_seed(number)) + words * numpy.uint64(GAMMA))
    return words.view(numpy.uint8)[:count]


def tensor_values(number, count, kind, magnitude, positive=False):
    """+-2^magnitude x [1, 2): random bits with a fixed exponent; or blocks of a quantised type."""
    if kind in quantised.TYPES:
        return quantised.values_of(kind, lambda size: random_bytes(number, size), count, magnitude)
    width, exponent_bits, mantissa_bits, bias = FLOATS[kind]
    bits = random_bytes(number, count * width).view(f"<u{width}").astype(numpy.uint64)
    mantissa = bits & numpy.uint64((1 << mantissa_bits) - 1)
    sign = numpy.where((bits >> numpy.uint64(width * 8 - 1)) & numpy.uint64(1), -1.0, 1.0)
    exponent = max(magnitude + bias, 1) - bias
    values = numpy.ldexp(1 + mantissa.astype(numpy.float64) / (1 << mantissa_bits), exponent)
    return values if positive else values * sign


class Tensors:
    """Makes the tensors in the order of the file."""

    def __init__(self, kind):
        self.kind, self.count = kind, 0

    def matrix(self, rows, columns, magnitude=None, plain=False):
        """`plain`: never in FP8, of which each block has a scale."""
        if magnitude is None:
            magnitude = math.floor(-math.log2(columns) / 2 - 0.6 + 0.5)
        if self.kind == "F8_E4M3" and not plain:
            return self.scaled(rows, columns, magnitude)
        kind = "BF16" if self.kind == "F8_E4M3" else self.kind
        values = tensor_values(self.count, rows * columns, kind, magnitude)
        self.count += 1
        return values.reshape(rows, columns)

    def scaled(self, rows, columns, magnitude):
        down, along = (-(-extent // SCALE_BLOCK) for extent in (rows, columns))
        codes = tensor_values(self.count, rows * columns, self.kind, 3).reshape(rows, columns)
        scales = tensor_values(self.count + 1, down * along, "F32", magnitude - 4, True)
        self.count += 2
        scales = scales.reshape(down, along).repeat(SCALE_BLOCK, axis=0)
        return codes * scales.repeat(SCALE_BLOCK, axis=1)[:rows, :columns]

    def packed(self, count, rows, columns):
        """Codes of MXFP4, two in a byte, then their exponents."""
        codes = random_bytes(self.count, count * rows * columns // 2)
        self.count += 2
        numbers = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        numbers = numpy.concatenate([numbers, -numbers])
        values = numpy.stack([numbers[codes & 15], numbers[codes >> 4]], axis=1)
        magnitude = math.floor(-math.log2(columns) / 2 - 0.6 + 0.5)
        exponent = math.floor(magnitude + 0.6 - 1.6 + 0.5)
        return numpy.ldexp(values, exponent).reshape(count, rows, columns)

    def vector(self, count, magnitude=0, positive=True):
        values = tensor_values(self.count, count, "F32", magnitude, positive)
        self.count += 1
        return values
