# SPDX-License-Identifier: MIT
"""`hiptool load --prove` seen from outside.

FAKE_CUDA names the fake of the CUDA driver. Usage: prove_test.py PROGRAM [unittest options].
"""
import json
import os

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict

PROMPT = [(7 * i * i + 3 * i + 1) % 331 for i in range(8)]


def fake_cuda(**more):
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY="/nowhere/hip", **more)


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

    def test_what_cannot_be_proved(self):
        decoder = self.make("m.gguf", "--architecture", "llama")
        small = self.make("m.safetensors", "--architecture", "llama", "--types", "F8_E4M3")
        other = self.make("other.gguf", "--size", "1M")
        for code, part, path, *words in [
                (2, "token 331 is not in", decoder, "--prove", "--prompt-ids", "1,331"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "1-"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "2-1"),
                (2, "has no layer 3", decoder, "--prove", "--layers", "3"),
                (2, "--layers applies only to", decoder, "--layers", "1"),
                (2, "--prompt-ids applies only to", decoder, "--prompt-ids", "1"),
                (2, "--dry-run", decoder, "--prove", "--dry-run"),
                (2, "two runs", decoder, "--prove", "--decode", "1"),
                (4, "no kernels for weights of type 'F8_E4M3'", small, "--prove"),
                (4, "has the shape", other, "--prove")]:
            with self.subTest(part=part):
                found = run("load", path, "--device", "cpu", *words)
                self.assertEqual(found.returncode, code, found.stderr)
                self.assertIn(part, " ".join(found.stderr.split()))


if __name__ == "__main__":
    program.main(__doc__)
