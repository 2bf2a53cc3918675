# SPDX-License-Identifier: MIT
"""`hiptool load --prove` seen from outside.

FAKE_CUDA names the fake of the CUDA driver. Usage: prove_test.py PROGRAM [unittest options].
"""
import array
import json
import os
import pathlib
import struct
import unittest

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict

PROMPT = [(7 * i * i + 3 * i + 1) % 331 for i in range(8)]


def fake_cuda(**more):
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY="/nowhere/hip", **more)


def read_safetensors(path):
    """The header, and the values of tensors of simple types."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in info["data_offsets"])
        tensors[name] = array.array({"F32": "f", "F64": "d", "U32": "I"}[info["dtype"]],
                                    data[begin:end])
    return header, tensors


def splitmix64(state):
    mask = (1 << 64) - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
    state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
    return state ^ state >> 31


class Prove(CliTest):
    def make(self, name, *words):
        path = self.folder / name
        made = run("make-model", str(path), *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return str(path)

    def first_line(self, text):
        return " ".join(text.split("\nprompt ")[0].split())

    def test_a_small_model_is_proved(self):
        path = self.make("m.gguf", "--architecture", "qwen3", "--types", "Q4_0")
        document = check_one_verdict(self, ["load", path, "--device", "cpu", "--prove"], 0,
                                     stdout_formats=["table"])
        self.assertEqual(document["status"], "proved")
        found = document["prove"]
        self.assertEqual((found["device"], found["prompt_ids"]), ("cpu:0", PROMPT))
        self.assertEqual([layer["layer"] for layer in found["layers"]], [0, 1, 2])
        for layer in found["layers"]:
            self.assertEqual((layer["status"], layer["wrong"]), ("right", None))
            self.assertGreater(layer["max_error"], 0)
            self.assertLess(layer["max_error"], layer["bound"])
        self.assertIsNone(found["first_wrong"])
        logits = found["logits"]
        self.assertEqual((logits["tokens"], logits["repeats"]), (8, True))
        self.assertAlmostEqual(logits["bound"], 1e-4 * logits["std"], delta=1e-12)
        self.assertLess(logits["max_error"], logits["bound"])
        again = run("load", path, "--device", "cpu", "--prove", "--prompt-ids", "5,6")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertRegex(self.first_line(again.stdout),
                         r"^proved: hiptool make-model computes right on cpu:0: logits within "
                         r"\de-0\d standard deviations of float64 over 2 tokens \(bound 1e-04\), "
                         r"3 layers$")

    def test_a_file_that_is_no_golden(self):
        model = self.make("m.gguf", "--architecture", "llama", "--types", "F16")
        other = self.make("other.safetensors", "--types", "F16", "--size", "1MiB")
        result = run("load", model, "--device", "cpu", "--prove", "--check-golden", other)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("other.safetensors was not written by --write-golden", result.stderr)

    def test_only_some_layers(self):
        path = self.make("m.gguf", "--architecture", "llama")
        found = run("load", path, "--device", "cpu", "--prove", "--layers", "2,0-1,1", "--format",
                    "json")
        self.assertEqual(found.returncode, 0, found.stderr)
        prove = json.loads(found.stdout)["prove"]
        self.assertEqual([layer["layer"] for layer in prove["layers"]], [0, 1, 2])
        self.assertIsNone(prove["logits"])
        found = run("load", path, "--device", "cpu", "--prove", "--layers", "1")
        self.assertEqual(self.first_line(found.stdout),
                         "proved: 1 layer of hiptool make-model computes right on cpu:0")

    def test_kernels_that_do_nothing(self):
        path = self.make("m.gguf", "--architecture", "llama")
        for kernel, stage, tensor in [
                ("hiptool_rope_pairs_f32", "rotated_q", None),
                ("hiptool_attention_f32", "attention", None),
                ("hiptool_gate_runs_f32", "activation", None),
                ("hiptool_quantised_matmul_8", "q", "blk.0.attn_q.weight")]:
            with self.subTest(kernel=kernel):
                document = check_one_verdict(
                    self, ["load", path, "--device", "nvidia:0", "--prove"], 5,
                    fake_cuda(FAKE_CUDA_SKIP_KERNEL=kernel), stdout_formats=["table"])
                self.assertEqual(document["status"], "wrong")
                wrong = document["prove"]["first_wrong"]
                self.assertEqual((wrong["layer"], wrong["stage"], wrong["tensor"]),
                                 (0, stage, tensor))

    def test_faults_that_a_golden_finds(self):
        path = self.make("m.gguf", "--architecture", "qwen2")
        golden = str(self.folder / "golden")
        self.golden(path, golden)
        words = ["load", path, "--device", "nvidia:0", "--prove", "--check-golden", golden]
        document = check_one_verdict(
            self, words, 5, fake_cuda(FAKE_CUDA_SKIP_KERNEL="hiptool_attention_f32"),
            stdout_formats=["table"])
        wrong = document["prove"]["first_wrong"]
        self.assertEqual((wrong["layer"], wrong["stage"]), (0, "attention"))
        # Only single tokens, which are the outputs of the last token here.
        document = check_one_verdict(
            self, words, 5, fake_cuda(FAKE_CUDA_SKIP_KERNEL="hiptool_quantised_matmul_1"),
            stdout_formats=[])
        wrong = document["prove"]["first_wrong"]
        self.assertEqual((wrong["layer"], wrong["tensor"]), (None, "output.weight"))

    def test_weights_that_are_damaged_on_the_way(self):
        path = self.make("m.gguf", "--architecture", "llama")
        words = ["load", path, "--device", "nvidia:0", "--verify", "none", "--prove"]
        self.assertEqual(run(*words, environment=fake_cuda()).returncode, 0)
        document = check_one_verdict(self, words, 5, fake_cuda(FAKE_CUDA_CORRUPT_FROM="1000000"),
                                     stdout_formats=["table"])
        self.assertEqual(document["status"], "wrong")
        wrong = document["prove"]["first_wrong"]
        self.assertRegex(wrong["tensor"], r"^blk\.\d\.")
        self.assertTrue(wrong["repeats"])
        table = run(*words, environment=fake_cuda(FAKE_CUDA_CORRUPT_FROM="1000000"))
        name = wrong["tensor"].removesuffix(".weight")
        self.assertRegex(
            self.first_line(table.stdout),
            rf"^wrong: hiptool make-model on nvidia:0: layer \d, {name} \(F32\), row \d+ of \d+: "
            r"expected -?[\d.e-]+, got \S+; layer.* right; again: the same$")

    def golden(self, path, golden, *words):
        written = run("load", path, "--prove", "--write-golden", golden, *words,
                      environment=clean_environment(HIPTOOL_CUDA_LIBRARY="/nowhere",
                                                    HIPTOOL_HIP_LIBRARY="/nowhere"))
        self.assertEqual(written.returncode, 0, written.stderr)
        return written

    def test_a_golden_is_of_one_model(self):
        path = self.make("m.safetensors", "--architecture", "llama", "--types", "F32")
        golden = str(self.folder / "golden")
        written = self.golden(path, golden)
        self.assertRegex(self.first_line(written.stdout), r"^wrote \S+golden: what m.safetensors"
                         r" computes for 8 tokens, in float64; no device was opened$")
        words = ["load", path, "--device", "cpu", "--prove", "--check-golden", golden]
        document = check_one_verdict(self, words, 0, stdout_formats=["table"])
        found = document["prove"]
        self.assertEqual(found["golden"], {"checked": golden, "written": None})
        self.assertEqual((len(found["layers"]), found["logits"]["tokens"]), (3, 1))
        self.assertEqual(run(*words, "--verify", "none").returncode, 0)
        self.assertEqual(run(*words, "--prompt-ids", ",".join(map(str, PROMPT))).returncode, 0)

        other, wider = self.folder / "other", self.folder / "wider"
        other.mkdir()
        wider.mkdir()
        other = self.make("other/m.safetensors", "--architecture", "llama", "--types", "F32",
                          "--seed", "9")
        wider = self.make("wider/m.safetensors", "--architecture", "qwen3", "--types", "F32")
        damaged = self.folder / "damaged"
        data = bytearray(pathlib.Path(golden).read_bytes())
        data[-500] ^= 1
        damaged.write_bytes(data)
        short = self.folder / "short"
        short.write_bytes(data[:-8])
        changed = self.folder / "changed"
        changed.write_bytes(pathlib.Path(golden).read_bytes().replace(
            b'"model_digest":"', b'"model_digest":"0', 1)[:-1])
        for part, *words in [("other weights", other, golden), ("other sizes", wider, golden),
                             ("another prompt", path, golden, "--prompt-ids", "1,2"),
                             ("damaged", path, str(damaged)), ("short", path, str(short)),
                             ("changed", path, str(changed)),
                             ("not written by --write-golden", path, path),
                             ("absent", path, "/absent")]:
            with self.subTest(part=part):
                found = run("load", words[0], "--device", "cpu", "--prove", "--check-golden",
                            *words[1:])
                self.assertEqual(found.returncode, 4, found.stderr)
                self.assertIn(part, " ".join(found.stderr.split()))

    def test_a_golden_can_be_read_and_made_elsewhere(self):
        path = self.make("m.safetensors", "--architecture", "llama", "--types", "F32")
        golden = str(self.folder / "golden")
        self.golden(path, golden, "--prompt-ids", "5,300")
        header, tensors = read_safetensors(golden)
        self.assertEqual(header["__metadata__"]["format"], "hiptool.golden/1")
        self.assertEqual(list(tensors["prompt_ids"]), [5, 300])
        self.assertEqual(header["logits"]["shape"], [331])
        self.assertEqual(header["projections"]["shape"], [4, 2, 16])
        document = run("load", path, "--device", "cpu", "--format", "json")
        self.assertEqual(header["__metadata__"]["model_digest"],
                         json.loads(document.stdout)["verify"]["digest"])
        weights = read_safetensors(path)[1]["model.embed_tokens.weight"]
        for token, number in enumerate([5, 300]):
            row = weights[number * 96:(number + 1) * 96]
            self.assertAlmostEqual(tensors["sizes"][token], sum(x * x for x in row) ** 0.5, 12)
            for r in range(16):
                wanted = sum(-x if splitmix64(i) >> r & 1 else x for i, x in enumerate(row))
                self.assertAlmostEqual(tensors["projections"][token * 16 + r], wanted, 12)

    def test_interrupted_within_half_a_second(self):
        limit_s = 9 if program.is_sanitized() else 0.5
        path = self.make("m.gguf", "--architecture", "llama", "--types", "F32")
        for words in (["--prove"], ["--prove", "--write-golden", self.folder / "golden"]):
            words = ["load", path, "--device", "cpu", "--prompt-ids", ",".join(["7"] * 500),
                     *map(str, words)]
            for delay_s in (0.1, 0.4, 1):
                with self.subTest(words=words[6:], delay_s=delay_s):
                    # The machine may be busy with something else.
                    durations = []
                    while not durations or (durations[-1] >= limit_s and len(durations) < 8):
                        found, duration_s = program.interrupt(*words, delay_s=delay_s)
                        self.assertEqual(found.returncode, 130, found.stderr)
                        durations.append(duration_s)
                    self.assertLess(durations[-1], limit_s, durations)

    def test_a_dry_run_states_the_needs(self):
        path = self.make("m.gguf", "--architecture", "llama")
        found = run("load", path, "--dry-run", "--format", "json")
        self.assert_document(found.stdout, "load.schema.json")
        # Caches of 3 layers x 2 heads x 24, scratch memory of 3 x 96 + 144 + 48 + 48 + 144 + 2 x
        # 163, of 8 tokens each; the last two are rounded up to 256 bytes.
        self.assertEqual(json.loads(found.stdout)["prove_needs"]["device_bytes"],
                         8 * 4 * (6 * 48 + 3 * 96 + 144 + 48 + 48 + 144 + 2 * 163) + 2 * 160)
        found = run("load", path, "--dry-run")
        self.assertRegex(" ".join(found.stdout.split()), r"--prove needs 40\.\d KiB on the device "
                         r"besides the weights, and seconds of this host's \d+ cores?")
        other = self.make("other.gguf", "--size", "1M")
        self.assertNotIn("prove", run("load", other, "--dry-run").stdout)

    @unittest.skipUnless("HIPTOOL_SMOLLM2" in os.environ,
                         "HIPTOOL_SMOLLM2 does not name SmolLM2-135M-Instruct.Q4_1.gguf")
    def test_a_real_model(self):
        path = os.environ["HIPTOOL_SMOLLM2"]
        prompt = "504,3575,282,4649,314,260,2240,282"
        words = ["load", path, "--device", "cpu", "--format", "json", "--prompt-ids", prompt]
        found = run(*words, "--prove")
        self.assertEqual(found.returncode, 0, found.stderr)
        prove = json.loads(found.stdout)["prove"]
        self.assertEqual(len(prove["layers"]), 30)
        self.assertLess(prove["logits"]["max_error"], 1e-4)
        golden = str(self.folder / "golden")
        self.golden(path, golden, "--prompt-ids", prompt)
        found = run(*words, "--prove", "--check-golden", golden)
        self.assertEqual(found.returncode, 0, found.stderr)
        for layer in json.loads(found.stdout)["prove"]["layers"]:
            self.assertLess(layer["max_error"], 0.2 * layer["bound"])

    def test_what_cannot_be_proved(self):
        decoder = self.make("m.gguf", "--architecture", "llama")
        small = self.make("m.safetensors", "--architecture", "llama", "--types", "F8_E4M3")
        other = self.make("other.gguf", "--size", "1M")
        for code, part, path, *words in [
                (2, "token 331 is not in", decoder, "--prove", "--prompt-ids", "1,331"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "1-"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "2-1"),
                (2, "has no layer 3", decoder, "--prove", "--layers", "3"),
                (2, "apply only to --prove", decoder, "--layers", "1"),
                (2, "--prompt-ids applies only to", decoder, "--prompt-ids", "1"),
                (2, "--dry-run", decoder, "--prove", "--dry-run"),
                (2, "two runs", decoder, "--prove", "--decode", "1"),
                (2, "two runs", decoder, "--prove", "--write-golden", "a", "--check-golden", "b"),
                (2, "of all layers", decoder, "--prove", "--layers", "1", "--check-golden", "b"),
                (2, "apply only to --prove", decoder, "--write-golden", "a"),
                (4, "no kernels for weights of type 'F8_E4M3'", small, "--prove"),
                (4, "has the shape", other, "--prove")]:
            with self.subTest(part=part):
                found = run("load", path, "--device", "cpu", *words)
                self.assertEqual(found.returncode, code, found.stderr)
                self.assertIn(part, " ".join(found.stderr.split()))


if __name__ == "__main__":
    program.main(__doc__)
