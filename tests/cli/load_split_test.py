# SPDX-License-Identifier: MIT
"""`hiptool load` onto several devices, seen from outside.

Usage: load_split_test.py PROGRAM [unittest options].
"""
import json
import os
import unittest

import program
from load_test import reference_digests, write_safetensors
from program import CliTest, clean_environment, run

DEVICES = [f"cpu:{i}" for i in range(4)]
SIZES = [100_000, 16_384, 0, 3, 250_001, 16_385, 70_000, 1, 40_000, 128_000]
SPLITS = ["bytes", "layer", "4,3,2,1", "0.5,1e-3,1,2", "replicate"]


class LoadSplit(CliTest):
    def setUp(self):
        super().setUp()
        tensors = {"model.embed_tokens.weight": os.urandom(5_000)}
        for i, size in enumerate(SIZES):
            tensors[f"model.layers.{i // 2}.w{i % 2}.weight"] = os.urandom(size)
        tensors["model.norm.weight"] = os.urandom(100)
        tensors["lm_head.weight"] = os.urandom(9_000)
        self.sizes = {name: len(data) for name, data in tensors.items()}
        self.model = write_safetensors(self.folder / "m.safetensors", tensors)

    def load(self, *words, devices="cpu:0,cpu:1,cpu:2,cpu:3", code=0, form="json"):
        result = run("load", *words, "--device", devices, "--format", form,
                     environment=clean_environment(HIPTOOL_CPU_DEVICES="4"))
        self.assertEqual(result.returncode, code, result.stderr)
        if form != "json":
            return result
        return self.assert_document(result.stdout, "load.schema.json")

    def placed(self, document):
        """By device the list of (offset, bytes, name), in the order of offsets."""
        places = {device: [] for device in DEVICES}
        for tensor in document["tensors"]:
            places[tensor["device"]].append(
                (tensor["device_offset"], tensor["bytes"], tensor["name"]))
        return {device: sorted(tensors) for device, tensors in places.items()}

    def assert_sound(self, document, copies=1):
        self.assertEqual([device["id"] for device in document["devices"]], DEVICES)
        names = []
        for device in document["devices"]:
            tensors = self.placed(document)[device["id"]]
            self.assertEqual(device["tensors"], len(tensors))
            self.assertEqual(device["bytes"], sum(size for _, size, _ in tensors))
            end = 0
            for offset, size, name in tensors:
                self.assertEqual(offset % 256, 0)
                self.assertGreaterEqual(offset, end)
                self.assertLess(offset, end + 256)
                end = offset + size
                names.append(name)
        self.assertEqual(sorted(names), sorted(list(self.sizes) * copies))

    def test_every_split_and_mode(self):
        try:
            digests, whole = reference_digests(self.model)
        except ImportError:
            self.skipTest("the package xxhash is not installed")
        for split in SPLITS:
            for mode in ("full", "fast", "readback"):
                with self.subTest((split, mode)):
                    document = self.load(str(self.model), "--split", split, "--verify", mode,
                                         "--tensors")
                    self.assertEqual(document["status"], "verified")
                    kind = "proportions" if "," in split else split
                    self.assertEqual(document["split"], kind)
                    self.assert_sound(document, copies=4 if split == "replicate" else 1)
                    self.assertEqual(document["verify"]["digest"], whole)
                    for tensor in document["tensors"]:
                        self.assertEqual(tensor["digest"], digests[tensor["name"]])

    def test_layers_stay_whole_and_ends_join_them(self):
        document = self.load(str(self.model), "--split", "layer", "--dry-run", "--tensors")
        self.assertEqual(document["status"], "planned")
        self.assert_sound(document)
        device_of = {tensor["name"]: tensor["device"] for tensor in document["tensors"]}
        for layer in range(len(SIZES) // 2):
            self.assertEqual(device_of[f"model.layers.{layer}.w0.weight"],
                             device_of[f"model.layers.{layer}.w1.weight"])
        self.assertEqual(device_of["model.embed_tokens.weight"], "cpu:0")
        self.assertEqual(device_of["model.norm.weight"], "cpu:3")
        self.assertEqual(device_of["lm_head.weight"], "cpu:3")

    def test_no_layers_is_said(self):
        flat = write_safetensors(self.folder / "flat.safetensors",
                                 {name: os.urandom(5000) for name in "abcdefgh"})
        result = self.load(str(flat), "--split", "layer", form="table")
        self.assertIn("warning: no tensor name contains a layer number", result.stdout)
        self.assertEqual(self.load(str(flat), "--split", "layer")["split"], "bytes")

    def test_proportions_are_kept(self):
        parts = write_safetensors(self.folder / "parts.safetensors",
                                  {f"t{i}": os.urandom(2560) for i in range(100)})
        document = self.load(str(parts), "--split", "4,3,2,1")
        self.assertEqual([device["tensors"] for device in document["devices"]], [40, 30, 20, 10])
        document = self.load(str(parts))   # by bytes
        self.assertEqual([device["tensors"] for device in document["devices"]], [25, 25, 25, 25])

    def test_dry_run(self):
        for split in SPLITS:
            with self.subTest(split):
                document = self.load(str(self.model), "--dry-run", "--tensors", "--split", split)
                self.assertEqual(document["status"], "planned")
                self.assert_sound(document, copies=4 if split == "replicate" else 1)
        result = self.load(str(self.model), "--dry-run", form="table")
        self.assertRegex(result.stdout,
                         r"^planned \S+ KiB on cpu:0-3, which fits\n")

    def test_table(self):
        for words in ([], ["--tensors"], ["--split", "replicate"], ["--self-test"]):
            result = self.load(str(self.model), *words, form="table")
            self.assertRegex(result.stdout, r"^verified \S+ KiB on cpu:0-3 in ")
            self.assertRegex(result.stdout, r"\ndevice  cpu:3 .*: \d+ tensors, ")
            self.assert_width(result.stdout)

    def test_self_test_on_each_device(self):
        document = self.load(str(self.model), "--self-test", "--split", "replicate")
        self.assertEqual([fault["device"] for fault in document["self_test"]],
                         [device for device in DEVICES for _ in range(5)])
        self.assertTrue(all(fault["caught"] for fault in document["self_test"]))

    def test_timeline_tells_devices_apart(self):
        trace = self.folder / "trace.json"
        self.load(str(self.model), "--trace", str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        lanes = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        for device in DEVICES:
            self.assertIn(f"{device} reader 0", lanes)
            self.assertIn(f"{device} device digests 0", lanes)
        self.assertEqual(len(lanes), len(set(lanes)))

    def test_context(self):
        path = str(self.folder / "m.gguf")
        result = run("make-model", path, "--size", "1MiB", "--tensors", "30")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.load(path, "--context", "100", "--split", "replicate")
        self.assertEqual((document["status"], document["fit"]["verdict"]), ("verified", "fits"))
        self.assertEqual([part["id"] for part in document["fit"]["devices"]], DEVICES)
        self.assertEqual(len({part["kv_cache_bytes"] for part in document["fit"]["devices"]}), 1)
        document = self.load(path, "--context", str(1 << 30), "--split", "replicate", code=3)
        self.assertIn("on cpu:0, where", document["error"]["message"])
        # What is loaded is what fits: each layer where room for its cache was counted.
        for words in ([], ["--split", "layer"], ["--split", "bytes"]):
            planned = self.load(path, "--context", "100", "--dry-run", *words)
            loaded = self.load(path, "--context", "100", "--tensors", *words)
            self.assertEqual(len({tensor["name"] for tensor in loaded["tensors"]}), 30)
            self.assertEqual((loaded["fit"]["verdict"], loaded["split"]), ("split", "layer"))
            for document in (planned, loaded):
                self.assertEqual([(part["id"], part["tensors"]) for part in document["devices"]],
                                 [(part["id"], part["tensors"])
                                  for part in planned["fit"]["devices"]])
            self.assertEqual([part["bytes"] for part in planned["devices"]],
                             [part["bytes"] for part in loaded["devices"]])
            homes = {}
            for tensor in loaded["tensors"]:
                if tensor["name"].startswith("blk."):
                    homes.setdefault(tensor["name"].split(".")[1], set()).add(tensor["device"])
            self.assertGreater(len(homes), 1)
            self.assertTrue(all(len(home) == 1 for home in homes.values()), homes)
        document = self.load(path, "--context", "100", "--split", "4,3,2,1", code=2)
        self.assertIn("KV cache", document["error"]["message"])

    def test_more_devices_than_tensors(self):
        tiny = write_safetensors(self.folder / "tiny.safetensors", {"a": b"abc", "b": b"defg"})
        document = self.load(str(tiny))
        self.assertEqual(document["status"], "verified")
        self.assertEqual([device["bytes"] for device in document["devices"]], [3, 4, 0, 0])

    def test_wrong_usage(self):
        model = str(self.model)
        for split, devices in (("1,2", "cpu:0,cpu:1,cpu:2"), ("1,2,3,0", None), ("1,-1,2,3", None),
                               ("1,,2,3", None), ("halves", None), ("1,nan,2,3", None),
                               ("", None), ("1,2,3,4x", None), ("inf,1,1,1", None)):
            with self.subTest(split):
                result = self.load(model, f"--split={split}", code=2, form="table",
                                   devices=devices or ",".join(DEVICES))
                self.assertEqual(result.stdout, "")
                self.assertIn("split", result.stderr)

    def test_too_large_for_the_devices(self):
        huge = write_safetensors(self.folder / "huge.safetensors", {"a": b"1"},
                                 sparse_bytes=1 << 43)
        document = self.load(str(huge), code=3)
        self.assertEqual(document["error"]["code"], "out_of_memory")
        self.assertIn("8.00 TiB", document["error"]["message"])
        self.assertEqual(self.load(str(huge), "--split", "replicate", code=3)["status"], "failed")


if __name__ == "__main__":
    program.main(__doc__)
