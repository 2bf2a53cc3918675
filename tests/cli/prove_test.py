# SPDX-License-Identifier: MIT
"""`hiptool load --prove` seen from outside.

FAKE_CUDA names the fake of the CUDA driver. Usage: prove_test.py PROGRAM [unittest options].
"""
import array
import json
import os
import pathlib
import resource
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
        return " ".join(text.split("\nprompt ")[0].split("\nto do: ")[0].split())

    def test_a_small_model_is_proved(self):
        path = self.make("m.gguf", "--architecture", "qwen3", "--dtype", "Q4_0")
        document = check_one_verdict(self, ["load", path, "--device", "cpu", "--prove"], 0,
                                     stdout_formats=())
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
                         r"^proved: m.gguf computes right on cpu:0: logits within "
                         r"\de-0\d standard deviations of float64 over 2 tokens \(bound 1e-04\), "
                         r"3 layers; embedding rows of the prompt only, metadata as given$")

    def test_the_command_proves_as_load_does(self):
        path = self.make("m.gguf", "--architecture", "llama")
        words = (path, "--layers", "0-1", "--device", "cpu")
        loaded = run("load", *words[:1], "--prove", *words[1:], "--format", "json")
        proved = run("prove", *words, "--format", "json")
        self.assertEqual((loaded.returncode, proved.returncode), (0, 0), proved.stderr)
        first = self.assert_document(loaded.stdout, "load.schema.json")
        second = self.assert_document(proved.stdout, "prove.schema.json")
        self.assertEqual((first["schema"], second["schema"]),
                         ("hiptool.load/2", "hiptool.prove/2"))
        self.assertEqual(first["prove"]["layers"], second["prove"]["layers"])
        self.assertEqual((first["status"], second["status"]), ("proved", "proved"))
        self.assertEqual(first["split"], second["split"])
        junit = run("prove", *words, "--export", f"junit={self.folder / 'j.xml'}")
        self.assertTrue(junit.stdout.startswith("proved: "), junit.stdout)
        text = (self.folder / "j.xml").read_text("utf-8")
        self.assertIn(f'name="prove {path}"', text)
        self.assertIn('failures="0" errors="0"', text)

    def test_the_command_takes_several_models_and_goldens(self):
        one, two = (self.make(name, "--architecture", "llama") for name in ("a.gguf", "b.gguf"))
        result = run("prove", one, two, "--device", "cpu", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.assert_document(result.stdout, "prove.schema.json")
        self.assertEqual([model["status"] for model in document["models"]], ["proved"] * 2)
        golden = str(self.folder / "a.golden")
        self.assertEqual(run("prove", one, "--write-golden", golden).returncode, 0)
        checked = run("prove", one, "--check-golden", golden, "--device", "cpu")
        self.assertTrue(checked.stdout.startswith("proved: "), checked.stdout + checked.stderr)

    def test_wrong_usage_of_the_command(self):
        path = self.make("m.gguf", "--architecture", "llama")
        for words, part in ((("prove",), "prove needs a model file"),
                            (("prove", path, "--force"), "--write-golden"),
                            (("prove", path, "--layers", "0", "--check-golden", "x"),
                             "a golden is of all layers"),
                            (("prove", path, "--write-golden", "x", "--check-golden", "y"),
                             "cannot be combined"),
                            (("prove", path, "--write-golden", "x", "--device", "cpu"),
                             "--device"),
                            (("prove", path, path, "--write-golden", "x"), "hiptool prove"),
                            (("prove", path, "--decode", "3"), "--decode"),
                            (("prove", path, "--layers", "9"), "layer")):
            result = run(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(part, " ".join(result.stderr.split()), words)

    def test_a_file_that_is_no_golden(self):
        model = self.make("m.gguf", "--architecture", "llama", "--dtype", "F16")
        other = self.make("other.safetensors", "--dtype", "F16", "--size", "1MiB")
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
                         "proved: 1 layer of m.gguf computes right on cpu:0; metadata as given")

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
                    fake_cuda(FAKE_CUDA_SKIP_KERNEL=kernel), stdout_formats=())
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
            stdout_formats=())
        wrong = document["prove"]["first_wrong"]
        self.assertEqual((wrong["layer"], wrong["stage"]), (0, "attention"))
        # Only single tokens, which are the outputs of the last token here.
        document = check_one_verdict(
            self, words, 5, fake_cuda(FAKE_CUDA_SKIP_KERNEL="hiptool_quantised_matmul_1_f32"),
            stdout_formats=())
        wrong = document["prove"]["first_wrong"]
        self.assertEqual((wrong["layer"], wrong["tensor"]), (None, "output.weight"))

    def divided(self, path, *words, devices="cpu:0,cpu:1"):
        found = run("load", path, "--device", devices, "--prove", "--format", "json", *words,
                    environment=clean_environment(HIPTOOL_CPU_DEVICES="3"))
        return found, json.loads(found.stdout)

    def test_several_devices_are_proved_by_layer(self):
        for architecture, *words in [
                ("llama", "--dtype", "Q4_1"), ("qwen2", "--tied"), ("qwen3moe", "--dtype", "Q8_0"),
                ("gemma3", "--dtype", "Q4_K", "--window", "5"),
                ("gpt-oss", "--dtype", "MXFP4", "--window", "5"), ("deepseek2", "--dtype", "F16")]:
            path = self.make(architecture + ".gguf", "--architecture", architecture, *words)
            golden = str(self.folder / (architecture + ".golden"))
            self.golden(path, golden)
            alone = json.loads(run("load", path, "--device", "cpu", "--prove", "--format",
                                   "json").stdout)["prove"]
            for devices, *split in [("cpu:0,cpu:1",), ("cpu:2,cpu:0,cpu:1", "--split", "layer")]:
                with self.subTest(architecture=architecture, devices=devices):
                    found, document = self.divided(path, *split, devices=devices)
                    self.assertEqual((found.returncode, document["status"]), (0, "proved"),
                                     found.stderr)
                    self.assert_document(found.stdout, "load.schema.json")
                    self.assertEqual(document["split"], "layer")
                    self.assertEqual((document["prove"]["device"], document["prove"]["devices"]),
                                     (None, devices.split(",")))
                    for field in ("layers", "logits"):   # the same bits, so the same errors
                        self.assertEqual(document["prove"][field], alone[field])
                    found, document = self.divided(path, "--check-golden", golden, *split,
                                                   devices=devices)
                    self.assertEqual((found.returncode, document["status"]), (0, "proved"),
                                     found.stderr)
        table = run("load", path, "--device", "cpu:0,cpu:1", "--prove",
                    environment=clean_environment(HIPTOOL_CPU_DEVICES="2"))
        self.assertIn(" computes right on cpu:0-1: ", self.first_line(table.stdout))

    def test_other_splits_are_refused_before_anything_is_loaded(self):
        path = self.make("m.gguf", "--architecture", "llama")
        for split in ("bytes", "2,1"):
            found, document = self.divided(path, "--split", split)
            self.assertEqual(found.returncode, 2, found.stderr)
            self.assertIn("is divided among cpu:0 and cpu:1", document["error"]["message"])
            self.assertIn("--split layer", document["error"]["hint"])
            self.assertEqual((document["devices"], document["load_time_s"]), ([], None))
        found, document = self.divided(path, "--split", "replicate")
        self.assertEqual((found.returncode, document["prove"]["devices"]), (0, ["cpu:0", "cpu:1"]))

    def test_a_fault_on_the_second_of_two_devices(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        golden = str(self.folder / "golden")
        self.golden(path, golden)
        # Matrix 19 is "up" of layer 2.
        environment = fake_cuda(FAKE_CUDA_FLIP_WEIGHT="19:43")
        for more in ([], ["--check-golden", golden]):
            words = ["load", path, "--device", "nvidia:0,nvidia:1", "--prove", *more]
            document = check_one_verdict(self, words, 5, environment, stdout_formats=())
            placed = [device["id"] for device in document["devices"] if device["tensors"]]
            self.assertEqual(placed, ["nvidia:0", "nvidia:1"])
            wrong = document["prove"]["first_wrong"]
            self.assertEqual((wrong["layer"], wrong["tensor"], wrong["row"], wrong["device"]),
                             (2, "blk.2.ffn_up.weight", 0, "nvidia:1"))
            table = run(*words, environment=environment)
            self.assertIn("wrong: m.gguf on nvidia:1: layer 2, blk.2.ffn_up (F32), row 0 of ",
                          self.first_line(table.stdout))

    def test_planted_faults_of_weights_and_rows(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        words = ["load", path, "--device", "nvidia:0", "--prove"]
        self.assertEqual(run(*words, environment=fake_cuda()).returncode, 0)
        # An exponent bit of the eleventh weight of k in layer 1; "down" of layer 0.
        for variable, value, layer, tensor, row in [
                ("FAKE_CUDA_FLIP_WEIGHT", "8:43", 1, "blk.1.attn_k", 0),
                ("FAKE_CUDA_SHORT_ROW", "6:60", 0, "blk.0.ffn_down", 60)]:
            with self.subTest(variable=variable):
                environment = fake_cuda(**{variable: value})
                document = check_one_verdict(self, words, 5, environment, stdout_formats=())
                self.assertEqual(document["status"], "wrong")
                wrong = document["prove"]["first_wrong"]
                self.assertEqual((wrong["layer"], wrong["tensor"], wrong["row"], wrong["repeats"]),
                                 (layer, tensor + ".weight", row, True))
                self.assertEqual([one["layer"] for one in document["prove"]["layers"]
                                  if one["status"] == "wrong"], [layer])
                table = run(*words, environment=environment)
                self.assertIn(f"wrong: m.gguf on nvidia:0: layer {layer}, {tensor} (F32), "
                              f"row {row} of ", self.first_line(table.stdout))

    def test_the_copy_of_a_model_that_computes_wrong_was_right(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        found = run("load", path, "--device", "nvidia:0", "--prove", "--export",
                    f"prom={self.folder / 'm.prom'}",
                    environment=fake_cuda(FAKE_CUDA_SHORT_ROW="6:60"))
        self.assertEqual(found.returncode, 5, found.stderr)
        lines = (self.folder / "m.prom").read_text().splitlines()
        status = {line.split('"')[1]: line for line in lines
                  if line.startswith("hiptool_measurement_status{") and line.endswith(" 1")}
        self.assertIn('status="ok"', status["load-copy.m.gguf.nvidia:0"])
        self.assertIn('status="mismatch"', status["load.m.gguf"])

    def test_weights_that_are_damaged_on_the_way(self):
        path = self.make("m.gguf", "--architecture", "llama")
        words = ["load", path, "--device", "nvidia:0", "--verify", "none", "--prove"]
        self.assertEqual(run(*words, environment=fake_cuda()).returncode, 0)
        document = check_one_verdict(self, words, 5, fake_cuda(FAKE_CUDA_CORRUPT_FROM="1000000"),
                                     stdout_formats=())
        self.assertEqual(document["status"], "wrong")
        wrong = document["prove"]["first_wrong"]
        self.assertRegex(wrong["tensor"], r"^blk\.\d\.")
        self.assertTrue(wrong["repeats"])
        table = run(*words, environment=fake_cuda(FAKE_CUDA_CORRUPT_FROM="1000000"))
        name = wrong["tensor"].removesuffix(".weight")
        self.assertRegex(
            self.first_line(table.stdout),
            rf"^wrong: m.gguf on nvidia:0: layer \d, {name} \(F32\), row \d+ of \d+: "
            r"expected -?[\d.e-]+, got \S+; layer.* right; a second run gave the same value$")

    def golden(self, path, golden, *words):
        written = run("load", path, "--prove", "--write-golden", golden, *words,
                      environment=clean_environment(HIPTOOL_CUDA_LIBRARY="/nowhere",
                                                    HIPTOOL_HIP_LIBRARY="/nowhere"))
        self.assertEqual(written.returncode, 0, written.stderr)
        return written

    def test_a_golden_is_of_one_model(self):
        path = self.make("m.safetensors", "--architecture", "llama", "--dtype", "F32")
        golden = str(self.folder / "golden")
        written = self.golden(path, golden)
        self.assertRegex(self.first_line(written.stdout),
                         r"^wrote \S+golden: the float64 reference for 8 tokens of m.safetensors; "
                         r"no device was opened$")
        words = ["load", path, "--device", "cpu", "--prove", "--check-golden", golden]
        document = check_one_verdict(self, words, 0, stdout_formats=())
        found = document["prove"]
        self.assertEqual(found["golden"], {"checked": golden, "written": None})
        self.assertEqual((len(found["layers"]), found["logits"]["tokens"]), (3, 1))
        self.assertEqual(run(*words, "--verify", "none").returncode, 0)
        self.assertEqual(run(*words, "--prompt-ids", ",".join(map(str, PROMPT))).returncode, 0)

        other, wider = self.folder / "other", self.folder / "wider"
        other.mkdir()
        wider.mkdir()
        other = self.make("other/m.safetensors", "--architecture", "llama", "--dtype", "F32",
                          "--seed", "9")
        wider = self.make("wider/m.safetensors", "--architecture", "qwen3", "--dtype", "F32")
        damaged = self.folder / "damaged"
        data = bytearray(pathlib.Path(golden).read_bytes())
        data[-500] ^= 1
        damaged.write_bytes(data)
        short = self.folder / "short"
        short.write_bytes(data[:-8])
        changed = self.folder / "changed"
        changed.write_bytes(pathlib.Path(golden).read_bytes().replace(
            b'"model_digest":"', b'"model_digest":"0', 1)[:-1])
        for part, *words in [("other weights", other, golden),
                             ("a model with architecture llama, where this model has qwen3", wider,
                              golden),
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
        path = self.make("m.safetensors", "--architecture", "llama", "--dtype", "F32")
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

    def test_interrupted_within_a_step(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        words = ["load", path, "--prove", "--prompt-ids", ",".join(["7"] * 20_000)]
        # Each takes minutes: what does not stop in the middle of a step reports a hang.
        golden = self.folder / "golden"
        for cpu_s in (0.1, 0.4, 1):
            for loads, *more in ((True, "--device", "cpu"), (False, "--write-golden", golden)):
                with self.subTest(cpu_s=cpu_s, loads=loads):
                    found = program.interrupt_computing(*words, *more, cpu_s=cpu_s, loads=loads)
                    self.assertEqual(found.returncode, 130, found.stderr)
        for launch in (1, 8, 24):
            hold = self.hold(f"hiptool_attention_f32:{launch}")
            with self.subTest(launch=launch):
                found = program.interrupt(*words, "--device", "nvidia:0", hold=hold,
                                          environment=fake_cuda())
                self.assertEqual(found.returncode, 130, found.stderr)
                self.assertLess(hold.calls_after(), 3)

    def test_an_interrupt_keeps_the_layers_that_were_compared(self):
        path = self.make("m.gguf", "--architecture", "llama")
        words = ["prove", path, "--device", "nvidia:0", "--layers", "0-2"]
        for launch, layers in ((1, 0), (2, 1), (3, 2)):
            with self.subTest(launch=launch):
                found = program.interrupt(
                    *words, "--format", "json", environment=fake_cuda(),
                    hold=self.hold(f"hiptool_attention_f32:{launch}"))
                self.assertEqual(found.returncode, 130, found.stderr)
                document = self.assert_document(found.stdout, "prove.schema.json")
                self.assertEqual((document["status"], document["passed"]), ("interrupted", False))
                self.assertEqual(document["error"]["code"], "cancelled")
                if not layers:
                    self.assertNotIn("prove", document)
                    continue
                self.assertEqual([one["layer"] for one in document["prove"]["layers"]],
                                 list(range(layers)))
                self.assertEqual({one["status"] for one in document["prove"]["layers"]}, {"right"})
                self.assertIsNone(document["prove"]["logits"])
        found = program.interrupt(*words, environment=fake_cuda(),
                                  hold=self.hold("hiptool_attention_f32:3"))
        self.assertEqual(found.returncode, 130, found.stderr)
        self.assertRegex(" ".join(found.stdout.split()),
                         r"^interrupted after 2 of 3 layers of m\.gguf on nvidia:0: "
                         r"none of them wrong prompt ")

    def test_a_dry_run_states_the_needs(self):
        path = self.make("m.gguf", "--architecture", "llama")
        found = run("load", path, "--dry-run", "--format", "json")
        self.assert_document(found.stdout, "load.schema.json")
        # Caches of 3 layers x 2 heads x 24, scratch memory of 3 x 96 + 144 + 48 + 48 + 144 + 2 x
        # 163, of 8 tokens each; the last two are rounded up to 256 bytes.
        self.assertEqual(json.loads(found.stdout)["prove_needs"]["device_bytes"],
                         8 * 4 * (6 * 48 + 3 * 96 + 144 + 48 + 48 + 144 + 2 * 163) + 2 * 160)
        document = json.loads(found.stdout)
        cores = os.cpu_count()
        times = {"host_time_s": 28e-9, "golden_time_s": 12.5e-9}
        for field, of_a_weight in times.items():
            self.assertAlmostEqual(
                document["prove_needs"][field] * cores / document["model"]["parameters"],
                of_a_weight, delta=1e-12)
        found = run("load", path, "--dry-run")
        self.assertRegex(" ".join(found.stdout.split()), r"a proof needs 40\.\d KiB on the device "
                         r"besides the weights, at most [\d.]+ MiB here, and about 1 s of "
                         rf"this host's {cores} cores?; "
                         r"--write-golden about 1 s")
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

    def test_ranges_that_are_repeated_take_no_memory(self):
        path = self.make("m.gguf", "--architecture", "llama")
        most = resource.RLIM_INFINITY if program.is_sanitized() else 1 << 30
        found = run("load", path, "--device", "cpu", "--prove", "--layers",
                    ",".join(["0-65535"] * 12000),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertIn("has no layer 65535", found.stderr)

    def test_a_prompt_beyond_the_trained_context_warns(self):
        path = self.make("m.gguf", "--architecture", "llama")
        listed = run("inspect", path, "--format", "json")
        trained = json.loads(listed.stdout)["models"][0]["context_length"]
        golden = str(self.folder / "golden")
        for count, is_warned in ((2, False), (trained + 1, True)):
            prompt = ",".join(["7"] * count)
            written = self.golden(path, golden, "--prompt-ids", prompt)
            checked = run("load", path, "--device", "cpu", "--prove", "--check-golden", golden)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            for found in (written, checked):
                self.assertEqual(f"trained for {trained} tokens; the prompt has" in
                                 " ".join(found.stdout.split()), is_warned, found.stdout)

    def test_what_cannot_be_proved(self):
        decoder = self.make("m.gguf", "--architecture", "llama")
        small = self.make("m.safetensors", "--architecture", "llama", "--dtype", "F8_E5M2")
        other = self.make("other.gguf", "--size", "1M")
        for code, part, path, *words in [
                (2, "token 331 is not in", decoder, "--prove", "--prompt-ids", "1,331"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "1-"),
                (2, "invalid --layers", decoder, "--prove", "--layers", "2-1"),
                (2, "has no layer 3", decoder, "--prove", "--layers", "3"),
                (2, "applies only to --prove", decoder, "--layers", "1"),
                (2, "--prompt-ids applies only to", decoder, "--prompt-ids", "1"),
                (2, "--dry-run", decoder, "--prove", "--dry-run"),
                (2, "combined", decoder, "--prove", "--decode", "1"),
                (2, "combined", decoder, "--prove", "--write-golden", "a", "--check-golden", "b"),
                (2, "of all layers", decoder, "--prove", "--layers", "1", "--check-golden", "b"),
                (2, "applies only to --prove", decoder, "--write-golden", "a"),
                (4, "no kernels for weights of type 'F8_E5M2'", small, "--prove"),
                (4, "has the shape", other, "--prove")]:
            with self.subTest(part=part):
                device = () if "--write-golden" in words else ("--device", "cpu")
                found = run("load", path, *device, *words)
                self.assertEqual(found.returncode, code, found.stderr)
                self.assertIn(part, " ".join(found.stderr.split()))


if __name__ == "__main__":
    program.main(__doc__)
