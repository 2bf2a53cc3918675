# SPDX-License-Identifier: MIT
"""The host fails: reads, listings, memory and threads. HOST_FAULTS names the library that does it.
Usage: host_faults_test.py PROGRAM [unittest options].
"""
import json
import os
import pathlib
import random
import struct

import program
from program import CliTest, clean_environment, run


def failing(**faults):
    variables = {"HOST_FAULT_" + name.upper(): str(value) for name, value in faults.items()}
    return clean_environment(LD_PRELOAD=os.environ["HOST_FAULTS"], HIPTOOL_HIP_LIBRARY="/nowhere",
                             HIPTOOL_CUDA_LIBRARY="/nowhere", **variables)


class HostFaults(CliTest):
    def make(self, name, *words):
        path = self.folder / name
        made = run("make-model", str(path), *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return str(path)

    def check_plain(self, found, codes):
        self.assertIn(found.returncode, codes, found.stderr)
        self.check_words(found)
        if found.returncode != 0:
            self.assertIn("error: ", found.stderr)
            self.assertIn("hint: ", found.stderr)

    def check_words(self, found):
        for words in ("internal error", "a bug", "terminate called"):
            self.assertNotIn(words, found.stderr)

    def offset_of(self, path, tensor):
        listed = run("inspect", path, "--tensors", "--format", "json")
        tensors = json.loads(listed.stdout)["models"][0]["tensor_list"]
        return next(one["file_offset"] for one in tensors if one["name"] == tensor)

    def test_one_bad_read_is_not_the_device(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        at = self.offset_of(path, "blk.1.attn_k.weight") + 43    # an exponent
        words = ["load", path, "--device", "cpu", "--verify", "fast", "--io", "buffered", "--prove"]
        self.check_plain(run(*words, environment=failing()), [0])
        refused = 0
        for count in range(1, 6):
            with self.subTest(count=count):
                found = run(*words, environment=failing(flip=f"m.gguf:{at}:{count}"))
                self.check_plain(found, [0, 4])
                refused += found.returncode == 4
                if found.returncode == 4:
                    self.assertIn("'blk.1.attn_k.weight'", found.stderr)
                    self.assertIn("changed while it was read", " ".join(found.stderr.split()))
        self.assertGreaterEqual(refused, 2)    # of the load, and of the reference

    def test_check_blames_no_device_for_a_model(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F32")
        words = ["check", "--model", path, "--stage", "model", "--device", "cpu"]
        at = self.offset_of(path, "blk.1.attn_k.weight")
        data = bytearray(pathlib.Path(path).read_bytes())
        for value, part in ((float("nan"), "'blk.1.attn_k.weight' has NaN"),
                            (1e38, "leave the range of f32 in layer 1")):
            changed = bytearray(data)
            struct.pack_into("<f", changed, at + 44, value)
            pathlib.Path(path).write_bytes(changed)
            found = run(*words)
            self.assertEqual(found.returncode, 4, found.stdout + found.stderr)
            self.assertIn(part, " ".join((found.stdout + found.stderr).split()))
        pathlib.Path(path).write_bytes(data)
        for count in (1, 2):
            found = run(*words, environment=failing(flip=f"m.gguf:{at + 43}:{count}"))
            self.assertIn(found.returncode, (0, 4), found.stdout + found.stderr)

    def test_input_and_output_errors(self):
        folder = self.folder / "model"
        folder.mkdir()
        path = self.make("model/m.gguf", "--architecture", "llama", "--dtype", "F16")
        for words, end in ((["inspect", path], "m.gguf"), (["inspect", str(folder)], "/model"),
                           (["load", path, "--device", "cpu"], "m.gguf"),
                           (["load", path, "--device", "cpu", "--io", "buffered"], "m.gguf"),
                           (["load", str(folder), "--device", "cpu"], "/model")):
            with self.subTest(words=words):
                found = run(*words, environment=failing(eio=end))
                self.check_plain(found, [7])
                self.assertIn("Input/output error", found.stderr)
        for end in ("/model",):     # a listing for the sake of files that an output may replace
            found = run("load", path, "--prove", "--write-golden", str(self.folder / "golden"),
                        environment=failing(eio=end))
            self.check_plain(found, [0, 7])

    def test_no_thread_to_be_had(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F16")
        for words in (["load", path, "--device", "cpu"],
                      ["load", path, "--device", "cpu", "--prove"],
                      ["run-kernel", "add", "--device", "cpu", "--size", "64KiB", "--samples", "2"],
                      ["bench-copy", "--device", "cpu", "--kind", "h2d", "--size", "64KiB",
                       "--samples", "2"]):
            codes = []
            for first in (1, 2, 3, 5):
                with self.subTest(words=words, first=first):
                    found = run(*words, environment=failing(threads=first))
                    codes.append(found.returncode)
                    self.check_plain(found, [0, 7])
            self.assertEqual(codes[0], 7, words)    # without any thread

    def test_memory_that_ends(self):
        path = self.make("m.gguf", "--architecture", "llama", "--dtype", "F16")
        codes = []
        for first in range(1, 25):     # before main(), and at its start
            with self.subTest(first=first):
                found = run("--version", environment=failing(malloc=first))
                codes.append(found.returncode)
                self.check_plain(found, [0, 7])
        self.assertIn(7, codes)
        chance = random.Random(20261125)
        # The memory of the device cpu is the host's: there it may be the device that lacks it.
        for words, most, codes in ((["inspect", path], 3000, [0, 7]),
                                   (["load", path, "--device", "cpu"], 6000, [0, 3, 7])):
            for _ in range(12):
                count = chance.randrange(1, most)
                with self.subTest(words=words, count=count):
                    found = run(*words, environment=failing(malloc=count))
                    self.assertIn(found.returncode, codes, found.stderr)
                    self.check_words(found)


if __name__ == "__main__":
    program.main(__doc__)
