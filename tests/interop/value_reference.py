#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`hiptool load --check-tensors` against numpy and the dequantisation of the package gguf.

Usage: value_reference.py HIPTOOL
Exit status 77 (skipped) when gguf or numpy is not installed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import gguf
    import gguf.quants
    import numpy
except ImportError as error:
    print(f"skipped: {error}; install the packages gguf and numpy")
    sys.exit(77)

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

HIPTOOL = ""
FLOATS = {"F16": numpy.float16, "F32": numpy.float32, "F64": numpy.float64}
# The package does not dequantise these; where their scales lie is read off ggml's block structs:
# size of a block, numpy's name of the type, place.
BY_HAND = {"Q8_K": (292, "<f4", [0]), "Q8_1": (36, "<f2", [0, 2]), "Q1_0": (18, "<f2", [0]),
           "Q2_0": (18, "<f2", [0])}
# ggml takes each byte of its scales for a number.
NEVER_BAD = {"NVFP4", "I8", "I16", "I32", "I64"}
# Blocks of the package's types that have two scales.
TWO_SCALES = {"Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K", "Q8_1"}
# The numbers of types that the package may not know yet.
SIZES = {kind.name: gguf.GGML_QUANT_SIZES[kind] for kind in gguf.GGMLQuantizationType
         if kind in gguf.GGML_QUANT_SIZES}


def bad_blocks(name, data):
    """True for each block that has a value which is no number, by numpy or the package."""
    if name in FLOATS:
        return ~numpy.isfinite(data.view(FLOATS[name]))
    if name in BY_HAND:
        size, kind, places = BY_HAND[name]
        rows = data.reshape(-1, size)
        width = numpy.dtype(kind).itemsize
        return numpy.any([~numpy.isfinite(rows[:, at:at + width].copy().view(kind)[:, 0])
                          for at in places], axis=0)
    elements, size = SIZES[name]
    if name == "MXFP4":   # the largest exponents make infinities of finite scales
        return data.reshape(-1, size)[:, 0] == 0xFF
    kind = gguf.GGMLQuantizationType[name]
    with numpy.errstate(all="ignore"):
        values = gguf.quants.dequantize(data.reshape(-1, size), kind)
    return numpy.any(~numpy.isfinite(values.reshape(-1, elements)), axis=1)


def check(path, code):
    done = subprocess.run([HIPTOOL, "load", path, "--check-tensors", "--device", "cpu", "--format",
                           "json"], capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise AssertionError(f"exit {done.returncode}: {done.stdout}{done.stderr}")
    document = json.loads(done.stdout)
    assert document["status"] == "verified", document["status"]
    return document["values"]


class Values(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "m.gguf"

    def write(self, tensors):
        writer = gguf.GGUFWriter(self.path, "llama")
        for name, data in tensors.items():
            kind = gguf.GGMLQuantizationType[name]
            writer.add_tensor(name, data.reshape(1, -1), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return {str(t.name): (int(t.data_offset), int(t.n_bytes))
                for t in gguf.GGUFReader(self.path).tensors}

    def names(self):
        # The package's size of a Q8_1 block is another one than ggml's.
        can = {kind.name for kind in gguf.quants._type_traits}   # pylint: disable=protected-access
        known = [name for name in SIZES
                 if name in can or name in FLOATS or name in BY_HAND or name in NEVER_BAD]
        return [name for name in known if name != "Q8_1"]

    def test_random_bytes_of_each_type(self):
        random = numpy.random.default_rng(3)
        blocks = 3000
        tensors = {name: random.integers(0, 256, blocks * SIZES[name][1], dtype=numpy.uint8)
                   for name in self.names()}
        for name in ("F32", "F64"):   # rare by chance
            view = tensors[name].view(FLOATS[name])
            view[[7, 1501]], view[2999] = numpy.nan, -numpy.inf
        self.assertGreater(len(tensors), 25)
        places = self.write(tensors)
        values = check(self.path, 1)
        found = {tensor["name"]: tensor for tensor in values["tensors"]}
        for name, data in tensors.items():
            with self.subTest(name):
                if name in NEVER_BAD:
                    self.assertNotIn(name, found)
                    continue
                bad = bad_blocks(name, data)
                self.assertTrue(bad.any())
                count = found[name]["nan"] + found[name]["inf"]
                most = 2 if name in TWO_SCALES else 1
                self.assertGreaterEqual(count, bad.sum())
                self.assertLessEqual(count, most * bad.sum())
                first = (found[name]["file_offset"] - places[name][0]) // SIZES[name][1]
                self.assertEqual(first, numpy.argmax(bad))
                if name in FLOATS:
                    kinds = data.view(FLOATS[name])
                    self.assertEqual(found[name]["nan"], numpy.isnan(kinds).sum())
                    self.assertEqual(found[name]["inf"], numpy.isinf(kinds).sum())
        self.assertEqual(values["nan"], sum(tensor["nan"] for tensor in found.values()))
        self.assertEqual(values["inf"], sum(tensor["inf"] for tensor in found.values()))

    def test_one_planted_value_in_each_type(self):
        """Zeros, and in the last block all that the type calls NaN; without it there is nothing."""
        for name in self.names():
            if name in NEVER_BAD:
                continue
            with self.subTest(name):
                data = numpy.zeros(40 * SIZES[name][1], dtype=numpy.uint8)
                self.write({name: data})
                values = check(self.path, 0)
                self.assertEqual((values["nan"], values["inf"], values["tensors"]), (0, 0, []))
                self.assertEqual(values["checked"], 40 * (2 if name in TWO_SCALES else 1))
                data[39 * SIZES[name][1]:] = 0xFF
                places = self.write({name: data})
                values = check(self.path, 1)
                self.assertTrue(bad_blocks(name, data)[39])
                self.assertEqual(values["nan"], 2 if name in TWO_SCALES else 1)
                self.assertEqual(values["inf"], 0)
                self.assertEqual([tensor["name"] for tensor in values["tensors"]], [name])
                first = values["tensors"][0]["file_offset"] - places[name][0]
                self.assertEqual(first // SIZES[name][1], 39)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    HIPTOOL = sys.argv.pop(1)
    cases.main()
