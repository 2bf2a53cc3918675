# SPDX-License-Identifier: MIT
"""`hiptool load --decode` seen from outside.

Usage: decode_test.py PROGRAM [unittest options].
"""
import json
import os
import pathlib
import re

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict


class Decode(CliTest):
    def make(self, name, *words):
        path = self.folder / name
        made = run("make-model", str(path), *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return str(path)

    def decode(self, path, count, *words):
        found = run("load", path, "--device", "cpu", "--format", "json", "--decode", str(count),
                    *words)
        self.assertEqual(found.returncode, 0, found.stderr)
        document = json.loads(found.stdout)
        self.assertEqual(document["status"], "decoded")
        self.assertTrue(document["passed"])
        return document["decode"]

    def test_ids_do_not_depend_on_where_the_prompt_ends(self):
        path = self.make("m.gguf", "--architecture", "qwen3", "--dtype", "Q4_0")
        found = self.decode(path, 5)
        self.assertEqual(found["prompt_ids"], [(7 * i * i + 3 * i + 1) % 331 for i in range(8)])
        self.assertEqual(len(found["ids"]), 5)
        self.assertIsNone(found["text"])
        self.assertGreater(found["tokens_per_s"], 0)
        self.assertEqual(self.decode(path, 5)["logits_digest"], found["logits_digest"])
        prompt = found["prompt_ids"] + found["ids"][:2]
        rest = self.decode(path, 3, "--prompt-ids", ",".join(map(str, prompt)))
        self.assertEqual(rest["ids"], found["ids"][2:])
        self.assertNotEqual(rest["logits_digest"], found["logits_digest"])
        self.assertIsNone(self.decode(path, 1)["tokens_per_s"])

    def test_long_divisors_from_the_first_id_that_needs_them(self):
        # Scaled beyond 32 tokens: the ids of up to 32 tokens and those of more differ in their
        # divisors, and each is that of all tokens before it.
        for name in ("m.gguf", "m.safetensors"):
            path = self.make(name, "--architecture", "llama", "--rope", "longrope", "--dtype",
                             "F16")
            prompt = [(11 * i + 5) % 331 for i in range(29)]
            listed = ",".join(map(str, prompt))
            found = self.decode(path, 9, "--prompt-ids", listed)
            for count in (1, 4, 5, 8):
                part = self.decode(path, count, "--prompt-ids", listed)
                self.assertEqual(part["ids"], found["ids"][:count])
                before = ",".join(map(str, prompt + found["ids"][:count]))
                self.assertEqual(self.decode(path, 1, "--prompt-ids", before)["ids"],
                                 found["ids"][count:count + 1])
            self.assertGreater(found["tokens_per_s"], 0)
            sampled = ("--prompt-ids", listed, "--temperature", "1", "--seed", "3")
            self.assertEqual(self.decode(path, 3, *sampled)["ids"],
                             self.decode(path, 12, *sampled)["ids"][:3])

    def test_short_divisors_while_all_tokens_are_within_the_original_context(self):
        path = self.make("m.safetensors", "--architecture", "llama", "--rope", "longrope",
                         "--dtype", "F16")
        config = self.folder / "config.json"
        known = json.loads(config.read_text())
        prompt = ",".join(str(11 * i % 331) for i in range(29))
        digests = []
        for original in (32, 1000):   # of a sequence that is never long
            known["rope_parameters"].update(original_max_position_embeddings=original,
                                            attention_factor=1.25)
            known.pop("original_max_position_embeddings", None)
            config.write_text(json.dumps(known))
            digests.append([self.decode(path, count, "--prompt-ids", prompt)["logits_digest"]
                            for count in (4, 5)])
        self.assertEqual(digests[0][0], digests[1][0])   # 29 and three more
        self.assertNotEqual(digests[0][1], digests[1][1])

    def test_dynamic_scaling_is_none_up_to_the_trained_context(self):
        path = self.make("m.safetensors", "--architecture", "llama", "--dtype", "BF16")
        config = self.folder / "config.json"
        known = json.loads(config.read_text())
        trained = known["max_position_embeddings"]
        prompt = ",".join(str(17 * i % 331) for i in range(trained - 3))
        without = self.decode(path, 3, "--prompt-ids", prompt)
        known["rope_theta"] = known.pop("rope_parameters")["rope_theta"]
        known["rope_scaling"] = {"type": "dynamic", "factor": 2.0}
        config.write_text(json.dumps(known))
        found = self.decode(path, 3, "--prompt-ids", prompt)
        self.assertEqual((found["ids"], found["logits_digest"]),
                         (without["ids"], without["logits_digest"]))
        longer = prompt + ",5,6,7"
        proved = run("prove", path, "--device", "cpu", "--prompt-ids", longer, "--layers", "0")
        self.assertEqual(proved.returncode, 0, proved.stderr)
        for words in (["load", path, "--device", "cpu", "--decode", "4", "--prompt-ids", prompt],
                      ["prove", path, "--device", "cpu", "--prompt-ids", longer + ",8"],
                      ["prove", path, "--write-golden", str(self.folder / "golden"),
                       "--prompt-ids", longer + ",8"]):
            refused = run(*words)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            text = " ".join(refused.stderr.split())
            self.assertIn(f"beyond {trained} ", text)
            self.assertIn("dynamic rope scaling changes with each token", text)

    def test_more_tokens_than_the_model_was_trained_for(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "Q8_0")
        trained = json.loads(run("inspect", path, "--format", "json").stdout)
        trained = trained["models"][0]["context_length"]
        words = ("load", path, "--device", "cpu", "--decode", "1", "--prompt-ids")
        self.assertNotIn("warning", run(*words, ",".join(["5"] * (trained - 1))).stdout)
        text = run(*words, ",".join(["5"] * trained)).stdout
        self.assertIn(f"warning: the model was trained for {trained} tokens; prompt and decoded "
                      f"tokens are {trained + 1}", " ".join(text.split()))

    def test_safetensors_need_their_configuration(self):
        path = self.make("m.safetensors", "--dtype", "F16", "--size", "1MiB")
        (self.folder / "config.json").unlink(missing_ok=True)
        result = run("load", path, "--device", "cpu", "--decode", "1")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("its folder has no config.json", result.stderr)

    def test_sampled_ids_depend_on_seed_and_position_alone(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "Q8_0")
        words = ["--temperature", "1.5", "--top-k", "200", "--top-p", "0.99", "--seed"]
        found = self.decode(path, 8, *words, "7")
        self.assertEqual(found["sampling"],
                         {"temperature": 1.5, "top_k": 200, "top_p": 0.99, "seed": 7})
        self.assertEqual(self.decode(path, 8, *words, "7")["ids"], found["ids"])
        self.assertNotEqual(self.decode(path, 8, *words, "8")["ids"], found["ids"])
        prompt = found["prompt_ids"] + found["ids"][:5]
        rest = self.decode(path, 3, *words, "7", "--prompt-ids", ",".join(map(str, prompt)))
        self.assertEqual(rest["ids"], found["ids"][5:])
        likely = self.decode(path, 8)
        self.assertIsNone(likely["sampling"])
        self.assertNotEqual(likely["ids"], found["ids"])
        cold = self.decode(path, 8, "--temperature", "1e-6")
        self.assertEqual(cold["ids"], likely["ids"])
        self.assertEqual(cold["sampling"],
                         {"temperature": 1e-6, "top_k": None, "top_p": 1.0, "seed": 0})
        self.assertEqual(cold["logits_digest"], likely["logits_digest"])
        shown = run("load", path, "--device", "cpu", "--decode", "2", *words, "7")
        self.assertIn("sampled temperature 1.5, top-k 200, top-p 0.99, seed 7\n", shown.stdout)

    def divided(self, path, devices, *words):
        found = run("load", path, "--device", devices, "--format", "json", *words,
                    environment=clean_environment(HIPTOOL_CPU_DEVICES="3"))
        return found, json.loads(found.stdout)

    def test_several_devices_compute_what_one_does(self):
        for architecture, *words in [("llama", "--dtype", "Q6_K"), ("qwen2", "--tied"),
                                     ("qwen3moe", "--dtype", "Q4_K"),
                                     ("gemma3", "--dtype", "Q5_K", "--window", "5"),
                                     ("gpt-oss", "--dtype", "MXFP4", "--window", "5"),
                                     ("deepseek2", "--dtype", "F16")]:
            path = self.make(architecture + ".gguf", "--architecture", architecture,
                             *words)
            alone = self.decode(path, 6)
            for devices, split in [("cpu:0,cpu:1", ["--split", "layer"]), ("cpu:2,cpu:0", []),
                                   ("cpu:0,cpu:1,cpu:2", ["--context", "64"])]:
                with self.subTest(architecture=architecture, devices=devices):
                    found, document = self.divided(path, devices, "--decode", "6", *split)
                    self.assertEqual(found.returncode, 0, found.stderr)
                    self.assertEqual(document["split"], "layer")
                    self.assertTrue(all(device["tensors"] for device in document["devices"]))
                    for field in ("ids", "logits_digest"):
                        self.assertEqual(document["decode"][field], alone[field])
        found = run("load", path, "--device", "cpu:0,cpu:1", "--decode", "1",
                    environment=clean_environment(HIPTOOL_CPU_DEVICES="2"))
        self.assertIn("decoded 1 token on cpu:0-1\n", found.stdout)

    def test_layers_are_not_divided(self):
        path = self.make("m.gguf", "--architecture", "llama")
        found, document = self.divided(path, "cpu:0,cpu:1", "--decode", "2", "--split", "2,1")
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertIn("is divided among cpu:0 and cpu:1", document["error"]["message"])
        self.assertIn("--split layer", document["error"]["hint"])
        found, document = self.divided(path, "cpu:1,cpu:0", "--decode", "2", "--split", "replicate")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(document["decode"]["ids"], self.decode(path, 2)["ids"])

    def test_share_of_peak_is_bytes_of_weights_by_time(self):
        driver = os.environ.get("FAKE_CUDA")
        if driver is None:
            self.skipTest("the build has no fake driver")
        environment = clean_environment(HIPTOOL_CUDA_LIBRARY=driver)
        listed = json.loads(run("devices", "--format", "json", environment=environment).stdout)
        peak = [device["memory_peak_bytes_per_s"] for device in listed["devices"]
                if device["id"] == "nvidia:0"][0]
        self.assertGreater(peak, 0)
        for name, *words in [("untied",), ("tied", "--tied")]:
            path = self.make(name + ".gguf", "--architecture", "qwen3", "--dtype", "Q8_0", *words)
            for device in ("nvidia:0", "nvidia:0,nvidia:1"):
                with self.subTest(name=name, device=device):
                    found = run("load", path, "--device", device, "--tensors", "--format", "json",
                                "--decode", "3", environment=environment)
                    self.assertEqual(found.returncode, 0, found.stderr)
                    document = json.loads(found.stdout)
                    read = sum(tensor["bytes"] for tensor in document["tensors"]
                               if words or tensor["name"] != "token_embd.weight")
                    rate = document["decode"]["tokens_per_s"]
                    share = document["decode"]["share_of_peak"]
                    self.assertAlmostEqual(share / (read * rate / peak), 1, places=6)

    def interrupted(self, words, call):
        """The document, and the calls of the kind that were still made after Ctrl-C."""
        hold = self.hold(call)
        environment = clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"])
        found = program.interrupt("load", *words, "--device", "nvidia:0", "--format", "json",
                                  hold=hold, environment=environment)
        self.assertEqual(found.returncode, 130, found.stderr)
        document = self.assert_document(found.stdout, "load.schema.json")
        self.assertEqual(document["status"], "interrupted")
        return document, hold.calls_after()

    def test_interrupted_within_a_step(self):
        path = self.make("m.gguf", "--architecture", "llama")
        long_prompt = ",".join(str(i % 331) for i in range(30_000))
        for words in [["--decode", "30000"], ["--decode", "1", "--prompt-ids", long_prompt],
                      ["--decode", "30000", "--temperature", "1", "--top-p", "0.9"]]:
            found = program.interrupt_computing("load", path, "--device", "cpu", *words, cpu_s=0.2)
            self.assertEqual(found.returncode, 130, found.stderr)
            # In the first and in later steps, each of three layers; a single token has a kernel of
            # its own, and where computing is slow a prompt goes by single tokens, too.
            for launch in (1, 8, 24):
                with self.subTest(words=words[:2], launch=launch):
                    kernels = "hiptool_attention_f32|hiptool_attention_token_f32"
                    _, after = self.interrupted([path, *words], f"{kernels}:{launch}")
                    self.assertLess(after, 3)

    def test_interrupted_with_the_tokens_so_far(self):
        path = self.make("m.gguf", "--architecture", "llama")
        document, _ = self.interrupted([path, "--decode", "2000"],
                                       "hiptool_attention_token_f32:100")
        ids = document["decode"]["ids"]
        self.assertGreater(len(ids), 0)
        self.assertLess(len(ids), 100)
        self.assertIsNone(document["decode"]["logits_digest"])
        self.assertEqual(ids, self.decode(path, len(ids))["ids"])

    def test_people_read_ids(self):
        path = self.make("m.gguf", "--architecture", "llama")
        found = run("load", path, "--device", "cpu", "--decode", "2", "--prompt-ids", "1,2")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertRegex(found.stdout, r"^decoded 2 tokens on cpu:0, [\d.]+ tokens/s\s+with\s+"
                                       r"reference\s+kernels\s+on\s+the\s+CPU")
        self.assertRegex(found.stdout, r"(?m)^verified .* on cpu:0 in ")
        # The status of the document, in every format.
        document = check_one_verdict(self, ["load", path, "--device", "cpu", "--decode", "2",
                                            "--verify", "none"], 0)
        self.assertEqual(document["status"], "decoded")
        self.assertTrue(document["shown"]["lines"][0]["text"].startswith("decoded 2 tokens"))
        self.assertEqual(document["shown"]["lines"][0]["tone"], "good")
        self.assertIn("prompt  1,2\nids     ", found.stdout)

    def test_what_cannot_be_decoded(self):
        decoder = self.make("m.gguf", "--architecture", "llama")
        small = self.make("m.safetensors", "--architecture", "llama", "--dtype", "F8_E5M2")
        other = self.make("other.gguf", "--size", "1M")
        whole = pathlib.Path(decoder).read_bytes()
        truncated = str(self.folder / "truncated.gguf")
        pathlib.Path(truncated).write_bytes(whole[:-100])
        unknown = str(self.folder / "unknown.gguf")
        pathlib.Path(unknown).write_bytes(whole.replace(b"llama", b"lamma"))
        for code, part, path, *words in [
                (2, "token 331 is not in", decoder, "--decode", "1", "--prompt-ids", "1,331"),
                (2, "invalid --prompt-ids", decoder, "--decode", "1", "--prompt-ids", "1,x"),
                (2, "applies only to --decode", decoder, "--prompt-ids", "1"),
                (2, "--dry-run", decoder, "--decode", "1", "--dry-run"),
                (2, "apply only to --decode", decoder, "--temperature", "1"),
                (2, "add --temperature", decoder, "--decode", "1", "--top-k", "5"),
                (2, "add --temperature", decoder, "--decode", "1", "--temperature", "0",
                 "--seed", "1"),
                (2, "invalid --temperature \"x\"", decoder, "--decode", "1", "--temperature", "x"),
                (2, "temperature of -1", decoder, "--decode", "1", "--temperature=-1"),
                (2, "temperature of nan", decoder, "--decode", "1", "--temperature", "nan"),
                (2, "top-p of 0", decoder, "--decode", "1", "--temperature", "1", "--top-p", "0"),
                (2, "for --top-k", decoder, "--decode", "1", "--temperature", "1", "--top-k", "0"),
                (4, "no kernels for weights of type 'F8_E5M2'", small, "--decode", "1"),
                (4, "has the shape", other, "--decode", "1"),
                (4, "general.architecture", unknown, "--decode", "1"),
                (4, "truncated.gguf", truncated, "--decode", "1")]:
            with self.subTest(part=part):
                found = run("load", path, "--device", "cpu", *words)
                self.assertEqual(found.returncode, code, found.stderr)
                self.assertIn(part, " ".join(found.stderr.split()))
                # No driver is opened before that, and so nothing is launched.
                absent = clean_environment(HIPTOOL_CUDA_LIBRARY="/nowhere/libcuda.so")
                again = run("load", path, "--device", "nvidia:0", *words, environment=absent)
                self.assertEqual((again.returncode, again.stderr), (code, found.stderr))


    def test_folders_decode_where_they_are_proved(self):
        shown = " ".join(run("help", "make-model", "all").stdout.split())
        names = re.search(r"--architecture NAME .*?\[possible values: ([^]]*)\]", shown)[1]
        codes = []
        for name in names.split(", "):
            for words in ((), ("--dtype", "F8_E4M3")):
                folder = self.folder / f"{name}-{len(words)}"
                folder.mkdir()
                made = run("make-model", str(folder / "model.safetensors"), "--architecture", name,
                           "-q", "--format", "safetensors", *words)
                if made.returncode != 0:  # a type that its experts do not have
                    continue
                with self.subTest(name=name, words=words):
                    needed = run("load", str(folder), "--dry-run")
                    proved = run("prove", str(folder), "--device", "cpu:0", "--layers", "0",
                                 "--prompt-ids", "1")
                    decoded = run("load", str(folder), "--device", "cpu:0", "--decode", "1",
                                  "--prompt-ids", "1")
                    self.assertEqual(decoded.returncode, proved.returncode, decoded.stderr)
                    self.assertEqual("not possible" in needed.stdout, proved.returncode != 0)
                    codes.append(decoded.returncode)
        self.assertGreater(codes.count(0), 30)


if __name__ == "__main__":
    program.main(__doc__)
