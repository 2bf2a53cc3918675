# SPDX-License-Identifier: MIT
"""What `inspect` and `load` say of files as people have them: packed weights, files that accompany
a model, files that are none. Each case names the public report that it follows.

Usage: model_kinds_test.py PROGRAM [unittest options].
"""
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

import program
from program import CliTest, clean_environment, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from bad_files import gguf, pair, tensor, text  # noqa: E402 pylint: disable=wrong-import-position

STRING, ARRAY = 8, 9
BYTES = {"U8": 1, "I8": 1, "F8_E4M3": 1, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4}


def write_safetensors(path, tensors, metadata=None):
    """Tensors are (name, dtype, shape); their data is a hole."""
    header, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, dtype, shape in tensors:
        size = BYTES[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    encoded = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded)
    os.truncate(path, 8 + len(encoded) + at)
    return path


class ModelKinds(CliTest):
    def document(self, *words, code=0):
        result = run(*map(str, words), "--format", "json")
        self.assertEqual(result.returncode, code, result.stderr)
        return self.assert_document(result.stdout, words[0] + ".schema.json")


class PackedWeights(ModelKinds):
    def test_parameters(self):
        """huggingface/huggingface.js pulls 1770, 2003 and 2415: 8B shown as 2B."""
        for name, tensors, config in (
                ("awq", [("m.qweight", "I32", (64, 16)), ("m.scales", "F16", (1, 128))],
                 {"quantization_config": {"quant_method": "awq", "bits": 4}}),
                ("mlx", [("m.weight", "U32", (64, 16)), ("m.scales", "BF16", (64, 2)),
                         ("m.biases", "BF16", (64, 2))],
                 {"quantization": {"group_size": 64, "bits": 4}}),
                ("nvfp4", [("m.weight", "U8", (64, 64)), ("m.weight_scale", "F8_E4M3", (64, 8)),
                           ("m.weight_scale_2", "F32", ())], {})):
            with self.subTest(name):
                folder = self.folder / name
                write_safetensors(folder / "model.safetensors", tensors)
                (folder / "config.json").write_text(
                    json.dumps({"model_type": "llama", "num_hidden_layers": 1, **config}))
                model = self.document("inspect", folder)["models"][0]
                self.assertEqual(model["parameters"], 64 * 128)
                self.assertAlmostEqual(model["bits_per_weight"], model["bytes"] * 8 / (64 * 128))
                self.assertEqual(sum(g["parameters"] for g in model["layer_groups"]), 64 * 128)
                self.assertEqual(model["warnings"], [])
                plan = self.document("load", folder, "--dry-run")
                self.assertEqual(plan["model"]["parameters"], 64 * 128)


class BytesAfter(ModelKinds):
    def test_bytes_after_the_last_tensor_are_no_header(self):
        """As a transfer in text mode leaves them; gguf-py ends a file at the last tensor."""
        path = self.folder / "m.gguf"
        header_bytes = gguf(path, [tensor("t", 0)], 32)
        shown = run("inspect", str(path)).stdout
        header = f"header ({header_bytes} B)"
        self.assertIn(header, shown)
        self.assertNotIn("after the last tensor", shown)
        with open(path, "ab") as file:
            file.write(bytes(2048))
        for options in ([], ["--strict"]):
            result = run("inspect", str(path), *options)
            shown = " ".join(result.stdout.split())
            self.assertIn(header + ", 2.00 KiB after the last tensor", shown)
            self.assertIn("2048 bytes follow the last tensor", shown)


def key(name, value):
    return pair(name, STRING, text(value))


class LineBreaks(ModelKinds):
    def test_a_reason_is_whole_whatever_the_path_has(self):
        for name in ("a\nb", "plain"):
            folder = self.folder / name
            folder.mkdir()
            gguf(folder / "m.gguf", [tensor("t", 0)], 32)
            model = self.document("inspect", folder / "m.gguf")["models"][0]
            self.assertEqual(model["prove"]["refusal"],
                             "the metadata lack 'llama.block_count'")


class FilesThatAccompanyAModel(ModelKinds):
    """What `load` and `inspect` say of them, and that nothing is computed with them."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "x.gguf"

    def check(self, path, kind, name, use):
        model = self.document("inspect", path)["models"][0]
        self.assertEqual(model["kind"], kind)
        self.assertIn(use, model["goes_with"])
        result = run("inspect", str(path))
        self.assertIn(f": {name}", result.stdout.splitlines()[0])
        # Its bytes load as those of any file.
        document = self.document("load", path, "--device", "cpu")
        self.assertEqual(document["model"]["kind"], kind)
        shown = " ".join(run("load", str(path), "--device", "cpu").stdout.split())
        self.assertIn("warning: not a model by itself", shown)
        for words in (["--dry-run", "--context", "512"], ["--decode", "2"], ["--prove"]):
            document = self.document("load", path, "--device", "cpu", *words, code=4)
            self.assertIn(f"{name}, not a model", document["error"]["message"])
            self.assertEqual(document["error"]["hint"], model["goes_with"])

    def test_adapter(self):
        """ggml-org/llama.cpp issues 3953 and 12857: "key not found: llama.context_length"."""
        gguf(self.path, [tensor("blk.0.attn_q.weight.lora_a", 0),
                         tensor("blk.0.attn_q.weight.lora_b", 32)], 64,
             [key("general.architecture", "llama"), key("general.type", "adapter"),
              key("adapter.type", "lora"), key("general.base_model.0.name", "Base 8B")])
        self.check(self.path, "adapter", "LoRA adapter", "base model ('Base 8B')")

    def test_importance_matrix(self):
        """unslothai/unsloth pull 9409: an imatrix offered as a model."""
        gguf(self.path, [tensor("blk.0.attn_q.weight.in_sum2", 0)], 32,
             [key("general.type", "imatrix")])
        self.check(self.path, "imatrix", "importance matrix (imatrix)", "--imatrix")

    def test_projector(self):
        """ggml-org/llama.cpp issues 7779 and 7799: unknown model architecture: 'clip'."""
        gguf(self.path, [tensor("v.patch_embd.weight", 0)], 32,
             [key("general.architecture", "clip")])
        self.check(self.path, "projector", "multimodal projector (mmproj)", "--mmproj")

    def test_control_vector(self):
        """vgel/repeng issue 42, ollama/ollama pull 8148."""
        gguf(self.path, [tensor("direction.1", 0)], 32,
             [key("general.architecture", "controlvector"),
              key("controlvector.model_hint", "mistral")])
        self.check(self.path, "control-vector", "control vector", "'mistral' model")

    def test_draft(self):
        """ggml-org/llama.cpp pull 18039: a draft head as the model needs its target."""
        gguf(self.path, [tensor("fc.weight", 0)], 32, [key("general.architecture", "eagle3")])
        self.check(self.path, "draft", "draft head for speculative decoding", "--model-draft")

    def test_vocabulary(self):
        tokens = struct.pack("<IQ", STRING, 2) + text("a") + text("b")
        self.path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) +
                              key("general.architecture", "llama") +
                              pair("tokenizer.ggml.tokens", ARRAY, tokens))
        self.check(self.path, "vocabulary", "vocabulary without weights", "download the model")

    def test_folder_of_an_adapter(self):
        """vllm-project/vllm issue 4416, huggingface/transformers issue 30513."""
        folder = self.folder / "tuned"
        layer = "base_model.model.model.layers.0.self_attn.q_proj."
        write_safetensors(folder / "adapter_model.safetensors",
                          [(layer + "lora_A.weight", "F32", (8, 64)),
                           (layer + "lora_B.weight", "F32", (64, 8))])
        (folder / "adapter_config.json").write_text(
            '{"peft_type": "LORA", "base_model_name_or_path": "org/base"}')
        (folder / "tokenizer.json").write_text('{"added_tokens": []}')
        self.check(folder, "adapter", "LoRA adapter", "base model ('org/base')")

    def test_adapters_of_other_methods(self):
        """github.com/huggingface/peft, utils/peft_types.py: PeftType; vLLM loads LoRA alone."""
        for method, name, stored in (
                ("IA3", "IA3 adapter", "base_model.model.l.0.q_proj.ia3_l"),
                ("PROMPT_TUNING", "PROMPT_TUNING adapter", "prompt_embeddings"),
                ("lora", "LoRA adapter", "base_model.model.l.0.q_proj.lora_A.weight")):
            folder = self.folder / method
            write_safetensors(folder / "adapter_model.safetensors", [(stored, "F32", (4, 4))])
            (folder / "adapter_config.json").write_text(json.dumps(
                {"peft_type": method, "base_model_name_or_path": "org/base"}))
            self.check(folder, "adapter", name, "base model ('org/base')")
        (folder / "adapter_config.json").write_text('{"peft_type": "a\\nb", "x": 1}')
        self.assertIn(": adapter", run("inspect", str(folder)).stdout.splitlines()[0])

    def test_adapter_of_an_image_model(self):
        """PixArt-alpha/PixArt-sigma issue 47."""
        path = write_safetensors(self.folder / "detail.safetensors",
                                 [("lora_unet_a.lora_down.weight", "F16", (4, 8)),
                                  ("lora_unet_a.lora_up.weight", "F16", (8, 4)),
                                  ("lora_unet_a.alpha", "F16", ())])
        self.check(path, "adapter", "LoRA adapter", "base model")

    def test_several_files(self):
        gguf(self.path, [tensor("direction.1", 0)], 32,
             [key("general.architecture", "controlvector")])
        other = self.folder / "m.gguf"
        gguf(other, [tensor("a", 0)], 32, [key("general.architecture", "llama")])
        shown = run("inspect", str(self.path), str(other)).stdout
        self.assertIn("controlvector control-vector", shown)
        # Next to a model it is passed over.
        self.assertEqual(self.document("inspect", self.folder)["models"][0]["architecture"],
                         "llama")


class Words(ModelKinds):
    def refused(self, name, content, *parts):
        path = self.folder / name
        path.write_bytes(content)
        result = run("load", str(path), "--device", "cpu")
        self.assertEqual(result.returncode, 4, result.stderr)
        for part in parts:
            self.assertIn(part, " ".join(result.stderr.split()))

    def test_answers_of_servers(self):
        """AUTOMATIC1111/stable-diffusion-webui issue 10014 and others: HeaderTooLarge."""
        self.refused("m.safetensors", b"Entry not found", "a text, not a model: 'Entry not found'",
                     "download the model again")
        self.refused("m.gguf", b'{"error":"Repository not found"}', "error message of a server")

    def test_files_of_the_model_folder(self):
        self.refused("config.json", b'{"model_type": "llama"}', "configuration of a model",
                     f"name the model next to it, or its folder {self.folder}")
        self.refused("tokenizer.json", b'{"added_tokens": []}', "a tokenizer (tokenizer.json)")
        self.refused("Modelfile", b"FROM ./m.gguf\n", "Modelfile of Ollama")
        self.refused("model_index.json", b'{"_class_name": "FluxPipeline"}',
                     "the list of a pipeline's parts", "name the folder of one part")

    def test_types_of_other_programs(self):
        """ggml-org/llama.cpp issue 10757; quants of ik_llama.cpp."""
        for number, part in ((139, "IQ4_K) is a type of ik_llama.cpp"),
                             (31, "Q4_0_4_4) was removed from ggml"),
                             (99999, "update hiptool")):
            path = self.folder / f"{number}.gguf"
            gguf(path, [tensor("a", 0, (256,), number)], 144,
                 [key("general.architecture", "llama")])
            result = run("inspect", str(path))
            self.assertEqual(result.returncode, 4)
            self.assertIn(part, " ".join(result.stderr.split()))
            self.assertNotIn("current llama.cpp", result.stderr)
            self.assertEqual(run("inspect", str(path), "--opaque").returncode, 0)

    def test_a_misspelt_name(self):
        path = self.folder / "Llama-3.2-1B-Q4_K_M.gguf"
        gguf(path, [tensor("a", 0)], 32, [key("general.architecture", "llama")])
        for wrong in ("Llama-3.2-1B-Q4_K_S.gguf", "llama-3.2-1b-q4_k_m.gguf", "Llama-3.2-1B"):
            result = run("load", str(self.folder / wrong), "--dry-run")
            self.assertEqual(result.returncode, 4)
            self.assertIn(f"did you mean {path}?", "".join(result.stderr.split("\n")))

    def test_upper_case(self):
        path = self.folder / "m.gguf"
        gguf(path, [tensor("a", 0)], 32, [key("general.architecture", "llama")])
        for words in (["--dry-run", "--device", "CPU"], ["--dry-run", "--device", "Cpu:0"],
                      ["--dry-run", "--platform", "CPU"], ["--dry-run", "--format", "JSON"],
                      ["--verify", "FULL", "--device", "cpu"]):
            result = run("load", str(path), *words)
            self.assertEqual(result.returncode, 0, (words, result.stderr))
        for word in ("Stream-Triad", "H2D"):
            result = run("bench-copy", "--fail-below", f"{word}>=1GB/s", "--dry-run")
            self.assertNotIn("is not a valid threshold", result.stderr)


class Folders(ModelKinds):
    """Machines on which few folders can be written to, or nothing in them executed."""

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "mounts need root")
    def test_noexec(self):
        """LostRuins/koboldcpp issue 1517: "failed to map segment from shared object"."""
        source = self.folder / "k.hip"
        source.write_text('extern "C" __global__ void k(int* o) { o[0] = 1; }\n')
        mount = self.folder / "mount"
        mount.mkdir()
        script = ('mount -t tmpfs -o noexec none "$0" && TMPDIR=$0 XDG_CACHE_HOME=$0 exec "$1" '
                  'run-kernel --module "$2" --name k --grid 1 --block 1 --arg buf:i32:1:zeros '
                  '--device cpu -q')
        result = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, mount, program.PROGRAM, source],
            capture_output=True, text=True, check=False, timeout=120, env=clean_environment())
        if "unshare" in result.stderr or "mount:" in result.stderr:
            self.skipTest("mounts are not allowed here")
        self.assertEqual(result.returncode, 4, result.stderr)
        shown = " ".join(result.stderr.split())
        self.assertIn(f"{mount} is mounted noexec", shown)
        self.assertIn("set TMPDIR to a folder of another file system", shown)

    def test_no_writable_folder(self):
        """A demo and a check run where no folder can be written to, as in read-only containers."""
        environment = clean_environment(TMPDIR=str(self.folder / "missing"))
        for words in (["load", "--demo", "--device", "cpu"],
                      ["check", "--stage", "model", "--device", "cpu"]):
            result = run(*words, environment=environment, cwd="/proc")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class ManyNames(ModelKinds):
    def write(self, path, form, count):
        """A GGUF with as many tensors of one I8. In pieces: what this process has once taken counts
        as the program's, which it starts."""
        fields = struct.Struct("<IQIQ")
        with open(path, "wb") as file:
            file.write(struct.pack("<4sIQQ", b"GGUF", 3, count, 0))
            for index in range(count):
                name = form % index
                file.write(struct.pack("<Q", len(name)) + name + fields.pack(1, 1, 24, 32 * index))
            file.truncate((file.tell() + 31) // 32 * 32 + 32 * count)

    def inspect(self, path, *words):
        """What it shows, and the most memory that it took, in KiB."""
        with open(self.folder / "out", "w+", encoding="utf-8") as out:
            with subprocess.Popen([program.PROGRAM, "inspect", str(path), *words], stdout=out,
                                  env=clean_environment()) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            out.seek(0)
            return out.read(), usage.ru_maxrss

    def test_a_million_names_take_little_memory(self):
        path = self.folder / "m.gguf"
        for form, count in ((b"%07d", 1_000_000), (b"blk.%d.weight", 200_000)):
            self.write(path, form, 20_000 if program.is_sanitized() else count)
            shown, memory = self.inspect(path)
            self.assertLess(shown.count("\n"), 1100)
            self.assertIn("(others)", shown[-1000:])
            if not program.is_sanitized():
                self.assertLess(memory, 300 << 10)

    def test_a_list_takes_the_memory_of_one_format(self):
        path = self.folder / "m.gguf"
        count = 2_000 if program.is_sanitized() else 100_000
        self.write(path, b"blk.%d.weight", count)
        for form, most_mib in (("table", 200), ("csv", 330)):
            shown, memory = self.inspect(path, "--tensors", "--format", form)
            self.assertIn(f"blk.{count - 1}.weight", shown)
            if not program.is_sanitized():
                self.assertLess(memory, most_mib << 10)


if __name__ == "__main__":
    program.main(__doc__)
