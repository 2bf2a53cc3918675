# SPDX-License-Identifier: MIT
"""A proof that fails is seen, and so is what the device computed: `prove --self-test`,
`--write-logits` and `--observe`; what `inspect` and a dry run say of a proof.

FAKE_CUDA names the fake of the CUDA driver. Usage: prove_seen_test.py PROGRAM [unittest options].
"""
import array
import ast
import hashlib
import json
import os
import pathlib
import struct
import subprocess

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict

KINDS = ["weight_bit", "norm_bit", "short_row", "nan", "decoding"]


def fake_cuda(**more):
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY="/nowhere/hip", **more)


def on_one_core():
    """The reference has a thread for each core that it may use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def read_npy(path):
    """(rows, columns) and the elements, by the layout of NEP 1."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack_from("<H", data, 8)[0]
    assert (10 + size) % 64 == 0 and data[9 + size] == ord("\n")
    header = ast.literal_eval(data[10:10 + size].decode("ascii"))
    assert (header["descr"], header["fortran_order"]) == ("<f4", False)
    values = array.array("f", data[10 + size:])
    assert len(values) == header["shape"][0] * header["shape"][1]
    return header["shape"], values


class ProveSeen(CliTest):
    def make(self, name, *words):
        path = self.folder / name
        made = run("make-model", str(path), *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return str(path)

    def test_planted_faults_are_found(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "Q4_0")
        before = pathlib.Path(path).read_bytes()
        for devices, environment in (("cpu", clean_environment()),
                                     ("cpu:0,cpu:1", clean_environment(HIPTOOL_CPU_DEVICES="2")),
                                     ("nvidia:0,nvidia:1", fake_cuda())):
            with self.subTest(devices=devices):
                words = ["prove", path, "--device", devices, "--self-test"]
                document = check_one_verdict(self, words, 0, environment, stdout_formats=())
                self.assertEqual(document["status"], "proved")
                faults = document["prove"]["self_test"]
                self.assertEqual([fault["fault"] for fault in faults], KINDS)
                self.assertEqual([fault["layer"] for fault in faults], [0, 0, 1, 2, 2])
                self.assertTrue(faults[-1]["caught"])
                self.assertEqual(faults[-1]["wrong"]["stage"], "decoded_logits")
                for fault in faults[:-1]:
                    self.assertTrue(fault["caught"])
                    wrong = fault["wrong"]
                    for field in ("layer", "tensor", "dtype", "device", "row"):
                        self.assertEqual(wrong[field], fault[field])
                    self.assertTrue(wrong["repeats"])
                used = {fault["device"] for fault in faults}
                self.assertEqual(used, {"cpu:0"} if devices == "cpu" else set(devices.split(",")))
        found = run(*words, environment=environment)
        text = " ".join(found.stdout.split())
        self.assertTrue(text.startswith("proved: m.gguf computes right on nvidia:0-1:"))
        self.assertIn("; self-test: 5 of 5 planted faults found", text)
        self.assertRegex(text, r"planted short_row in layer 1, blk.1.attn_output \(Q4_0\), "
                               r"row \d+, on nvidia:\d: found: expected \S+, got \S+, bound \S+")
        self.assertRegex(text, r"planted nan in layer 2, blk.2.attn_v \(Q4_0\), row \d+, "
                               r"on nvidia:1: found: expected \S+, got NaN")
        self.assertEqual(pathlib.Path(path).read_bytes(), before)

    def test_a_kernel_of_decoding_that_does_nothing(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "Q4_0")
        golden = str(self.folder / "m.golden")
        self.assertEqual(run("prove", path, "--write-golden", golden).returncode, 0)
        environment = fake_cuda(FAKE_CUDA_IDLE="0:hiptool_attention_token_f32")
        for words in ["--check-golden", golden], ["--self-test"]:
            with self.subTest(words=words):
                words = ["prove", path, "--device", "nvidia:0", *words]
                document = check_one_verdict(self, words, 5, environment, stdout_formats=())
                self.assertEqual(document["status"], "wrong")
                proof = document["prove"]
                wrong = proof["first_wrong"]
                self.assertEqual((wrong["layer"], wrong["stage"], wrong["tensor"], wrong["device"]),
                                 (None, "decoded_logits", None, "nvidia:0"))
                self.assertEqual((wrong["position"], wrong["bound"]), (7, 0))
                self.assertEqual({layer["status"] for layer in proof["layers"]}, {"right"})
                self.assertFalse(proof["logits"]["repeats"])
        found = run(*words, environment=environment)
        self.assertRegex(
            " ".join(found.stdout.split()),
            r"^wrong: m.gguf on nvidia:0: decoded logits, row \d+ of \d+: expected \S+, got \S+; "
            "all layers are right; a second run gave the same value ")

    def test_a_long_prompt(self):
        """The logits of its last tokens are compared, in a step of their own."""
        path = self.make("m.gguf", "--architecture", "llama")
        ids = ",".join(map(str, range(1, 13)))
        found = run("prove", path, "--device", "cpu", "--prompt-ids", ids)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("of float64 over the last 8 of 12 tokens", " ".join(found.stdout.split()))
        self.assertRegex(found.stderr, r"(?m)^prove: \S+ \S+ in .*\nlogits: done in ")
        some = run("prove", path, "--device", "cpu", "--layers", "1")
        self.assertNotIn("logits", some.stderr)

    def test_a_device_that_is_wrong_is_not_tested(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        document = check_one_verdict(
            self, ["prove", path, "--device", "nvidia:0", "--self-test"], 5,
            fake_cuda(FAKE_CUDA_SHORT_ROW="6:60"), stdout_formats=())
        self.assertEqual(document["status"], "wrong")
        self.assertIsNone(document["prove"]["self_test"])

    def written(self, path, devices, name, *words, environment=None, code=0):
        """Digests of the files of logits and layers 0 and 2 by name."""
        folder = self.folder / name
        folder.mkdir()
        file = folder / "l.npy"
        found = run("prove", path, "--device", devices, "--write-logits", str(file), "--observe",
                    "0,2", "--format", "json", *words,
                    environment=environment or clean_environment(HIPTOOL_CPU_DEVICES="2"))
        self.assertEqual(found.returncode, code, found.stderr)
        document = self.assert_document(found.stdout, "prove.schema.json")
        layers = [{"layer": layer, "path": str(folder / f"l.layer{layer}.npy")}
                  for layer in (0, 2)]
        self.assertEqual(document["prove"]["written"], {"logits": str(file), "layers": layers})
        self.assertEqual(sorted(file.name for file in folder.iterdir()),
                         ["l.layer0.npy", "l.layer2.npy", "l.npy"])
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                for file in folder.iterdir()}

    def test_what_a_device_computed_is_the_same_on_all(self):
        window = ("--window", "5")
        for architecture, dtype, kernel, *words in (
                ("llama", "Q4_0", "hiptool_quantised_matmul_1_q4_0"),
                ("qwen3", "BF16", "hiptool_quantised_matmul_1_ring_bf16"),
                ("qwen3moe", "Q4_K", "hiptool_expert_matmul"),
                ("gemma3", "Q5_K", "hiptool_quantised_matmul_1_q5_k", *window),
                ("gpt-oss", "MXFP4", "hiptool_attention_sinks_f32", *window),
                ("deepseek2", "F16", "hiptool_route_shares")):
            path = self.make(architecture + ".gguf", "--architecture", architecture, "--dtype",
                             dtype, *words)
            one = self.written(path, "cpu:0", architecture + "1")
            # On two devices the kernels are those of one, so one model on each platform is enough.
            others = [("nvidia:0", fake_cuda())]
            if architecture == "llama":
                others.append(("cpu:0,cpu:1", None))
            if architecture == "gpt-oss":
                others.append(("nvidia:0,nvidia:1", fake_cuda()))
            for name, (devices, environment) in enumerate(others, 2):
                with self.subTest(architecture=architecture, devices=devices):
                    self.assertEqual(self.written(path, devices, f"{architecture}{name}",
                                                  environment=environment), one)
            wrong = fake_cuda(FAKE_CUDA_SKIP_KERNEL=kernel)
            other = self.written(path, "nvidia:0", architecture + "5", code=5, environment=wrong)
            self.assertNotEqual(other["l.npy"], one["l.npy"])

    def test_a_file_that_cannot_be_written_is_refused_before_the_load(self):
        path = self.make("m.gguf", "--architecture", "llama")
        result = run("prove", path, "--write-logits", str(self.folder / "none" / "l.npy"))
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn("No such file or directory", result.stderr)
        self.assertNotIn("load:", result.stderr)

    def test_the_numbers_of_the_files(self):
        path = self.make("m.gguf", "--architecture", "qwen2", "--dtype", "F16")
        self.written(path, "cpu:0", "out", "--prompt-ids", "5,300,17")
        shape, logits = read_npy(self.folder / "out" / "l.npy")
        self.assertEqual(shape, (3, 331))
        golden = self.folder / "golden"
        for count in (1, 3):
            ids = "5,300,17".split(",")[:count]
            made = run("prove", path, "--write-golden", str(golden), "--prompt-ids",
                       ",".join(ids))
            self.assertEqual(made.returncode, 0, made.stderr)
            data = golden.read_bytes()
            size = struct.unpack_from("<Q", data)[0]
            begin, end = json.loads(data[8:8 + size])["logits"]["data_offsets"]
            expected = array.array("f", data[8 + size + begin:8 + size + end])
            row = logits[331 * (count - 1):331 * count]
            spread = max(expected) - min(expected)
            for left, right in zip(row, expected, strict=True):
                self.assertAlmostEqual(left, right, delta=1e-5 * spread)
        shape, outputs = read_npy(self.folder / "out" / "l.layer2.npy")
        self.assertEqual(shape, (3, 96))
        self.assertGreater(len(set(outputs)), 200)

    def test_files_are_not_replaced_unless_they_are_of_the_kind(self):
        path = self.make("m.gguf", "--architecture", "llama")
        file, layer = self.folder / "l.npy", self.folder / "l.layer1.npy"
        words = ["prove", path, "--device", "cpu", "--write-logits", str(file), "--observe", "1"]
        self.assertEqual(run(*words).returncode, 0)
        self.assertEqual(run(*words).returncode, 0)
        for target in (file, layer):
            target.write_text("a diary")
            found = run(*words)
            self.assertEqual(found.returncode, 2, found.stderr)
            self.assertEqual(target.read_text(), "a diary")
            self.assertEqual(run(*words, "--force").returncode, 0)
        for part, *more in (("--observe", "--observe", "1"),
                            ("has no layer 3", "--write-logits", "a.npy", "--observe", "3"),
                            ("invalid --observe", "--write-logits", "a.npy", "--observe", "x"),
                            ("--write-logits", "--write-logits", "a.npy", "--write-golden", "b")):
            found = run("prove", path, *more, *([] if "b" in more else ["--device", "cpu"]))
            self.assertEqual(found.returncode, 2, found.stderr)
            self.assertIn(part, " ".join(found.stderr.split()))

    def inspected(self, path):
        found = run("inspect", path, "--format", "json")
        self.assertEqual(found.returncode, 0, found.stderr)
        return self.assert_document(found.stdout, "inspect.schema.json")["models"][0]["prove"]

    def test_inspect_says_whether_a_model_can_be_proved(self):
        path = self.make("m.gguf", "--architecture", "qwen3")
        planned = json.loads(run("load", path, "--dry-run", "--format", "json").stdout)
        self.assertEqual(self.inspected(path), {"is_possible": True, "refusal": None,
                                                "needs": planned["prove_needs"]})
        self.assertRegex(" ".join(run("inspect", path).stdout.split()),
                         r"prove a proof needs [\d.]+ KiB on the device besides the weights, at "
                         r"most [\d.]+ MiB here, and about 1 s of this host's \d+ cores?; "
                         r"--write-golden about 1 s")
        small = self.make("m.safetensors", "--architecture", "llama", "--dtype", "F8_E5M2")
        found = self.inspected(small)
        self.assertEqual((found["is_possible"], found["needs"]), (False, None))
        self.assertIn("of type F8_E5M2, for which there are no kernels", found["refusal"])
        config = self.folder / "config.json"
        known = json.loads(config.read_text())
        self.make("n.safetensors", "--architecture", "llama", "--dtype", "F16", "--force")
        (self.folder / "m.safetensors").unlink()
        config.write_text(json.dumps({**known, "hidden_act": "relu"}))
        found = self.inspected(str(self.folder / "n.safetensors"))
        self.assertFalse(found["is_possible"])
        self.assertIn("'hidden_act' is", found["refusal"])
        self.assertNotIn(str(self.folder), found["refusal"])
        self.assertIn("prove not possible: ", " ".join(run(
            "inspect", str(self.folder / "n.safetensors")).stdout.split()))
        vocabulary = self.make("v.gguf", "--size", "1M", "--architecture", "llama", "--tied")
        self.assertTrue(self.inspected(vocabulary)["is_possible"])

    def peak_bytes(self, *words):
        with subprocess.Popen([program.PROGRAM, *words], stdout=subprocess.DEVNULL,
                              preexec_fn=on_one_core) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return 1024 * usage.ru_maxrss

    def test_the_host_holds_no_matrix(self):
        small = self.make("s.gguf", "--architecture", "llama", "--dtype", "Q8_0")
        large = self.make("l.gguf", "--architecture", "qwen3", "--dtype", "Q8_0", "--size",
                          "30MiB")
        listed = json.loads(run("inspect", large, "--tensors", "--format", "json",
                                preexec_fn=on_one_core).stdout)
        model = listed["models"][0]
        largest = max(tensor["elements"] for tensor in model["tensor_list"])
        stated = model["prove"]["needs"]["host_bytes"]
        self.assertGreater(8 * largest, 2 * stated)
        golden = str(self.folder / "golden")
        words = ["--write-golden", golden, "--force"]
        if program.is_sanitized():
            return   # its own memory would be counted
        least = self.peak_bytes("prove", small, *words)
        self.assertLess(self.peak_bytes("prove", large, *words) - least, stated)


if __name__ == "__main__":
    program.main(__doc__)
