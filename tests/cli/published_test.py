# SPDX-License-Identifier: MIT
"""`hiptool load --verify published`, against hashes worked out here.

Usage: published_test.py PROGRAM [unittest options].
"""
import hashlib
import os
import subprocess

import program
from program import CliTest, clean_environment, run


class Published(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.gguf"
        run("make-model", str(self.model), "--size", "100KiB", "--tensors", "3")
        self.hash = hashlib.sha256(self.model.read_bytes()).hexdigest()

    def load(self, path, code=0):
        done = run("load", str(path), "--device", "cpu", "--format", "json", "--verify",
                   "published")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.assert_document(done.stdout, "load.schema.json")

    def places(self, name):
        """The model where hashes are published, with that one for its name."""
        blobs = self.folder / "cache" / "models--a--b" / "blobs"
        snapshot = self.folder / "cache" / "models--a--b" / "snapshots" / "r"
        ollama = self.folder / "ollama"
        local = self.folder / "local" / "sub"
        notes = self.folder / "local" / ".cache" / "huggingface" / "download" / "sub"
        for folder in (blobs, snapshot, ollama, local, notes):
            folder.mkdir(parents=True, exist_ok=True)
        data = self.model.read_bytes()
        (blobs / name).write_bytes(data)
        (snapshot / "m.gguf").unlink(missing_ok=True)
        (snapshot / "m.gguf").symlink_to(os.path.relpath(blobs / name, snapshot))
        (ollama / f"sha256-{name}").write_bytes(data)
        (local / "m.gguf").write_bytes(data)
        (notes / "m.gguf.metadata").write_text(f"{'a' * 40}\n{name}\n1700000000.5\n")
        return [blobs / name, snapshot / "m.gguf", ollama / f"sha256-{name}", local / "m.gguf"]

    def test_a_file_as_it_was_published(self):
        for path in self.places(self.hash):
            document = self.load(path)
            self.assertEqual(document["status"], "verified")
            self.assertEqual(document["verify"]["published"],
                             [{"file": str(path), "published": self.hash, "found": self.hash}])
            self.assertEqual(document["verify"]["mode"], "published")
            self.assertIsNotNone(document["verify"]["digest"])

    def test_another_file_than_was_published(self):
        for path in self.places("0" * 64):
            document = self.load(path, 4)
            self.assertEqual(document["status"], "failed")
            self.assertEqual(document["error"]["code"], "manifest_mismatch")
            self.assertIn(str(path), document["error"]["message"])
            self.assertEqual(document["verify"]["published"][0]["found"], self.hash)

    def test_a_damaged_header_counts_too(self):
        path = self.places(self.hash)[3]
        data = bytearray(path.read_bytes())
        place = data.index(b"general.") + 8   # of a metadata key, in no tensor
        data[place] ^= 1
        path.write_bytes(data)
        self.assertEqual(self.load(path, 4)["error"]["code"], "manifest_mismatch")

    def test_no_published_hash_is_wrong_usage(self):
        done = run("load", str(self.model), "--device", "cpu", "--verify", "published")
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(self.model), done.stderr)
        self.assertIn("Ollama", done.stderr)
        notes = self.folder / ".cache" / "huggingface" / "download"
        notes.mkdir(parents=True)
        for text in (f"{'a' * 40}\n{'b' * 40}\n1\n", "", "\n\n\n", self.hash, f"\n{self.hash}x\n"):
            (notes / "m.gguf.metadata").write_text(text)
            done = run("load", str(self.model), "--device", "cpu", "--verify", "published")
            self.assertEqual(done.returncode, 2, text)

    def test_sha256_agrees_with_the_system(self):
        path = self.places(self.hash)[3]
        done = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True,
                              env=clean_environment())
        self.assertEqual(self.load(path)["verify"]["published"][0]["found"],
                         done.stdout.split()[0])


if __name__ == "__main__":
    program.main(__doc__)
