# SPDX-License-Identifier: MIT
"""`hiptool load` seen from outside.

Usage: load_test.py PROGRAM [unittest options].
"""
import json
import os
import pathlib
import signal
import struct

import program
from program import CliTest, clean_environment, run


def write_safetensors(path, tensors, sparse_bytes=0):
    """Tensors of U8 by name, written here; with sparse_bytes one more: a hole in the file."""
    header, offset = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(data)],
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    if sparse_bytes:
        header["hole"] = {"dtype": "U8", "shape": [sparse_bytes],
                          "data_offsets": [offset, offset + sparse_bytes]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))
        file.truncate(8 + len(text) + offset + sparse_bytes)
    return path


def reference_digests(path):
    """Digests of tensors and model by their definition, from Python's own reading of the file."""
    import xxhash   # pylint: disable=import-outside-toplevel
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = {name: entry for name, entry in json.loads(data[8:8 + length]).items()
              if name != "__metadata__"}
    digests, whole = {}, xxhash.xxh3_64()
    for name in sorted(header, key=str.encode):
        begin, end = (8 + length + offset for offset in header[name]["data_offsets"])
        blocks = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(data[at:min(at + 16384, end)]))
                          for at in range(begin, end, 16384))
        digest = xxhash.xxh3_64_intdigest(blocks)
        shape = header[name]["shape"]
        whole.update(name.encode() + b"\0" + header[name]["dtype"].encode() + b"\0" +
                     struct.pack(f"<{len(shape) + 2}Q", len(shape), *shape, digest))
        digests[name] = f"{digest:016x}"
    return digests, f"{whole.intdigest():016x}"


class Load(CliTest):
    def setUp(self):
        super().setUp()
        self.model = write_safetensors(self.folder / "m.safetensors", {
            "b": os.urandom(100_000), "a": os.urandom(16_384), "é": b"", "c": os.urandom(3)})
        self.json = ["--format", "json", "--device", "cpu"]

    def load(self, *words, code=0):
        result = run("load", *words, *self.json)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.assert_document(result.stdout, "load.schema.json")

    def test_outputs_never_replace_the_model(self):
        data = self.model.read_bytes()
        index = self.folder / "model.safetensors.index.json"
        names = {name for name in json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])}
        index.write_text(json.dumps({"weight_map": {name: self.model.name for name in names}}),
                         encoding="utf-8")
        notes = self.folder / "notes.txt"
        notes.write_text("no model", encoding="utf-8")
        link = self.folder / "link"
        link.symlink_to(self.model)
        for path in (self.model, index, link):
            for output in ([f"--export=json={self.model}"], ["--trace", str(self.model)],
                           [f"--export=junit={link}"]):
                for form in ("table", "json"):
                    result = run("load", str(path), "--device", "cpu", "--format", form, *output)
                    self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                    self.assertRegex(result.stderr,
                                     r"--(export( \w+)?|trace) and the model name the same file")
                    self.assertEqual(self.model.read_bytes(), data)
        self.assertEqual(run("load", str(notes), f"--export=json={notes}").returncode, 2)
        self.assertEqual(notes.read_text(encoding="utf-8"), "no model")

    def test_verified(self):
        document = self.load(str(self.model), "--tensors")
        self.assertEqual(document["status"], "verified")
        self.assertEqual(document["verify"]["mode"], "full")
        self.assertEqual(document["model"]["tensors"], 4)
        self.assertEqual(document["model"]["bytes"], 116_387)
        self.assertEqual(document["devices"][0]["id"], "cpu:0")
        self.assertEqual([phase["name"] for phase in document["phases"]],
                         ["parse", "start", "allocate", "load", "digest", "verify"])
        self.assertEqual(document["residency"]["cached_bytes"], self.model.stat().st_size)
        self.assertEqual(len(document["tensors"]), 4)

    def test_digests_equal_an_independent_reference(self):
        try:
            digests, whole = reference_digests(self.model)
        except ImportError:
            self.skipTest("the package xxhash is not installed")
        document = self.load(str(self.model), "--tensors")
        self.assertEqual({tensor["name"]: tensor["digest"] for tensor in document["tensors"]},
                         digests)
        self.assertEqual(document["verify"]["digest"], whole)

    def test_every_mode_finds_the_same_digest(self):
        documents = [self.load(str(self.model), "--verify", mode)
                     for mode in ("auto", "full", "fast", "readback")]
        self.assertEqual(len({document["verify"]["digest"] for document in documents}), 1)
        self.assertEqual([document["verify"]["mode"] for document in documents[1:]],
                         ["full", "fast", "readback"])

    def test_self_test_names_all_five_faults(self):
        for mode in ("auto", "full", "fast"):
            document = self.load(str(self.model), "--self-test", "--verify", mode)
            self.assertEqual(document["status"], "verified")
            self.assertEqual([fault["fault"] for fault in document["self_test"]],
                             ["flip", "swap", "drop", "shift", "late"])
            self.assertTrue(all(fault["caught"] for fault in document["self_test"]))
        tiny = write_safetensors(self.folder / "tiny.safetensors", {"a": b"abc"})
        self.assertEqual(self.load(str(tiny), "--self-test", code=2)["error"]["code"],
                         "invalid_argument")

    def test_real_files(self):
        data = pathlib.Path(os.environ.get("HIPTOOL_TEST_DATA", "")) / "csm-voices.safetensors"
        if not data.is_file():
            self.skipTest("the real model files are not here")
        self.assertEqual(self.load(str(data))["status"], "verified")
        for name in ("vocab-bert-bge.gguf", "vocab-deepseek-coder.gguf"):
            result = run("load", str(data.parent / name))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(result.stdout.startswith("empty: "))
            document = self.load(str(data.parent / name))
            self.assertEqual((document["status"], document["model"]["tensors"]), ("empty", 0))

    def test_other_statuses(self):
        self.assertEqual(self.load(str(self.model), "--verify", "none")["status"], "loaded")
        planned = self.load(str(self.model), "--dry-run", "--tensors")
        self.assertEqual((planned["status"], planned["devices"][0]["tensors"]), ("planned", 4))
        empty = write_safetensors(self.folder / "e.safetensors", {})
        self.assertEqual(self.load(str(empty))["status"], "empty")

    def test_the_link_is_measured_for_a_load_of_1_gib_and_more(self):
        driver = os.environ.get("FAKE_CUDA")
        if driver is None:
            self.skipTest("no fake driver was named")
        environment = clean_environment(HIPTOOL_CUDA_LIBRARY=driver)
        for size, is_measured in ((1 << 30, True), ((1 << 30) - 4096, False)):
            model = write_safetensors(self.folder / "hole.safetensors", {}, sparse_bytes=size)
            words = ["load", str(model), "--device", "nvidia:0", "--verify", "none"]
            result = run(*words, "--format", "json", environment=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            document = self.assert_document(result.stdout, "load.schema.json")
            limits = document["limits"]
            self.assertEqual(limits["h2d_bytes_per_s"] is not None, is_measured)
            if not is_measured:
                self.assertIsNone(document["share_of_limit"])
                continue
            lower = min(rate for rate in limits.values() if rate is not None)
            self.assertAlmostEqual(document["share_of_limit"],
                                   size / document["load_time_s"] / lower, delta=0.001)
            result = run(*words, environment=environment)
            # A file that is not in the page cache is read at the rate of its disk.
            self.assertRegex(result.stdout, r"^loaded 1\.00 GiB on nvidia:0 in [^,]*, "
                             r"(\d+ % of the (link|read rate)|read at \S+ .?B/s), not verified\n")
            self.assertIn("(64 MiB pinned copies in a plain loop)", result.stdout)

    def test_a_limit_that_the_load_beats_is_measured_twice_and_not_given(self):
        driver = os.environ.get("FAKE_CUDA")
        if driver is None:
            self.skipTest("no fake driver was named")
        model = write_safetensors(self.folder / "hole.safetensors", {}, sparse_bytes=1 << 30)
        words = ["load", str(model), "--device", "nvidia:0", "--verify", "none"]
        # By the device's events copies run at 1 MB/s, by the host's clock as fast as they can.
        environment = clean_environment(HIPTOOL_CUDA_LIBRARY=driver,
                                        FAKE_CUDA_RATE=f"0.001:0:0:{self.folder / 'count'}")
        result = run(*words, "--format", "json", environment=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.assert_document(result.stdout, "load.schema.json")
        self.assertIsNone(document["limits"]["h2d_bytes_per_s"])
        self.assertIsNone(document["share_of_limit"])
        reason = document["share_reason"]
        self.assertRegex(reason, r"^the link carried 1\.00 MB/s and, measured again, 1\.00 MB/s, "
                                 r"the load .*B/s: not its limit$")
        shown = document["shown"]
        self.assertNotIn("of the link", shown["lines"][0]["text"])
        self.assertIn("limits  " + reason, [line["text"] for line in shown["lines"]])

    def test_table(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        environment = clean_environment(TMPDIR=str(temporary))
        for words in ([str(self.model)], [str(self.model), "--tensors"], ["--demo"]):
            result = run("load", *words, "--device", "cpu", environment=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"^verified \S+ [KM]iB on cpu:0 in ")
            self.assert_width(result.stdout)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_demo_has_a_temporary_folder_of_its_own_or_none(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        result = run("load", "--demo", "--dry-run", "--format", "json",
                     environment=clean_environment(TMPDIR=str(temporary)))
        path = pathlib.Path(json.loads(result.stdout)["model"]["path"])
        self.assertEqual(path.parent.parent, temporary)
        self.assertRegex(path.parent.name, r"^hiptool-demo-\w{6}$")
        self.assertEqual(list(temporary.iterdir()), [])
        absent = self.folder / "absent"
        result = run("load", "--demo", "--device", "cpu",
                     environment=clean_environment(TMPDIR=str(absent)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("verified", result.stdout.splitlines()[0])
        result = run("load", "--demo", "--device", "cpu", environment=clean_environment(TMPDIR=""))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_time_of_a_demo_is_that_of_its_load(self):
        # Making the file takes a quarter of a second and more. A busy machine only delays, so one
        # load without such a delay shows that no time counts the making.
        delays = []
        for _ in range(8):
            load = json.loads(run("load", "--demo", "--device", "cpu", "--format", "json").stdout)
            phases = {phase["name"]: phase for phase in load["phases"]}
            self.assertNotIn("make", phases)
            self.assertEqual(next(iter(phases)), "parse")
            ends = max(phase["start_s"] + phase["duration_s"] for phase in phases.values())
            delays.append((phases["parse"]["start_s"], load["verdict_time_s"] - ends))
            if delays[-1][0] < 0.05 and delays[-1][1] < 0.15:
                return
        self.fail(f"seconds before the first phase and after the last one: {delays}")

    def test_a_folder_with_a_slash_at_its_end_has_its_name(self):
        folder = self.folder / "folder"
        folder.mkdir()
        self.model.rename(folder / "model.safetensors")
        for path in (folder, f"{folder}/"):
            self.assertIn("\nmodel   folder: safetensors,", run("load", path, "--device",
                                                               "cpu").stdout)

    def test_dry_run_opens_no_driver(self):
        self.assertNotRegex(program.libraries_looked_for("load", str(self.model), "--dry-run"),
                            program.DRIVERS)

    def test_wrong_usage(self):
        model = str(self.model)
        for words in ([], [model, model, "--trace", "t"], ["--demo", model],
                      [model, "--verify", "published"], [model, "--verify", "sometimes"],
                      [model, "--self-test", "--dry-run"],
                      [model, "--self-test", "--verify", "readback"], [model, "--device", "gpu"]):
            with self.subTest(words):
                result = run("load", *words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("hint: ", result.stderr)

    def test_bad_files(self):
        whole = self.model.read_bytes()
        for name, data in (("empty", b""), ("junk", os.urandom(1000)), ("short", whole[:-1]),
                           ("long", whole + b"x"), ("page", b"<!DOCTYPE html><html></html>"),
                           ("pointer", b"version https://git-lfs.github.com/spec/v1\n")):
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(data)
                document = self.load(str(path), code=4)
                self.assertEqual(document["status"], "failed")
                self.assertIn(name, document["error"]["message"])
                result = run("load", str(path))
                self.assertEqual((result.returncode, result.stdout), (4, ""))
                self.assertIn("hint: ", result.stderr)
        self.assertEqual(self.load(str(self.folder / "absent"), code=4)["error"]["code"],
                         "input_failed")
        empty = self.folder / "no-model"
        empty.mkdir()
        self.assertEqual(self.load(str(empty), code=4)["error"]["code"], "input_failed")

    def test_warnings_reach_programs(self):
        lone = write_safetensors(self.folder / "model-00001-of-00002.safetensors",
                                 {"a": os.urandom(100)})
        document = self.load(str(lone))
        self.assertEqual(len(document["model"]["warnings"]), 1)
        self.assertIn("index", document["model"]["warnings"][0])

    def test_a_folder_of_several_models(self):
        folder = self.folder / "several"
        folder.mkdir()
        for name in ("a.gguf", "b.gguf"):
            done = run("make-model", str(folder / name), "--size", "64KiB", "--tensors", "2")
            self.assertEqual(done.returncode, 0, done.stderr)
        error = self.load(str(folder), code=2)["error"]
        self.assertEqual(error["code"], "invalid_argument")
        self.assertIn("holds 2 GGUF models: 'a.gguf', 'b.gguf'", error["message"])
        self.assertIn(str(folder / "a.gguf"), error["hint"])
        write_safetensors(folder / "c.safetensors", {"a": os.urandom(100)})
        document = self.load(str(folder))
        self.assertEqual(document["model"]["format"], "safetensors")
        self.assertEqual(len(document["model"]["warnings"]), 1)
        result = run("load", str(folder), "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the folder holds 3 models; this is 'c.safetensors'; "
                      "name one of 'a.gguf', 'b.gguf' to load it",
                      " ".join(result.stdout.split()))

    def test_too_large_for_the_device(self):
        huge = write_safetensors(self.folder / "huge.safetensors", {}, sparse_bytes=1 << 43)
        document = self.load(str(huge), code=3)
        self.assertEqual(document["error"]["code"], "out_of_memory")
        self.assertIn("8.00 TiB", document["error"]["message"])
        self.assertEqual(self.load(str(huge), "--dry-run", code=3)["status"], "failed")

    def test_interrupted(self):
        large = write_safetensors(self.folder / "large.safetensors", {}, sparse_bytes=128 << 20)
        result = self.interrupt("copy:2", "load", str(large), "--device", "nvidia:0", "--format",
                                "json", environment=clean_environment(
                                    HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]))
        self.assertEqual(result.returncode, 130, result.stderr)
        document = self.assert_document(result.stdout, "load.schema.json")
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual(document["error"]["code"], "cancelled")
        self.assertIn("load", [phase["name"] for phase in document["phases"]])

    def test_an_interrupted_check_of_values_keeps_what_was_found(self):
        """The kernel is held; once it runs, its counts are there, as is the verification."""
        path = self.folder / "values.gguf"
        run("make-model", str(path), "--architecture", "llama", "-q")
        for output in ("json", "table"):
            with self.subTest(output=output):
                result = self.interrupt("hiptool_value_check", "load", str(path), "--device",
                                        "nvidia:0", "--check-tensors", "--format", output,
                                        environment=clean_environment(
                                            HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]))
                self.assertEqual(result.returncode, 130, result.stderr)
                if output == "table":
                    self.assertRegex(result.stdout,
                                     r"^interrupted, verified 1\.20 MiB on nvidia:0 ")
                    self.assertIn("values  315 648 floats and scales checked before the interrupt, "
                                  "all finite\n", result.stdout)
                    continue
                document = self.assert_document(result.stdout, "load.schema.json")
                self.assertEqual((document["status"], document["passed"]), ("interrupted", False))
                self.assertEqual(len(document["verify"]["digest"]), 16)
                self.assertEqual(document["values"]["checked"], 315_648)

    def test_a_folder_that_is_named_by_a_dot_has_its_name(self):
        only = self.folder / "only"
        only.mkdir()
        self.model.rename(only / self.model.name)
        for words in (("load", ".", "--device", "cpu"), ("load", "../only/", "--device", "cpu")):
            result = run(*words, cwd=only)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("\nmodel   only: safetensors", result.stdout)

    def test_second_signal_ends_a_driver_that_hangs(self):
        driver = os.environ.get("FAKE_CUDA")
        if driver is None:
            self.skipTest("no fake driver was named")
        if program.is_sanitized("tsan"):
            self.skipTest("the thread sanitizer may keep a second signal back for ever")
        hold = self.hold("init")
        with program.start("devices", environment=clean_environment(
                HIPTOOL_CUDA_LIBRARY=driver, **hold.variables)) as process:
            hold.wait(process)
            process.send_signal(signal.SIGTERM)
            program.read_until(process.stderr, "interrupted, stopping")
            self.assertIsNone(process.poll())
            program.second_signal(process, signal.SIGTERM)
            process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 143)

    def test_closed_pipe_keeps_the_verdict(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = run("load", str(self.model), "--device", "cpu", "-q", stdout=writer)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    program.main(__doc__)
