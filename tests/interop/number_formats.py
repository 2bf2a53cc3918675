# SPDX-License-Identifier: MIT
"""Compares the conversions of dtype.hpp with numpy's float16, with ml_dtypes where it is installed,
and with tables made from the formats' definitions.

Usage: number_formats.py PROGRAM. Exits 77 where numpy is not installed.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class Format:
    """A small float by its definition: the values of its positive finite codes, ascending."""

    def __init__(self, name, exponent_bits, fraction_bits, finite_codes):
        self.name = name
        self.sign_shift = exponent_bits + fraction_bits
        self.finite_codes = finite_codes
        codes = np.arange(finite_codes + 1)   # and the one that would follow the largest
        bias = 2 ** (exponent_bits - 1) - 1
        exponent = codes >> fraction_bits
        fraction = codes & ((1 << fraction_bits) - 1)
        significand = np.where(exponent > 0, 1 << fraction_bits, 0) + fraction
        power = np.maximum(exponent, 1) - bias - fraction_bits
        self.values = np.ldexp(significand.astype(np.float64), power)
        self.ties = (self.values[1:] + self.values[:-1]) / 2   # exact in double

    def nearest(self, floats):
        """Codes without sign of the nearest values, ties to even; finite_codes means overflow."""
        with np.errstate(invalid="ignore"):   # numpy warns of signalling NaN
            magnitudes = np.abs(floats.astype(np.float64))
        codes = np.searchsorted(self.ties, magnitudes, side="left")
        at_tie = magnitudes == self.ties[np.minimum(codes, len(self.ties) - 1)]
        return np.where(at_tie & (codes % 2 == 1), codes + 1, codes)


F16 = Format("f16", 5, 10, 0x7C00)
BF16 = Format("bf16", 8, 7, 0x7F80)
F8 = Format("f8e4m3", 4, 3, 0x7F)


def expected(form, floats, overflow_code, nan_code):
    codes = form.nearest(floats)
    codes = np.where(codes >= form.finite_codes, overflow_code, codes)
    codes = np.where(np.isnan(floats), nan_code, codes)
    return codes | (np.signbit(floats).astype(np.int64) << form.sign_shift)


def inputs():
    """Floats at, just below and just above each value and each tie of each format, and others."""
    parts = []
    with np.errstate(over="ignore", invalid="ignore"):
        for form in (F16, BF16, F8):
            marks = np.concatenate([form.values, form.ties]).astype(np.float32)
            infinity = np.float32(np.inf)
            parts += [marks, np.nextafter(marks, -infinity), np.nextafter(marks, infinity)]
    random = np.random.default_rng(1).integers(0, 2 ** 32, 500_000, dtype=np.uint32)
    parts.append(random.view(np.float32))
    parts.append(np.array([0, np.inf, np.nan, 1e-45, 3.4028235e38], dtype=np.float32))
    floats = np.concatenate(parts)
    return np.concatenate([floats, -floats])


def run(program, mode, data=b""):
    return subprocess.run([program, mode], input=data, stdout=subprocess.PIPE, check=True).stdout


def same(name, ours, theirs, given):
    different = np.flatnonzero(ours != theirs)
    for place in different[:5]:
        print(f"{name} of {given[place]!r}: {ours[place]}, expected {theirs[place]}")
    if len(different):
        sys.exit(f"{name}: {len(different)} of {len(ours)} differ")
    print(f"{name}: {len(ours)} agree")


def same_floats(name, ours, theirs):
    """Equal bits, or NaN on both sides with the same sign."""
    both_nan = np.isnan(ours) & np.isnan(theirs) & (np.signbit(ours) == np.signbit(theirs))
    theirs = np.where(both_nan, ours, theirs)
    same(name, ours.view(np.uint32), theirs.view(np.uint32), np.arange(len(ours)))


def check_decoding(program):
    floats = np.frombuffer(run(program, "decode"), dtype=np.float32)
    f16, bf16, f8 = np.split(floats, [65536, 131072])
    codes = np.arange(65536, dtype=np.uint16)
    bytes_ = np.arange(256, dtype=np.uint8)
    same_floats("f16 to float, numpy", f16, codes.view(np.float16).astype(np.float32))
    for form, ours in ((F16, f16), (BF16, bf16), (F8, f8)):
        finite = form.values[:form.finite_codes].astype(np.float32)
        half = len(ours) // 2
        same_floats(f"{form.name} to float, definition", ours[:form.finite_codes], finite)
        same_floats(f"-{form.name} to float, definition",
                    ours[half:half + form.finite_codes], -finite)
    if ml_dtypes:
        same_floats("bf16 to float, ml_dtypes", bf16,
                    codes.view(ml_dtypes.bfloat16).astype(np.float32))
        same_floats("f8e4m3 to float, ml_dtypes", f8,
                    bytes_.view(ml_dtypes.float8_e4m3fn).astype(np.float32))


def check_encoding(program):
    floats = inputs()
    count = len(floats)
    raw = run(program, "encode", floats.tobytes())
    f16 = np.frombuffer(raw, dtype=np.uint16, count=count)
    bf16 = np.frombuffer(raw, dtype=np.uint16, count=count, offset=2 * count)
    saturated = np.frombuffer(raw, dtype=np.uint8, count=count, offset=4 * count)
    strict = np.frombuffer(raw, dtype=np.uint8, count=count, offset=5 * count)

    payload = floats.view(np.uint32) & 0x7FFFFF   # kept as far as it fits, and made quiet
    f16_nan = 0x7E00 | (payload >> 13).astype(np.int64)
    bf16_nan = 0x7FC0 | (payload >> 16).astype(np.int64)
    same("float to f16, definition", f16, expected(F16, floats, 0x7C00, f16_nan), floats)
    same("float to bf16, definition", bf16, expected(BF16, floats, 0x7F80, bf16_nan), floats)
    same("float to f8e4m3 saturating, definition", saturated, expected(F8, floats, 0x7E, 0x7F),
         floats)
    same("float to f8e4m3, definition", strict, expected(F8, floats, 0x7F, 0x7F), floats)

    numbers = ~np.isnan(floats)
    given = floats[numbers]
    with np.errstate(over="ignore", invalid="ignore"):
        same("float to f16, numpy", f16[numbers], given.astype(np.float16).view(np.uint16), given)
    if ml_dtypes:
        theirs = given.astype(ml_dtypes.bfloat16).view(np.uint16)
        same("float to bf16, ml_dtypes", bf16[numbers], theirs, given)
        theirs = given.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        same("float to f8e4m3, ml_dtypes", strict[numbers], theirs, given)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check_decoding(sys.argv[1])
    check_encoding(sys.argv[1])
    if not ml_dtypes:
        print("ml_dtypes is not installed: bf16 and f8e4m3 were compared with the definition only")


if __name__ == "__main__":
    main()
