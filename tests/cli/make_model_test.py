# SPDX-License-Identifier: MIT
"""`hiptool make-model`: files and sets of files that other programs read.

Usage: make_model_test.py PROGRAM [unittest options].
"""
import json
import os
import re
import resource
import signal
import subprocess

import program
from program import CliTest, clean_environment, run

try:
    import gguf
    import safetensors
except ImportError as missing:
    print(f"skipped: the package {missing.name} is not installed")
    raise SystemExit(77) from missing

# The package's table has 40 bytes for a Q8_1 block, ggml's struct has 36; others are newer than it.
LEFT_OUT = {"Q8_1"}
GGUF_TYPES = {kind.name for kind in gguf.GGMLQuantizationType} - LEFT_OUT
NEWER_SAFETENSORS = {"F6_E2M3", "F6_E3M2", "F4", "F8_E8M0", "C64", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}


def field(reader, key):
    return reader.fields[key].parts[-1].tolist()[0] if key in reader.fields else None


class MakeModel(CliTest):
    def make(self, name, *words, code=0):
        result = run("make-model", str(self.folder / name), "--quiet", *words,
                     environment=clean_environment(HIPTOOL_FORMAT="json"))
        self.assertEqual(result.returncode, code, result.stderr)
        return self.assert_document(result.stdout, "make-model.schema.json")

    def names(self):
        return sorted(os.listdir(self.folder))

    def planned_types(self, path):
        """Types by name as our own reader sees them in one file."""
        result = run("load", str(path), "--dry-run", "--tensors", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return {tensor["name"]: tensor["dtype"] for tensor in json.loads(result.stdout)["tensors"]}

    def test_gguf_set(self):
        types = ",".join(sorted(GGUF_TYPES))
        model = self.make("m.gguf", "--dtype", types, "--shards", "3", "--size", "3MiB",
                          "--vocabulary", "1000")["model"]
        shards = [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
        self.assertEqual(self.names(), shards)
        self.assertEqual((model["files"], model["path"]), (3, str(self.folder / shards[0])))
        self.assertEqual(model["file_bytes"],
                         sum((self.folder / name).stat().st_size for name in shards))
        readers = [gguf.GGUFReader(self.folder / name) for name in shards]
        seen, size = [], 0
        for number, reader in enumerate(readers):
            self.assertEqual(field(reader, "split.no"), number)
            self.assertEqual(field(reader, "split.count"), 3)
            self.assertEqual(field(reader, "split.tensors.count"), model["tensors"])
            for key, kind in (("split.no", "UINT16"), ("split.count", "UINT16"),
                              ("split.tensors.count", "INT32")):
                self.assertEqual(reader.fields[key].types[0].name, kind)
            self.assertGreater(len(reader.tensors), 0)
            self.assertEqual("general.architecture" in reader.fields, number == 0)
            self.assertEqual("tokenizer.ggml.tokens" in reader.fields, number == 0)
            seen += [tensor.name for tensor in reader.tensors]
            bytes_here = sum(int(tensor.n_bytes) for tensor in reader.tensors)
            self.assertLess(abs(bytes_here - model["bytes"] / 3), model["bytes"] / 3)
            size += bytes_here
        self.assertEqual((len(set(seen)), len(seen)), (model["tensors"], model["tensors"]))
        self.assertEqual(size, model["bytes"])
        self.assertEqual({tensor.tensor_type.name for reader in readers
                          for tensor in reader.tensors}, GGUF_TYPES)
        self.assertEqual(len(readers[0].fields["tokenizer.ggml.tokens"].data), 1000)
        self.assertEqual(field(readers[0], "llama.vocab_size"), 1000)

    def test_shards_hold_what_the_whole_file_holds(self):
        self.make("whole.gguf", "--size", "1MiB", "--seed", "5")
        self.make("set", "--size", "1MiB", "--seed", "5", "--shards", "4", "--format", "gguf")
        whole = {tensor.name: tensor.data.tobytes()
                 for tensor in gguf.GGUFReader(self.folder / "whole.gguf").tensors}
        parts = {tensor.name: tensor.data.tobytes() for number in (1, 2, 3, 4)
                 for tensor in gguf.GGUFReader(
                     self.folder / f"set-0000{number}-of-00004.gguf").tensors}
        self.assertEqual(parts, whole)

    def test_safetensors_set(self):
        model = self.make("model.safetensors", "--dtype", "F32,F16,BF16,I8,I64,U8,BOOL,F8_E4M3",
                          "--shards", "2", "--size", "1MiB")["model"]
        shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        self.assertEqual(self.names(), shards + ["model.safetensors.index.json"])
        self.assertEqual(model["path"], str(self.folder / "model.safetensors.index.json"))
        index = json.loads((self.folder / "model.safetensors.index.json").read_text("utf-8"))
        self.assertEqual(index["metadata"]["total_size"], model["bytes"])
        self.assertEqual(len(index["weight_map"]), model["tensors"])
        size = 0
        for shard in shards:
            tensors = dict(safetensors.deserialize((self.folder / shard).read_bytes()))
            self.assertEqual({name for name, file in index["weight_map"].items() if file == shard},
                             set(tensors))
            size += sum(len(tensor["data"]) for tensor in tensors.values())
        self.assertEqual(size, model["bytes"])

    def test_all_types_are_there_without_a_count(self):
        self.make("all.gguf", "--dtype", "all", "--size", "1MiB")
        self.assertLessEqual(GGUF_TYPES | LEFT_OUT,
                             set(self.planned_types(self.folder / "all.gguf").values()))
        model = self.make("all.safetensors", "--dtype", "all", "--size", "1MiB")["model"]
        path = self.folder / "all.safetensors"
        types = set(self.planned_types(path).values())
        self.assertLessEqual(NEWER_SAFETENSORS, types)
        self.assertEqual((len(types), model["tensors"]), (22, 22))
        if hasattr(safetensors, "safe_open"):
            with safetensors.safe_open(path, framework="np") as file:
                self.assertEqual({file.get_slice(name).get_dtype() for name in file.keys()}, types)

    def test_context_can_be_tried(self):
        self.make("m.gguf", "--size", "1MiB", "--tensors", "20", "--vocabulary", "7")
        result = run("load", str(self.folder / "m.gguf"), "--dry-run", "--context", "10",
                     "--device", "cpu", "--format", "json")
        document = self.assert_document(result.stdout, "load.schema.json")
        self.assertEqual(document["model"]["layers"], 2)
        self.assertEqual(document["model"]["vocabulary_size"], 7)
        self.assertEqual(document["fit"]["kv_cache_bytes"], 256 * 2 * 8 * 256 * 2)

    def test_decoder(self):
        self.make("m.gguf", "--architecture", "qwen3", "--dtype", "Q4_K", "--rope", "yarn",
                  "--window", "5", "--shards", "2")
        reader = gguf.GGUFReader(self.folder / "m-00001-of-00002.gguf")
        keys = {"qwen3.block_count": 3, "qwen3.attention.sliding_window": 5,
                "qwen3.attention.key_length": 128, "qwen3.feed_forward_length": 768,
                "qwen3.rope.scaling.original_context_length": 32}
        self.assertEqual({key: field(reader, key) for key in keys}, keys)
        self.assertEqual(len(reader.fields["tokenizer.ggml.tokens"].data), 331)
        tensors = {tensor.name: tensor for number in (1, 2) for tensor in gguf.GGUFReader(
            self.folder / f"m-0000{number}-of-00002.gguf").tensors}
        self.assertEqual(tensors["blk.2.ffn_down.weight"].tensor_type.name, "Q4_K")
        self.assertEqual(tensors["blk.2.attn_k_norm.weight"].tensor_type.name, "F32")
        self.assertIn("output.weight", tensors)
        model = self.make("model.safetensors", "--architecture", "mistral", "--dtype", "BF16",
                          "--tied", "--window", "7")["model"]
        self.assertEqual(model["path"], str(self.folder / "model.safetensors"))
        config = json.loads((self.folder / "config.json").read_text("utf-8"))
        self.assertEqual((config["model_type"], config["sliding_window"], config["head_dim"]),
                         ("mistral", 7, 24))
        tensors = dict(safetensors.deserialize(
            (self.folder / "model.safetensors").read_bytes()))
        self.assertEqual(tensors["model.embed_tokens.weight"]["shape"], [331, 96])
        self.assertNotIn("lm_head.weight", tensors)
        # The config of another model is not replaced unasked.
        result = run("make-model", str(self.folder / "other.safetensors"), "--architecture",
                     "llama", "--quiet")
        self.assertEqual(result.returncode, 2)
        self.assertIn("config.json already exists", result.stderr)
        self.assertIn("choose another folder", result.stderr)

    def test_every_architecture_needs_no_other_option(self):
        """In the formats that have it; what is always there, such as windows, is chosen."""
        names = re.search(r"expected one of (.*)", run("make-model", "x.gguf", "--architecture",
                                                       "x").stderr)[1].split(", ")
        self.assertGreater(len(names), 20)
        for name in names:
            with self.subTest(name=name):
                for file in ("m.gguf", "m.safetensors"):
                    path = self.folder / name / file
                    path.parent.mkdir(exist_ok=True)
                    result = run("make-model", str(path), "--architecture", name, "-q")
                    if result.returncode:
                        self.assertEqual(file, "m.gguf")
                        self.assertIn("is written as safetensors only", result.stderr)
                        continue
                    found = run("inspect", str(path)).stdout
                    self.assertRegex(found, r"prove +a proof needs")

    def test_a_decoder_of_a_size(self):
        model = self.make("m.gguf", "--architecture", "llama", "--dtype", "q4_k,q6_k", "--size",
                          "3MiB")["model"]
        self.assertLess(abs(model["bytes"] - (3 << 20)), 1 << 19)
        reader = gguf.GGUFReader(self.folder / "m.gguf")
        keys = {"llama.embedding_length": 256, "llama.attention.head_count": 4,
                "llama.feed_forward_length": 768, "llama.context_length": 8192}
        self.assertEqual({key: field(reader, key) for key in keys}, keys)
        self.assertEqual({tensor.tensor_type.name for tensor in reader.tensors},
                         {"F32", "Q4_K", "Q6_K"})
        path = str(self.folder / "m.gguf")
        for words, status in ((["--check-tensors"], "verified"), (["--prove"], "proved"),
                              (["--decode", "3"], "decoded")):
            result = run("load", path, "--device", "cpu", "--format", "json", *words)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual(json.loads(result.stdout)["status"], status)
        # The ids of a model whose activations vanish or explode would all be equal.
        self.assertGreater(len(set(json.loads(result.stdout)["decode"]["ids"])), 1)

    def test_one_shard_is_a_plain_file(self):
        self.make("m.gguf", "--shards", "1", "--size", "1MiB")
        self.assertEqual(self.names(), ["m.gguf"])
        self.assertIsNone(field(gguf.GGUFReader(self.folder / "m.gguf"), "split.count"))

    def test_more_shards_than_the_usual_tensors(self):
        model = self.make("m.gguf", "--shards", "20", "--size", "1MiB")["model"]
        self.assertEqual(model["tensors"], 20)
        self.assertEqual(len(self.names()), 20)

    def test_a_full_disk_leaves_no_part_of_a_set(self):
        (self.folder / "m.gguf").write_bytes(b"before")
        for name in ("m.gguf", "m.safetensors"):
            def limit():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
            # One of the tensors is larger than the limit, and so is only the shard that it is in.
            result = run("make-model", str(self.folder / name), "--shards", "4", "--size", "8MiB",
                         "--quiet", preexec_fn=limit)
            self.assertEqual(result.returncode, 7, result.stderr)
            self.assertIn("error: cannot write", result.stderr)
            self.assertEqual(self.names(), ["m.gguf"])

    def test_a_name_that_is_taken_leaves_no_part_of_a_set(self):
        for taken in ("m-00003-of-00003.gguf", "m-00001-of-00003.gguf"):
            (self.folder / taken).mkdir()
            result = run("make-model", str(self.folder / "m.gguf"), "--shards", "3", "--size",
                         "1MiB", "--quiet")
            self.assertEqual(result.returncode, 7, result.stderr)
            self.assertEqual(self.names(), [taken])
            (self.folder / taken).rmdir()

    def test_interrupted_sets_leave_nothing(self):
        process = program.start(
            "make-model", str(self.folder / "big.gguf"), "--size", "16GiB", "--shards", "4000",
            "--tensors", "4000", "--quiet", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        program.wait_until(lambda: len(self.names()) >= 3, "the third file")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=program.GUARD_S), 130)
        self.assertEqual(self.names(), [])

    def test_names_of_the_other_format(self):
        for name, own in (("qwen3_next", "qwen3next"), ("qwen3_5_moe_text", "qwen35moe"),
                          ("glm4_moe", "glm4moe"), ("qwen35", "qwen35")):
            self.make(name + ".gguf", "--architecture", name)
            reader = gguf.GGUFReader(self.folder / (name + ".gguf"))
            self.assertEqual(bytes(reader.fields["general.architecture"].parts[-1]).decode(), own)
        self.make("model.safetensors", "--architecture", "qwen35")
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        self.assertEqual(config["model_type"], "qwen3_5_text")
        for name, own in (("mistral", "llama"), ("kimi_k2", "deepseek2"),
                          ("deepseek_v2", "deepseek2")):
            result = run("make-model", str(self.folder / "other.gguf"), "--architecture", name)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"{name} is written as safetensors only", result.stderr)
            self.assertIn(f"a GGUF of such a model is {own}", " ".join(result.stderr.split()))
        result = run("make-model", str(self.folder / "other.gguf"), "--architecture", "qwen3_nex")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'qwen3next'?", result.stderr)

    def test_wrong_usage(self):
        for words in (["m.gguf", "--shards", "0"], ["m.gguf", "--shards", "65536"],
                      ["m.gguf", "--shards", "-1"], ["m.gguf", "--shards", "5", "--tensors", "4"],
                      ["m.gguf", "--vocabulary", "10000001"], ["m", "--shards", "2"],
                      ["m.safetensors", "--vocabulary", "5"], ["m.gguf", "--tied"],
                      ["m.gguf", "--architecture", "llama", "--tensors", "9"],
                      ["m.gguf", "--architecture", "llama", "--vocabulary", "9"],
                      ["m.gguf", "--architecture", "mistral"],
                      ["m.safetensors", "--architecture", "olmo2", "--window", "5"],
                      ["m.gguf", "--architecture", "llama", "--dtype", "I8"],
                      ["m.gguf", "--architecture", "llama", "--rope", "ntk"]):
            with self.subTest(words):
                result = run("make-model", str(self.folder / words[0]), *words[1:])
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(self.names(), [])


if __name__ == "__main__":
    program.main(__doc__)
