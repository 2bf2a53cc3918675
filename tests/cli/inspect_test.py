# SPDX-License-Identifier: MIT
"""`hiptool inspect`: what it says of model files of all kinds, and of files that are none.

Usage: inspect_test.py PROGRAM [unittest options].
"""
import csv
import hashlib
import io
import json
import os
import pathlib
import struct
import sys

import program
from program import CliTest, clean_environment, libraries_looked_for, run, run_on_terminal
from verdicts import check_one_verdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from bad_files import pair, tensor, text, head  # noqa: E402 pylint: disable=wrong-import-position

U32, STRING, ARRAY = 4, 8, 9
Q8_0 = 8


def strings(values):
    return struct.pack("<IQ", STRING, len(values)) + b"".join(text(value) for value in values)


def number(value):
    return struct.pack("<I", value)


def write_gguf(path, *, layers=4, name="A model", template="{{ a }}\nsecond", extra=(), version=3,
               shard=None):
    """A small llama; of layers other than the second one the tensors are F32, of that one Q8_0."""
    pairs = [pair("general.architecture", STRING, text("llama")),
             pair("general.name", STRING, text(name)),
             pair("general.license", STRING, text("mit")),
             pair("general.quantization_version", U32, number(2)),
             pair("llama.block_count", U32, number(layers)),
             pair("llama.context_length", U32, number(8192)),
             pair("llama.embedding_length", U32, number(64)),
             pair("llama.feed_forward_length", U32, number(256)),
             pair("llama.attention.head_count", U32, number(8)),
             pair("llama.attention.head_count_kv", U32, number(2)),
             pair("tokenizer.ggml.model", STRING, text("gpt2")),
             pair("tokenizer.ggml.pre", STRING, text("smollm")),
             pair("tokenizer.ggml.tokens", ARRAY, strings([f"t{n}" for n in range(12)])),
             pair("tokenizer.ggml.eos_token_id", U32, number(2)),
             pair("tokenizer.chat_template", STRING, text(template)), *extra]
    tensors, data = [], 0
    if shard is not None:
        part, count = shard
        pairs = (pairs if part == 0 else []) + [
            pair("split.no", 2, struct.pack("<H", part)),
            pair("split.count", 2, struct.pack("<H", count)),
            pair("split.tensors.count", 5, struct.pack("<i", count))]
        tensors, data = [tensor(f"blk.{part}.w", 0, (64,))], 256
    else:
        for layer in range(layers):
            is_packed = layer == 1
            tensors.append(tensor(f"blk.{layer}.ffn_up.weight", data, (64, 2),
                                  Q8_0 if is_packed else 0))
            data += 160 if is_packed else 512
        tensors.append(tensor("output_norm.weight", data, (64,)))
        data += 256
    header = head(len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    header = header[:4] + struct.pack("<I", version) + header[8:]
    path.write_bytes(header + bytes(-len(header) % 32) + bytes(data))
    return path


def write_safetensors(path, tensors, metadata=None):
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, content in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(content)],
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    encoded = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return path


class Inspect(CliTest):
    def inspect(self, *words, code=0, environment=None):
        result = run("inspect", *map(str, words), "--format", "json", environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return self.assert_document(result.stdout, "inspect.schema.json")

    def model(self, *words):
        model, = self.inspect(*words)["models"]
        return model

    def shown(self, *words, **more):
        result = run("inspect", *map(str, words), **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class OneModel(Inspect):
    def setUp(self):
        super().setUp()
        self.path = write_gguf(self.folder / "m.gguf")

    def test_fields(self):
        model = self.model(self.path)
        expected = {
            "path": str(self.path), "format": "gguf", "format_version": 3, "files": 1,
            "tensors": 5, "bytes": 3 * 512 + 136 + 256, "parameters": 4 * 128 + 64,
            "architecture": "llama", "name": "A model", "license": "mit",
            "quantization_version": 2, "context_length": 8192, "layers": 4,
            "embedding_length": 64, "feed_forward_length": 256, "heads": 8, "kv_heads": 2,
            "key_length": 8, "value_length": 8, "vocabulary_size": 12,
            "file_bytes": self.path.stat().st_size, "warnings": []}
        self.assertEqual({key: model[key] for key in expected}, expected)
        self.assertAlmostEqual(model["bits_per_weight"], 8 * model["bytes"] / model["parameters"])
        self.assertEqual(model["quantization"],
                         [{"type": "F32", "tensors": 4, "bytes": 3 * 512 + 256},
                          {"type": "Q8_0", "tensors": 1, "bytes": 136}])
        self.assertEqual(model["layer_groups"], [
            {"name": "blk", "layers": [0, 2, 3], "tensors": 3, "parameters": 384, "bytes": 1536},
            {"name": "blk", "layers": [1], "tensors": 1, "parameters": 128, "bytes": 136},
            {"name": "output_norm", "layers": [], "tensors": 1, "parameters": 64, "bytes": 256}])
        self.assertEqual(model["tokenizer"], {
            "model": "gpt2", "pre": "smollm", "tokens": 12, "merges": None,
            "special": [{"role": "eos", "id": 2, "text": "t2"}]})
        self.assertEqual(model["chat_templates"], [{"name": None, "text": "{{ a }}\nsecond"}])

    def test_a_model_of_plain_types_has_no_version_of_quantisation(self):
        for types, is_shown in (("F32", False), ("F32,Q8_0", True)):
            path = self.folder / f"plain-{is_shown}.gguf"
            self.assertEqual(run("make-model", path, "--size", "1MiB", "--dtype",
                                 types).returncode, 0)
            self.assertEqual("quantised" in run("inspect", path).stdout, is_shown, types)

    def test_the_first_line_sums_up(self):
        lines = self.shown(self.path).splitlines()
        self.assertEqual(lines[0], "m.gguf: llama, 576 parameters, F32, 26.78 bits/weight, "
                         f"{self.path.stat().st_size / 1024:.2f} KiB".replace(".00", ""))
        facts = dict(one.split(maxsplit=1) for one in lines[2:lines.index("", 2)] if one[0] != " ")
        self.assertEqual(facts["tokenizer"], "gpt2, smollm, 12 tokens")
        self.assertEqual(facts["special"], "eos 2 t2")
        self.assertEqual(facts["template"], "{{ a }} (2 lines, 14 B)")
        self.assertEqual(facts["licence"], "mit")
        self.assertTrue(any(line.startswith("blk.0, 2-3 ") for line in lines))

    def test_one_value(self):
        self.assertEqual(self.shown(self.path, "--key", "llama.context_length"), "8192\n")
        self.assertEqual(self.shown(self.path, "--key", "general.name"), "A model\n")
        self.assertEqual(self.shown(self.path, "--key", "tokenizer.ggml.tokens"),
                         "".join(f"t{n}\n" for n in range(12)))
        self.assertEqual(self.shown(self.path, "--chat-template"), "{{ a }}\nsecond\n")
        entry, = self.model(self.path, "--key", "tokenizer.ggml.tokens")["metadata"]
        self.assertEqual((entry["value"], entry["is_shortened"]),
                         ([f"t{n}" for n in range(12)], False))

    def test_a_key_that_is_not_there(self):
        for words, reason in ((("--key", "general.nam"), "did you mean 'general.name'?"),
                              (("--key", "x"), "--metadata")):
            result = run("inspect", str(self.path), *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(reason, result.stderr)
        plain = write_safetensors(self.folder / "p.safetensors", {"a": b"x"})
        result = run("inspect", str(plain), "--chat-template")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("has no chat template", result.stderr)

    def test_metadata(self):
        entries = {entry["key"]: entry for entry in self.model(self.path, "--metadata")["metadata"]}
        self.assertEqual(entries["tokenizer.ggml.tokens"],
                         {"key": "tokenizer.ggml.tokens", "type": "string", "is_array": True,
                          "count": 12, "value": [f"t{n}" for n in range(8)], "is_shortened": True})
        self.assertEqual(entries["llama.context_length"]["value"], 8192)
        table = self.shown(self.path, "--metadata")
        self.assert_width(table)
        self.assertRegex(table, r'tokenizer\.ggml\.tokens +string\[12\] +"t0", "t1"')
        rows = list(csv.DictReader(io.StringIO(
            self.shown(self.path, "--metadata", "--format", "csv"))))
        self.assertEqual(len(rows), len(entries))

    def test_tensors(self):
        tensors = self.model(self.path, "--tensors")["tensor_list"]
        self.assertEqual([entry["name"] for entry in tensors][-1], "output_norm.weight")
        self.assertEqual(sum(entry["bytes"] for entry in tensors), 3 * 512 + 136 + 256)
        rows = list(csv.DictReader(io.StringIO(
            self.shown(self.path, "--tensors", "--format", "csv"))))
        self.assertEqual([row["name"] for row in rows], [entry["name"] for entry in tensors])

    def test_a_document_renders_as_the_run_was_shown(self):
        document = self.folder / "a.json"
        for words in (["--format", "json"], ["--export", f"json={document}"]):
            with self.subTest(words):
                result = run("inspect", self.path, "--tensors", *words)
                if "--format" in words:
                    document.write_text(result.stdout, encoding="utf-8")
                self.assertEqual(run("report", "render", document, "--format", "table").stdout,
                                 run("inspect", self.path, "--tensors").stdout)

    def test_no_driver_is_opened(self):
        self.assertNotRegex(libraries_looked_for("inspect", str(self.path)), program.DRIVERS)

    def test_every_format_agrees(self):
        check_one_verdict(self, ["inspect", self.path], 0)
        check_one_verdict(self, ["inspect", self.path, self.folder / "none"], 4)
        check_one_verdict(self, ["inspect", self.folder / "none"], 4)

    def test_wrong_usage(self):
        for words in ((), (self.path, self.path, "--key", "a"), (self.path, "--device", "cpu"),
                      (self.path, "--key", "a", "--metadata"),
                      (self.path, "--key", "a", "--chat-template")):
            result = run("inspect", *map(str, words))
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertRegex(result.stderr, r"^error: .+\n(.*\n)*hint: ")

    def test_control_characters_do_not_reach_a_terminal(self):
        bad = "\x1b[31mred\x07"
        path = write_gguf(self.folder / "\x1b[2J.gguf", name=bad, template=bad + "\n" + bad,
                          extra=[pair("a.b", STRING, text(bad)),
                                 pair("a.c", ARRAY, strings([bad]))])
        for words in ((), ("--metadata",), ("--tensors",), ("--chat-template",), ("--key", "a.b"),
                      ("--key", "a.c"), (str(self.path),), (str(self.folder / "\x1b[m"),)):
            _, output = run_on_terminal("--color", "never", "inspect", str(path), *words)
            self.assertNotIn(b"\x1b", output, words)
            self.assertNotIn(b"\x07", output, words)
        self.assertEqual(self.shown(path, "--key", "a.b"), bad + "\n")

    def test_widths_and_colour(self):
        for columns in (60, 80, 120):
            for words in ((), ("--metadata",), ("--tensors",)):
                _, output = run_on_terminal("inspect", str(self.path), *words, columns=columns,
                                            NO_COLOR="1")
                self.assert_width(output.decode(), columns)


class Kinds(Inspect):
    """Files of all kinds."""

    def check(self, path, **expected):
        model = self.model(path)
        self.assertEqual({key: model[key] for key in expected}, expected)
        return model

    def refused(self, path, *reasons, code=4, words=()):
        result = run("inspect", str(path), *words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertTrue(result.stderr.startswith("error: "), result.stderr)
        for reason in reasons:
            self.assertIn(reason, result.stderr)
        document = self.inspect(path, *words, code=code)
        self.assertEqual((document["models"], len(document["refused"])), ([], 1))

    def test_gguf_versions(self):
        for version in (2, 3):
            self.check(write_gguf(self.folder / f"v{version}.gguf", version=version),
                       format_version=version, layers=4)
        path = write_gguf(self.folder / "old.gguf", version=1)
        self.refused(path, "GGUF version 1 is not read", "convert the model again")
        path = write_gguf(self.folder / "big.gguf", version=3 << 24)
        self.refused(path, "big-endian")
        self.refused(write_gguf(self.folder / "new.gguf", version=9), "GGUF version 9")

    def test_a_wrong_suffix(self):
        self.check(write_gguf(self.folder / "model.safetensors"), format="gguf")
        self.check(write_safetensors(self.folder / "model.bin", {"a": b"1"}), format="safetensors")

    def test_shards_from_any_of_them(self):
        for part in range(3):
            write_gguf(self.folder / f"s-0000{part + 1}-of-00003.gguf", shard=(part, 3))
        for part in (1, 3):
            model = self.check(self.folder / f"s-0000{part}-of-00003.gguf", files=3, tensors=3)
            self.assertEqual([pathlib.Path(part["path"]).name for part in model["parts"]],
                             [f"s-0000{part}-of-00003.gguf" for part in (1, 2, 3)])
        self.assertIn("s-00002-of-00003.gguf", self.shown(self.folder))
        # All of them, as a shell expands *.gguf, are one model.
        self.model(*sorted(self.folder.glob("*.gguf")))
        (self.folder / "s-00002-of-00003.gguf").unlink()
        self.refused(self.folder / "s-00001-of-00003.gguf", "s-00002-of-00003.gguf", "missing")

    def write_snapshot(self, folder):
        """A model of two shards as Hugging Face has it, with its other files."""
        folder.mkdir(parents=True)
        names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        write_safetensors(folder / names[0], {"model.embed_tokens.weight": bytes(10)})
        write_safetensors(folder / names[1], {"model.layers.0.w": bytes(5),
                                              "model.layers.1.w": bytes(5)})
        files = {
            "model.safetensors.index.json": {"metadata": {"total_size": 20}, "weight_map": {
                "model.embed_tokens.weight": names[0], "model.layers.0.w": names[1],
                "model.layers.1.w": names[1]}},
            "config.json": {"model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 64,
                            "num_attention_heads": 8, "intermediate_size": 128,
                            "max_position_embeddings": 4096, "eos_token_id": [5, 6]},
            "generation_config.json": {"bos_token_id": 4},
            "tokenizer.json": {
                "added_tokens": [{"id": 4, "content": "<s>"}, {"id": 5, "content": "</s>"},
                                 {"id": 0, "content": "a"}],
                "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3},
                          "merges": ["a b"]}},
            "tokenizer_config.json": {"chat_template": "old", "pad_token": {"content": "a"}},
        }
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
        (folder / "chat_template.jinja").write_text("{% new %}\nline", encoding="utf-8")
        (folder / "README.md").write_text("---\nlicense: other\nlicense_name: 'tongyi'\n---\n# A\n",
                                          encoding="utf-8")
        return folder

    def test_a_snapshot_of_hugging_face(self):
        cache = self.folder / "models--org--name"
        snapshot = self.write_snapshot(cache / "snapshots" / "abc")
        (cache / "refs").mkdir()
        (cache / "refs" / "main").write_text("abc")
        for path in (snapshot, cache, snapshot / "model.safetensors.index.json",
                     snapshot / "model-00002-of-00002.safetensors"):
            model = self.check(path, files=2, architecture="qwen2", layers=2, bytes=20,
                               feed_forward_length=128, license="tongyi", context_length=4096)
            self.assertEqual(model["tokenizer"], {
                "model": "BPE", "pre": None, "tokens": 6, "merges": 1,
                "special": [{"role": "bos", "id": 4, "text": "<s>"},
                            {"role": "eos", "id": 5, "text": "</s>"},
                            {"role": "eos", "id": 6, "text": None},
                            {"role": "padding", "id": 0, "text": "a"}]})
            self.assertEqual(model["chat_templates"], [{"name": None, "text": "{% new %}\nline"}])
        for path in (snapshot, cache):
            self.assertTrue(self.shown(path).startswith("org/name: qwen2, 20 parameters, U8"))

    def test_packed_weights(self):
        snapshot = self.write_snapshot(self.folder / "m")
        config = json.loads((snapshot / "config.json").read_text())
        config["quantization_config"] = {"quant_method": "awq", "bits": 4}
        (snapshot / "config.json").write_text(json.dumps(config))
        self.check(snapshot, file_type="awq")
        shown = self.shown(snapshot).replace("\n  ", " ")
        self.assertIn("is not known for awq", shown)

    def test_files_around_a_model_that_cannot_be_used(self):
        snapshot = self.write_snapshot(self.folder / "m")
        (snapshot / "chat_template.jinja").unlink()
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            (snapshot / name).write_text('{"model": ' + "[" * 200, encoding="utf-8")
        model = self.check(snapshot, chat_templates=[], architecture="qwen2")
        self.assertEqual(len(model["warnings"]), 3)
        self.assertIn("tokenizer.json is ignored", self.shown(snapshot).replace("\n  ", " "))

    def test_ollama(self):
        data = write_gguf(self.folder / "x").read_bytes()
        data = data.replace(b"general.license", b"general.licence")
        digest = hashlib.sha256(data).hexdigest()
        licence = hashlib.sha256(b"licence").hexdigest()
        blobs = self.folder / "models" / "blobs"
        registry = self.folder / "models" / "manifests" / "registry.ollama.ai"
        manifest = registry / "library" / "ll" / "1b"
        manifest.parent.mkdir(parents=True)
        blobs.mkdir()
        (blobs / f"sha256-{digest}").write_bytes(data)
        manifest.write_text(json.dumps({"layers": [{
            "mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}",
            "size": len(data)}, {"mediaType": "application/vnd.ollama.image.license",
                                 "digest": f"sha256:{licence}", "size": 7}]}))
        (blobs / f"sha256-{licence}").write_text("\n   Apache License \n  Version 2.0\n")
        for path, name in ((manifest, "Apache License"), (blobs / f"sha256-{digest}", None)):
            part, = self.check(path, architecture="llama", license=name)["parts"]
            self.assertEqual((part["sha256"], part["sha256_source"]),
                             (digest, "the name of its blob"))
        text_shown = self.shown(manifest)
        self.assertTrue(text_shown.startswith("ll:1b: llama"), text_shown)
        self.assertIn(digest, text_shown)

    def test_what_is_no_model(self):
        model = write_gguf(self.folder / "m.gguf").read_bytes()
        folder = self.folder / "empty folder"
        folder.mkdir()
        several = self.folder / "several"
        several.mkdir()
        write_gguf(several / "a.gguf")
        write_gguf(several / "b.gguf")
        for name, data, reason in (
                ("empty.gguf", b"", "the file is empty"), ("short.gguf", b"GGU", "only 3 bytes"),
                ("cut.gguf", model[:-1], "end beyond the file"),
                ("header.gguf", model[:200], "remain"),
                ("zeros.gguf", bytes(100), "zero bytes"),
                ("page.gguf", b"<!DOCTYPE html><html>", "a web page"),
                ("lfs.gguf", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
                ("old.bin", b"lmgg" + bytes(60), "before GGUF"),
                ("zip.pt", b"PK\x03\x04\x14\0\x08\x08\x08" + bytes(60), "zip"),
                ("a.json", b'{"a": 1}' + b" " * 20, "neither the index"),
                ("text.gguf", b"hello, this is no model", "a text, not a model: 'hello")):
            (self.folder / name).write_bytes(data)
            self.refused(self.folder / name, reason, name)
        self.refused(folder, "holds no .safetensors or .gguf")
        self.refused(self.folder / "none.gguf", "none.gguf")
        self.refused("/dev/null", "/dev/null")
        self.refused(several, "a.gguf", "b.gguf", code=2)

    def test_strict_and_unknown_types(self):
        path = write_gguf(self.folder / "m.gguf", extra=[pair("Not Snake", U32, number(1))])
        self.check(path, architecture="llama")
        self.refused(path, "lower_snake_case", words=("--strict",))
        data = path.read_bytes().replace(struct.pack("<I", Q8_0) + struct.pack("<Q", 512),
                                         struct.pack("<I", 200) + struct.pack("<Q", 512))
        path.write_bytes(data)
        self.refused(path, "200")
        model = self.model(path, "--opaque")
        self.assertIn("opaque(200)", [share["type"] for share in model["quantization"]])


class SeveralModels(Inspect):
    def test_one_row_each(self):
        paths = [write_gguf(self.folder / f"{name}.gguf", layers=layers)
                 for name, layers in (("a", 1), ("b", 2), ("c", 3))]
        document = self.inspect(*paths)
        self.assertEqual([model["layers"] for model in document["models"]], [1, 2, 3])
        lines = self.shown(*paths).splitlines()
        self.assertTrue(lines[0].startswith("3 models, "), lines[0])
        self.assertEqual([line.split()[0] for line in lines[2:6]],
                         ["Model", "a.gguf", "b.gguf", "c.gguf"])
        rows = list(csv.DictReader(io.StringIO(self.shown(*paths, "--format", "csv"))))
        self.assertEqual([row["layers"] for row in rows], ["1", "2", "3"])

    def test_wrong_ones_are_named_and_the_others_shown(self):
        good = write_gguf(self.folder / "good.gguf")
        bad = self.folder / "bad.gguf"
        bad.write_bytes(good.read_bytes()[:100])
        words = [str(good), str(bad), str(self.folder / "none"), str(good)]
        result = run("inspect", *words)
        self.assertEqual(result.returncode, 4)
        self.assertTrue(result.stdout.startswith("FAILED: 2 of 4 models could not be read: "))
        self.assertEqual(result.stdout.count("\ngood.gguf "), 2)
        self.assertEqual(result.stderr.count("error: "), 2)
        document = self.inspect(*words, code=4)
        self.assertEqual([model["path"] for model in document["models"]], [str(good)] * 2)
        self.assertEqual([(one["path"], one["error"]["code"]) for one in document["refused"]],
                         [(str(bad), "corrupt_data"), (words[2], "input_failed")])
        rows = list(csv.DictReader(io.StringIO(run("inspect", *words, "--format", "csv").stdout)))
        self.assertEqual([bool(row["error"]) for row in rows], [False, False, True, True])

    def test_details_of_each(self):
        paths = [write_gguf(self.folder / f"{name}.gguf") for name in "ab"]
        self.assertIn("Tensors of b.gguf", self.shown(*paths, "--tensors"))
        rows = list(csv.DictReader(io.StringIO(
            self.shown(*paths, "--tensors", "--format", "csv"))))
        self.assertEqual({row["model"] for row in rows}, set(map(str, paths)))


class Elsewhere(Inspect):
    """Names of models that are not on this machine, for inspect and load alike."""

    def hints(self, name, **variables):
        found = set()
        environment = clean_environment(**{"HOME": str(self.folder), **variables})
        for words in (("inspect", name), ("load", name, "--dry-run")):
            result = run(*words, environment=environment, cwd=self.folder)
            self.assertEqual(result.returncode, 4, result.stderr)
            found.add(" ".join(result.stderr.split("hint: ")[1].split()))
        self.assertEqual(len(found), 1, found)
        return found.pop()

    def test_commands_that_download(self):
        """Names that people give to programs that load from a disk.

        github.com/langchain-ai/langchain/issues/14514, .../resolve/main/FILE on huggingface.co;
        github.com/ollama/ollama/issues/14811, hf.co/org/name:Q4_K_M.
        """
        langchain = ("https://huggingface.co/TheBloke/Llama-2-13B-chat-GGML/resolve/main/"
                     "llama-2-13b-chat.ggmlv3.q4_0.bin")
        resolve = "https://huggingface.co/o/n/resolve/main/m.gguf"
        for name, command in (
                ("https://example.org/m.gguf", "`curl -LO https://example.org/m.gguf`"),
                ("http://example.org/m.gguf?a=1&b='2'",
                 "`curl -LO 'http://example.org/m.gguf?a=1&b='\\''2'\\'''`"),
                (resolve, f"`curl -LO {resolve}`"), (langchain, f"`curl -LO {langchain}`"),
                ("hf.co/unsloth/Qwen3.5-4B-GGUF:Q4_K_M",
                 "`hf download unsloth/Qwen3.5-4B-GGUF --include '*Q4_K_M*'`"),
                ("https://huggingface.co/o/n/blob/main/m.gguf?download=true",
                 f"`curl -LO {resolve}`"),
                ("https://huggingface.co/o/n", "`hf download o/n`"),
                ("https://huggingface.co/o/n/tree/main", "`hf download o/n`"),
                ("hf.co/o/n:Q4_K_M", "`hf download o/n --include '*Q4_K_M*'`"),
                ("Qwen/Qwen3-0.6B", "`hf download Qwen/Qwen3-0.6B`"),
                ("llama3.2:1b", "`ollama pull llama3.2:1b`"),
                ("localhost:5000/o/n", "`ollama pull localhost:5000/o/n`"),
                ("https://ollama.com/library/llama3.2:1b", "`ollama pull llama3.2:1b`")):
            self.assertIn(command, self.hints(name), name)

    def test_other_names_are_missing_files(self):
        (self.folder / "there").mkdir()
        for name in ("model.gguf", "d/model.gguf", "a/b/c", "v1.0/a/b", "there/name", "m", "../x"):
            self.assertNotRegex(self.hints_of_missing(name), "curl|hf download|ollama pull")

    def hints_of_missing(self, name):
        result = run("inspect", name, cwd=self.folder)
        self.assertEqual(result.returncode, 4)
        self.assertIn(name, result.stderr)
        return result.stderr


if __name__ == "__main__":
    program.main(__doc__)
