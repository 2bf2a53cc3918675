#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds hiptool's model readers and writer against the official Python packages.

Usage: model_reference.py MODEL_DUMP
Exit status 77 (skipped) when gguf, safetensors or numpy is not installed.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import gguf
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}; install the packages gguf, safetensors and numpy")
    sys.exit(77)

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

MODEL_DUMP = ""
# The package's table has 40 bytes for a Q8_1 block, ggml's struct has 36.
GGUF_TYPES = [kind for kind in gguf.GGMLQuantizationType if kind.name != "Q8_1"]
DATA = os.environ.get("HIPTOOL_TEST_DATA", "")
# Names that the reference writer of safetensors knows besides those of numpy, with the bits of an
# element (of a pair for F4).
EXTRA_DTYPES = {
    "bfloat16": ("BF16", 16), "float8_e4m3fn": ("F8_E4M3", 8), "float8_e5m2": ("F8_E5M2", 8),
    "float8_e8m0fnu": ("F8_E8M0", 8), "float8_e4m3fnuz": ("F8_E4M3FNUZ", 8),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 8),
}


def run(*arguments):
    done = subprocess.run([MODEL_DUMP, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"model_dump {arguments}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def dump(path, *keys):
    """The line on the file, the values of the keys, and the tensors by name."""
    lines = run(path, *keys)
    values = {line["key"]: line["value"] for line in lines if "key" in line}
    return lines[0], values, {line["name"]: line for line in lines if "name" in line}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def digest_of(path, tensor):
    with open(path, "rb") as file:
        file.seek(tensor["offset"])
        return digest(file.read(tensor["size"]))


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compare_with_gguf_reader(self, path):
        reader = gguf.GGUFReader(path)
        head, _, tensors = dump(path)
        self.assertEqual(head["format"], "gguf")
        self.assertEqual(head["tensors"], len(reader.tensors))
        self.assertEqual(set(tensors), {tensor.name for tensor in reader.tensors})
        for tensor in reader.tensors:
            ours = tensors[tensor.name]
            self.assertEqual(ours["type"], tensor.tensor_type.name)
            self.assertEqual(ours["shape"], [int(extent) for extent in tensor.shape])
            self.assertEqual(ours["offset"], int(tensor.data_offset))
            self.assertEqual(ours["size"], int(tensor.n_bytes))
            self.assertEqual(ours["elements"], int(tensor.n_elements))
            self.assertEqual(digest_of(path, ours), digest(tensor.data.tobytes()), tensor.name)
        return head, reader

    def test_gguf_of_the_official_writer(self):
        path = self.folder / "official.gguf"
        random = numpy.random.default_rng(1)
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_name("interop")
        writer.add_uint8("t.u8", 200)
        writer.add_int8("t.i8", -100)
        writer.add_uint16("t.u16", 60000)
        writer.add_int16("t.i16", -30000)
        writer.add_uint32("t.u32", 4000000000)
        writer.add_int32("t.i32", -2000000000)
        writer.add_uint64("t.u64", 2**62)
        writer.add_int64("t.i64", -(2**62))
        writer.add_float32("t.f32", 0.25)
        writer.add_float64("t.f64", 1e200)
        writer.add_bool("t.yes", True)
        writer.add_string("t.text", "gr\u00fc\u00df\nline")
        writer.add_array("t.texts", ["a", "", "long " * 100])
        writer.add_array("t.integers", list(range(1000)))
        writer.add_array("t.reals", [0.5, 1.5])
        writer.add_array("t.flags", [True, False])
        writer.add_quantization_version(2)
        expected = {}
        for kind in GGUF_TYPES:
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            data = random.integers(0, 256, (3, 2 * size), dtype=numpy.uint8)
            writer.add_tensor(f"blk.0.{kind.name}.weight", data, raw_dtype=kind)
            expected[f"blk.0.{kind.name}.weight"] = (kind.name, [2 * elements, 3], data)
        for kind in ("float16", "float32", "float64", "int8", "int16", "int32", "int64"):
            data = random.integers(0, 100, (2, 3, 4)).astype(kind)
            writer.add_tensor(f"numpy.{kind}", data)
            short = {"float": "F", "int": "I"}[kind.rstrip("0123456789")]
            name = short + kind.lstrip("floatin")
            expected[f"numpy.{kind}"] = (name, [4, 3, 2], data)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        head, _, tensors = dump(path)
        self.assertEqual(head["warnings"], [])
        self.assertEqual(len(tensors), len(expected))
        for name, (kind, shape, data) in expected.items():
            self.assertEqual(tensors[name]["type"], kind)
            self.assertEqual(tensors[name]["shape"], shape)
            self.assertEqual(digest_of(path, tensors[name]), digest(data.tobytes()), name)
        self.compare_with_gguf_reader(path)
        wanted = {
            "general.architecture": "llama", "general.name": "interop", "t.u8": 200, "t.i8": -100,
            "t.u16": 60000, "t.i16": -30000, "t.u32": 4000000000, "t.i32": -2000000000,
            "t.u64": 2**62, "t.i64": -(2**62), "t.f32": 0.25, "t.f64": 1e200, "t.yes": True,
            "t.text": "gr\u00fc\u00df\nline", "t.texts": ["a", "", "long " * 100],
            "t.integers": list(range(1000)), "t.reals": [0.5, 1.5], "t.flags": [True, False],
            "t.absent": None}
        self.assertEqual(dump(path, *wanted)[1], wanted)

    def test_arrays_of_every_element_type(self):
        path = self.folder / "arrays.gguf"
        kinds = {"UINT8": [0, 255], "INT8": [-128, 127], "UINT16": [0, 65535],
                 "INT16": [-32768, 32767], "UINT32": [0, 2**32 - 1], "INT32": [-2**31, 2**31 - 1],
                 "UINT64": [0, 2**63 - 1], "INT64": [-2**63, 2**63 - 1], "FLOAT32": [0.5, -2.0],
                 "FLOAT64": [1e200, 0.1], "BOOL": [True, False], "STRING": ["", "\u00e9\u20ac\n"]}
        values = {f"t.{kind.lower()}": elements for kind, elements in kinds.items()}
        writer = gguf.GGUFWriter(path, "llama")
        for kind, elements in kinds.items():
            writer.add_key_value(f"t.{kind.lower()}", elements, gguf.GGUFValueType.ARRAY,
                                 gguf.GGUFValueType[kind])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        head, found, _ = dump(path, *values)
        self.assertEqual(head["warnings"], [])
        self.assertEqual(found, values)
        reader = gguf.GGUFReader(path)
        for key, elements in values.items():
            self.assertEqual(reader.get_field(key).contents(), elements, key)

    def test_tensors_of_the_official_quantizers(self):
        path = self.folder / "quantized.gguf"
        random = numpy.random.default_rng(3)
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_quantization_version(2)
        expected = {}
        for kind in GGUF_TYPES:
            elements, _ = gguf.GGML_QUANT_SIZES[kind]
            values = random.standard_normal((3, 2 * elements)).astype(numpy.float32)
            try:
                data = gguf.quantize(values, kind)
            except NotImplementedError:
                continue
            writer.add_tensor(kind.name, data, raw_dtype=kind)
            expected[kind.name] = (2 * elements, data)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        self.assertGreaterEqual(
            set(expected), {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"})
        head, _ = self.compare_with_gguf_reader(path)
        self.assertEqual(head["warnings"], [])
        tensors = dump(path)[2]
        self.assertEqual(set(tensors), set(expected))
        for name, (row, data) in expected.items():
            self.assertEqual((tensors[name]["type"], tensors[name]["shape"]), (name, [row, 3]))
            self.assertEqual(tensors[name]["size"], data.nbytes)
            self.assertEqual(digest_of(path, tensors[name]), digest(data.tobytes()), name)

    def test_gguf_of_the_official_writer_with_alignment(self):
        path = self.folder / "aligned.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_custom_alignment(256)
        for index in range(5):
            writer.add_tensor(f"t.{index}", numpy.full(index + 1, index, dtype=numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        head, _ = self.compare_with_gguf_reader(path)
        self.assertEqual(head["warnings"], [])

    def test_gguf_of_our_writer(self):
        path = self.folder / "ours.gguf"
        known = [kind.name for kind in GGUF_TYPES]
        for tensors, types in ((1, ["F32"]), (40, []), (100, known)):
            result, = run("--write", "gguf", path, 9_000_000, tensors, 5, *types)
            head, reader = self.compare_with_gguf_reader(path)
            self.assertEqual(head["warnings"], [])
            self.assertEqual(head["tensors"], tensors)
            self.assertEqual(head["bytes"], result["bytes"])
            self.assertEqual(path.stat().st_size, result["file_bytes"])
            tags = reader.get_field("general.tags").contents()
            self.assertEqual(tags, ["synthetic", "random"])
            self.assertEqual(reader.get_field("general.architecture").contents(), "llama")
            self.assertEqual(reader.get_field("llama.attention.head_count").contents(), 32)
            for tensor in reader.tensors:
                if tensor.data.dtype.kind == "f":
                    self.assertTrue(numpy.isfinite(tensor.data).all(), tensor.name)

    def test_quantized_values_of_our_writer_are_finite(self):
        path = self.folder / "ours.gguf"
        run("--write", "gguf", path, 3_000_000, 100, 6, *[kind.name for kind in GGUF_TYPES])
        checked = set()
        for tensor in gguf.GGUFReader(path).tensors:
            try:
                values = gguf.dequantize(tensor.data, tensor.tensor_type)
            except NotImplementedError:
                continue
            self.assertTrue(numpy.isfinite(values).all(), tensor.tensor_type.name)
            checked.add(tensor.tensor_type.name)
        self.assertGreater(len(checked), 15)

    def test_safetensors_of_the_official_writer(self):
        path = self.folder / "official.safetensors"
        kinds = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64",
                 "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32",
                 "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}
        random = numpy.random.default_rng(2)
        arrays = {f"a.{kind}": random.integers(0, 2, (3, 5)).astype(kind) for kind in kinds}
        arrays["scalar"] = numpy.array(1.5, dtype=numpy.float32)
        arrays["empty"] = numpy.zeros((0, 4), dtype=numpy.float32)
        arrays["n\u00e4me \"quoted\"\\\n"] = numpy.arange(3, dtype=numpy.uint8)
        safetensors.numpy.save_file(arrays, path, metadata={"format": "np", "k\u00e9y": "v\n"})
        head, values, tensors = dump(path, "format", "k\u00e9y")
        self.assertEqual(head["warnings"], [])
        self.assertEqual(values, {"format": "np", "k\u00e9y": "v\n"})
        self.assertEqual(set(tensors), set(arrays))
        for name, array in arrays.items():
            self.assertEqual(tensors[name]["type"], kinds[array.dtype.name])
            self.assertEqual(tensors[name]["shape"], list(array.shape))
            self.assertEqual(digest_of(path, tensors[name]), digest(array.tobytes()), name)

    def test_safetensors_types_beyond_numpy(self):
        for written, (name, bits) in EXTRA_DTYPES.items():
            path = self.folder / f"{written}.safetensors"
            data = numpy.arange(6 * bits // 8, dtype=numpy.uint8)
            spec = safetensors.TensorSpec(dtype=written, shape=[2, 3], data_ptr=data.ctypes.data,
                                          data_len=data.nbytes)
            try:
                safetensors.serialize_file({"t": spec}, path)
            except (safetensors.SafetensorError, ValueError) as error:
                print(f"skipped {name}: this package does not write it: {error}")
                continue
            tensor = dump(path)[2]["t"]
            self.assertEqual((tensor["type"], tensor["shape"]), (name, [2, 3]))
            self.assertEqual(digest_of(path, tensor), digest(data.tobytes()))

    def test_safetensors_of_our_writer(self):
        path = self.folder / "ours.safetensors"
        for tensors, types in ((1, ["F32"]), (40, []), (66, ["all"])):
            result, = run("--write", "safetensors", path, 9_000_000, tensors, 5, *types)
            head, _, ours = dump(path)
            self.assertEqual(head["warnings"], [])
            self.assertEqual(head["bytes"], result["bytes"])
            with safetensors.safe_open(path, framework="np") as file:
                self.assertEqual(set(file.keys()), set(ours))
                for name in file.keys():
                    view = file.get_slice(name)
                    self.assertEqual(list(view.get_shape()), ours[name]["shape"])
                    self.assertEqual(view.get_dtype(), ours[name]["type"])
            for name, theirs in safetensors.deserialize(path.read_bytes()):
                self.assertEqual(digest_of(path, ours[name]), digest(bytes(theirs["data"])), name)
                if theirs["dtype"] in ("F16", "F32", "F64", "C64"):
                    kind = {"F16": "f2", "F32": "f4", "F64": "f8", "C64": "c8"}[theirs["dtype"]]
                    array = numpy.frombuffer(theirs["data"], dtype=kind)
                    self.assertTrue(numpy.isfinite(array).all(), name)

    def test_gguf_set_of_the_official_writer(self):
        writer = gguf.GGUFWriter(self.folder / "set.gguf", "llama", split_max_tensors=2)
        writer.add_context_length(99)
        arrays = {f"t.{index}": numpy.full(index + 3, index, dtype=numpy.float32)
                  for index in range(5)}
        for name, array in arrays.items():
            writer.add_tensor(name, array)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        paths = sorted(self.folder.glob("set-*.gguf"))
        self.assertEqual(len(paths), 3)
        for given in [*paths, self.folder]:
            head, values, tensors = dump(given, "llama.context_length")
            self.assertEqual(head["warnings"], [])
            self.assertEqual(head["files"], [path.name for path in paths])
            self.assertEqual(values, {"llama.context_length": 99})
            self.assertEqual(set(tensors), set(arrays))
            for name, array in arrays.items():
                path = paths[tensors[name]["file"]]
                self.assertEqual(digest_of(path, tensors[name]), digest(array.tobytes()), name)

    def test_safetensors_set_with_files_of_the_official_writer(self):
        names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        arrays = {f"t.{index}": numpy.full((2, index), index, dtype=numpy.float16)
                  for index in range(6)}
        weight_map = {name: names[index % 2] for index, name in enumerate(arrays)}
        for file in names:
            safetensors.numpy.save_file(
                {name: array for name, array in arrays.items() if weight_map[name] == file},
                self.folder / file, metadata={"format": "np"})
        index = self.folder / "model.safetensors.index.json"
        total = sum(array.nbytes for array in arrays.values())
        index.write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map},
                                    indent=2))
        for given in [index, self.folder / names[1], self.folder]:
            head, values, tensors = dump(given, "format", "total_size")
            self.assertEqual(head["warnings"], [])
            self.assertEqual(head["files"], names)
            self.assertEqual(values, {"format": "np", "total_size": total})
            self.assertEqual(set(tensors), set(arrays))
            for name, array in arrays.items():
                path = self.folder / names[tensors[name]["file"]]
                self.assertEqual(path.name, weight_map[name])
                self.assertEqual(digest_of(path, tensors[name]), digest(array.tobytes()), name)

    def real_file(self, name):
        path = pathlib.Path(DATA) / name
        if not DATA or not path.is_file():
            self.skipTest(f"{name} is not in HIPTOOL_TEST_DATA ({DATA or 'not set'})")
        return path

    def test_real_gguf_files(self):
        for name in ("vocab-bert-bge.gguf", "vocab-deepseek-coder.gguf"):
            path = self.real_file(name)
            head, reader = self.compare_with_gguf_reader(path)
            print(f"{name}: parsed in {head['parse_time_s'] * 1e3:.2f} ms")
            self.assertEqual(head["warnings"], [])
            fields = [key for key in reader.fields if not key.startswith("GGUF.")]
            values = dump(path, *fields)[1]
            for key in fields:
                self.assertEqual(values[key], reader.get_field(key).contents(), key)
            self.assertEqual(head["keys"], fields)

    def test_real_safetensors_file(self):
        path = self.real_file("csm-voices.safetensors")
        head, _, tensors = dump(path)
        self.assertEqual(head["warnings"], [])
        arrays = safetensors.numpy.load_file(path)
        self.assertEqual(set(tensors), set(arrays))
        for name, array in arrays.items():
            self.assertEqual(tensors[name]["shape"], list(array.shape))
            self.assertEqual(digest_of(path, tensors[name]), digest(array.tobytes()), name)


if __name__ == "__main__":
    MODEL_DUMP = sys.argv.pop(1)
    cases.main(verbosity=2)
