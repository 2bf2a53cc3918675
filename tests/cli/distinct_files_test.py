# SPDX-License-Identifier: MIT
"""No output replaces an input or another output, in any command.

Usage: distinct_files_test.py PROGRAM [unittest options].
"""
import json
import os
import shutil

import program
from program import CliTest, run


class DistinctFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.gguf"
        result = run("make-model", self.model, "--size", "64KiB")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.file = self.folder / "file"
        self.file.write_bytes(b"\0" * 64)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def assert_refused(self, first, second, *words):
        """A usage error that names both, before anything was touched."""
        before = self.contents()
        result = run(*words)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn(f"error: {first} and {second} name the same file, ", result.stderr)
        self.assertIn(f"hint: choose another file for {first}", result.stderr)
        self.assertEqual(self.contents(), before)

    def names(self, path):
        """The same file under other names."""
        symbolic, hard = self.folder / "symbolic", self.folder / "hard"
        for link in (symbolic, hard):
            link.unlink(missing_ok=True)
        symbolic.symlink_to(path)
        os.link(path, hard)
        return path, symbolic, hard, self.folder / "." / "x" / ".." / path.name

    def test_load_and_its_model(self):
        (self.folder / "x").mkdir()
        load = ("load", self.model, "--device", "cpu")
        for name in self.names(self.model):
            self.assert_refused("--export json", "the model", *load, "--export", f"json={name}")
            self.assert_refused("--trace", "the model", *load, "--trace", name)
            self.assert_refused("--write-manifest", "the model", *load, "--write-manifest", name)

    def test_load_and_what_belongs_to_its_model(self):
        folder = self.folder / "model"
        folder.mkdir()
        result = run("make-model", folder / "m.safetensors", "--size", "64KiB", "--shards", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        index = next(folder.glob("*.index.json"))
        shard = sorted(folder.glob("*.safetensors"))[1]
        config = folder / "config.json"
        config.write_text("{}", encoding="utf-8")
        before = {path: path.read_bytes() for path in folder.iterdir()}
        for file in (index, shard, config):
            for output in (["--export", f"json={file}"], ["--trace", file],
                           ["--write-manifest", file]):
                result = run("load", folder, "--device", "cpu", *output)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, "name the same file|no earlier --write-manifest")
                self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}, before)

    def test_load_and_its_other_files(self):
        manifest, new = self.folder / "manifest.json", self.folder / "new"
        load = ("load", self.model, "--device", "cpu")
        self.assertEqual(run(*load, "--write-manifest", manifest).returncode, 0)
        for option in ("--trace", "--write-manifest"):
            self.assert_refused(option, "--check-manifest", *load, "--check-manifest", manifest,
                                option, manifest)
            self.assert_refused("--export prom", option, *load, option, new, "--export",
                                f"prom={self.folder / '.' / 'new'}")
        self.assert_refused("--write-manifest", "--trace", *load, "--trace", new,
                            "--write-manifest", new)

    def test_run_kernel(self):
        source = self.folder / "k.cu"
        source.write_text("__global__ void k(int* x) { *x = 1; }", encoding="utf-8")
        kernel = ("run-kernel", "--device", "cpu", "--module", source, "--grid", "1", "--block",
                  "1", "--arg", f"buf:i32:4:file:{self.file}")
        for path, name in ((source, "--module"), (self.file, "--arg of argument 0")):
            self.assert_refused(f"--out 0:{path}", name, *kernel, "--out", f"0:{path}")
            self.assert_refused("--export json", name, *kernel, "--export", f"json={path}")
        want, new = self.folder / "want", self.folder / "new"
        want.write_bytes(b"\0" * 16)
        self.assert_refused(f"--out 0:{want}", f"--expect 0:{want}", *kernel, "--expect",
                            f"0:{want}", "--out", f"0:{want}")
        self.assert_refused(f"--out 0:{new}", f"--out 0:{new}", *kernel, "--out", f"0:{new}",
                            "--out", f"0:{new}")
        self.assert_refused("--export csv", f"--out 0:{new}", *kernel, "--out", f"0:{new}",
                            "--export", f"csv={new}")

    def test_thresholds_and_baselines(self):
        thresholds = self.folder / "thresholds"
        thresholds.write_text("h2d>=1MB/s\n", encoding="utf-8")
        for command in (("run-kernel", "memset"), ("bench-copy",)):
            self.assert_refused("--export json", "--fail-below", *command, "--device", "cpu",
                                "--fail-below", f"@{thresholds}", "--export",
                                f"json={thresholds}")
        self.assert_refused("--export json", "--baseline", "bench-copy", "--device", "cpu",
                            "--baseline", self.file, "--export", f"json={self.file}")

    def test_report(self):
        document = self.folder / "run.json"
        self.assertEqual(
            run("devices", "--platform", "cpu", "--export", f"json={document}").returncode, 0)
        shutil.copy(document, self.folder / "other.json")
        self.assert_refused("--export html", "the input", "report", "render", document,
                            "--export", f"html={document}")
        merge = ("report", "merge", document, self.folder / "other.json")
        self.assert_refused("--exclude-list", "the input", *merge, "--exclude-list", document)
        new = self.folder / "new"
        self.assert_refused("--export json", "--exclude-list", *merge, "--exclude-list", new,
                            "--export", f"json={new}")

    def test_make_model_and_devices(self):
        new = self.folder / "new.gguf"
        self.assert_refused("--export json", "the model", "make-model", new, "--export",
                            f"json={new}")
        self.assert_refused("--export csv", "--export json", "devices", "--platform", "cpu",
                            "--export", f"json={new}", "--export", f"csv={new}")

    def test_make_model_replaces_only_with_force(self):
        before = self.contents()
        again = ("make-model", self.model, "--size", "64KiB", "--seed", "2")
        result = run(*again)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"error: {self.model} already exists", result.stderr)
        self.assertIn("hint: choose another name, or use --force to replace it", result.stderr)
        self.assertEqual(self.contents(), before)
        self.assertEqual(run(*again, "--force").returncode, 0)
        self.assertNotEqual(self.contents(), before)
        shards = ("make-model", self.folder / "s.gguf", "--size", "64KiB", "--shards", "2")
        self.assertEqual(run(*shards).returncode, 0)
        (self.folder / "s-00001-of-00002.gguf").unlink()
        result = run(*shards)
        self.assertEqual(result.returncode, 2)
        self.assertIn("s-00002-of-00002.gguf already exists", result.stderr)
        self.assertFalse((self.folder / "s-00001-of-00002.gguf").exists())
        folder = self.folder / "folder.gguf"
        folder.mkdir()
        self.assertEqual(run("make-model", folder, "--size", "64KiB").returncode, 7)

    def test_what_is_no_regular_file_may_be_named_twice(self):
        result = run("devices", "--platform", "cpu", "--export", "json=/dev/null", "--export",
                     "csv=/dev/null")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = self.folder / "out.json"
        for _ in range(2):   # one's own earlier result is replaced
            result = run("load", self.model, "--device", "cpu", "--export", f"json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["status"], "verified")


if __name__ == "__main__":
    program.main(__doc__)
