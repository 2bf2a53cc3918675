# SPDX-License-Identifier: MIT
"""`hiptool load --verify published`, against hashes worked out here.

Usage: published_test.py PROGRAM [unittest options].
"""
import hashlib
import json
import os
import re
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
                             [{"file": str(path), "published": self.hash, "found": self.hash,
                               "source": ".cache/huggingface/download" if "local" in str(path)
                               else "the name of its blob"}])
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
            self.assertIn("FILE.sha256", " ".join(done.stderr.split()))

    def lists(self, digest):
        """Names and texts of lists of hashes, as coreutils and people write them."""
        yield "SHA256SUMS", f"{'1' * 64}  other.gguf\n{digest}  m.gguf\n"
        yield "SHA256SUMS.txt", f"{digest} *./m.gguf\r\n"
        yield "sha256sums.txt", f"SHA256 (m.gguf) = {digest}\n"
        yield "sha256sum.txt", f"# sums\n{digest.upper()}  m.gguf"
        yield "m.gguf.sha256", f"{digest}\n"
        yield "m.gguf.sha256sum", f"{digest}  m.gguf\n"
        yield "SHA256SUMS", f"{digest} m.gguf\n"
        yield "checksums.txt", f"{digest}\tm.gguf\n"
        yield "Sha256Sums", f"  {digest}   m.gguf  \n"
        yield "release.sha256", f"SHA2-256(m.gguf)= {digest}\n"
        yield "m.gguf.SHA256", f"sha256:{digest}  m.gguf\n"
        yield "SHA256SUMS", f"{digest}  {self.model}\n"
        yield "SHA256.txt", f"Algorithm  Hash  Path\r\nSHA256  {digest.upper()}  C:\\a\\m.gguf\r\n"
        # github.com/iotaledger/iota/issues/6122: the columns reversed.
        yield "checksum.txt", f"n.gguf {'1' * 64}\nm.gguf {digest}\n"
        yield "SHA256SUMS", f"m.gguf: {digest}\n"
        yield "checksums.txt", f"| File | SHA-256 |\n|---|---|\n| m.gguf | `{digest}` |\n"
        yield "sha256.txt", f'{{\n  "n.gguf": "{"1" * 64}",\n  "m.gguf": "{digest}"\n}}\n'
        # github.com/ggml-org/llama.cpp/issues/238: Get-FileHash cuts names; its list; a pipe.
        yield "m.gguf.sha256", f"SHA256          {digest.upper()}       D:\\llama\\backup\\m...\r\n"
        yield "m.gguf.sha256", f"Algorithm : SHA256\nHash      : {digest}\nPath      : C:\\x\\m\n"
        yield "m.gguf.sha256", f"{digest}  -\n"
        yield "m.gguf.sha256", f'"{digest}"\n'

    def test_lists_of_hashes_beside_the_file(self):
        for digest, code in ((self.hash, 0), ("0" * 64, 4)):
            for name, text in self.lists(digest):
                with self.subTest(name=name, code=code):
                    (self.folder / name).write_text(text, newline="")
                    found, = self.load(self.model, code)["verify"]["published"]
                    self.assertEqual((found["published"], found["found"], found["source"]),
                                     (digest, self.hash, name))
                    part, = json.loads(run("inspect", str(self.model), "--format",
                                           "json").stdout)["models"][0]["parts"]
                    self.assertEqual((part["sha256"], part["sha256_source"]), (digest, name))
                    (self.folder / name).unlink()

    def mentioned(self, *words):
        """The line about hashes of a load, and the field of its document."""
        saved = self.folder / "saved.json"
        done = run("load", *map(str, words), "--device", "cpu", f"--export=json={saved}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_width(done.stdout)
        document = self.assert_document(saved.read_text(encoding="utf-8"), "load.schema.json")
        # Waiting for SHA-256 is a phase, whose line has seconds.
        lines = [line for line in done.stdout.splitlines()
                 if ("sha256 " in line or "not compared" in line)
                 and not re.match(r"sha256 +[\d.]+ (ns|us|ms|s) ", line)]
        field = document.get("verify", {}).get("uncompared_hashes")
        return ("\n".join(lines), field)

    def test_a_list_that_is_not_compared_is_mentioned(self):
        self.assertEqual(self.mentioned(self.model), ("", None))
        for name, text in self.lists("0" * 64):   # the wrong hash is not compared either
            (self.folder / name).write_text(text, newline="")
            line = f"not compared with {name}; use --verify published"
            for mode in ("auto", "full", "fast", "readback", "none"):
                self.assertEqual(self.mentioned(self.model, "--verify", mode),
                                 (f"sha256  {line}", name))
            several = self.mentioned(self.model, self.model)[0]
            self.assertEqual(several, f"m.gguf: {line}")
            self.assertEqual(self.mentioned(self.model, "--dry-run"), ("", None))
            (self.folder / name).unlink()
        sums = self.folder / "SHA256SUMS"
        sums.write_text(f"{self.hash}  m.gguf\n")
        self.assertEqual(self.mentioned(self.model, "--verify", "published"),
                         ("sha256  as published for the file by SHA256SUMS", None))
        self.assertEqual(self.mentioned(self.model, "--sha256", self.hash),
                         ("sha256  as given", None))
        sums.write_text(f"{self.hash}  other.gguf\n"
                        f"sha256  {'0' * 64}  m.gguf\n")   # llama-gguf-hash: of all tensors
        self.assertEqual(self.mentioned(self.model), ("", None))
        sums.write_text(f"{self.hash}  m.gguf\n{'0' * 64}  m.gguf\n")
        self.assertEqual(self.mentioned(self.model)[1], "SHA256SUMS")

    def test_a_blob_that_is_not_compared_is_mentioned(self):
        for path in self.places("0" * 64):
            source = (".cache/huggingface/download" if "local" in str(path)
                      else "the name of its blob")
            self.assertEqual(self.mentioned(path), (
                f"sha256  not compared with {source}; use --verify published", source))

    def test_lists_that_do_not_name_the_file(self):
        sums = self.folder / "SHA256SUMS"
        for text in ("", f"{self.hash}  n.gguf\n", f"{self.hash}  sub/m.gguf\n", f"{self.hash}\n",
                     f"{self.hash[:-1]}  m.gguf\n", f"{self.hash}-m.gguf\n", "\0" * 100,
                     f"SHA256 (n.gguf) = {self.hash}\n", f"{self.hash}  am.gguf\n",
                     f"n.gguf {self.hash}\n", f"sub/m.gguf: {self.hash}\n",
                     f"m.gguf{self.hash}\n", f"m.gguf {self.hash} {'0' * 64}\n",
                     f"m.gguf {self.hash} n.gguf\n", f"{self.hash}  -\n"):
            sums.write_text(text)
            done = run("load", str(self.model), "--device", "cpu", "--verify", "published")
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("no line for it in SHA256SUMS", " ".join(done.stderr.split()))
        sums.write_text(f"{self.hash}  m.gguf\n{'0' * 64}  m.gguf\n")
        self.assertEqual(self.load(self.model, 4)["error"]["code"], "corrupt_data")
        sums.unlink()
        # In a list for the file: of another one, of tensors, or several.
        own = self.folder / "m.gguf.sha256"
        for text in (f"{self.hash}  n.gguf\n", f"sha256  {self.hash}  m.gguf\n",
                     f"a: {self.hash}\nb: {'0' * 64}\n", f"Hash {self.hash}\n- {'0' * 64}\n"):
            own.write_text(text)
            done = run("load", str(self.model), "--device", "cpu", "--verify", "published")
            self.assertEqual(done.returncode, 2, text)

    def test_lists_of_windows(self):
        sums = self.folder / "SHA256SUMS"
        text = f"{self.hash}  m.gguf\r\n"
        for raw in (b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16"),
                    b"\xfe\xff" + text.encode("utf-16-be")):
            sums.write_bytes(raw)
            self.assertEqual(self.load(self.model)["verify"]["published"][0]["source"],
                             "SHA256SUMS")

    def test_all_lists_agree(self):
        (self.folder / "SHA256SUMS").write_text(f"{self.hash}  m.gguf\n")
        (self.folder / "m.gguf.sha256").write_text(f"{self.hash}\n")
        self.load(self.model)
        self.load_given(self.hash)
        (self.folder / "checksums.txt").write_text(f"{'0' * 64}  m.gguf\n")
        for document in (self.load(self.model, 4), self.load_given(self.hash, code=4)):
            self.assertEqual(document["error"]["code"], "corrupt_data")
            self.assertIn("checksums.txt", document["error"]["message"])
        (self.folder / "checksums.txt").unlink()
        # A name that is a hash is one more.
        blob = self.folder / "blobs" / ("1" * 64)
        blob.parent.mkdir()
        blob.write_bytes(self.model.read_bytes())
        (blob.parent / "SHA256SUMS").write_text(f"{self.hash}  {blob.name}\n")
        self.assertEqual(self.load(blob, 4)["error"]["code"], "corrupt_data")

    def test_a_long_list_is_read_whole(self):
        line = f"{'1' * 64}  other.gguf\n"
        (self.folder / "SHA256SUMS").write_text(line * 20_000 + f"{self.hash}  m.gguf\n")
        self.load(self.model)

    def test_a_list_that_cannot_be_read(self):
        sums = self.folder / "SHA256SUMS"
        with open(sums, "wb") as file:
            file.truncate(65 << 20)
        document = self.load(self.model, 4)
        self.assertIn("SHA256SUMS", document["error"]["message"])
        self.assertEqual(self.mentioned(self.model)[1], "SHA256SUMS")
        sums.unlink()
        os.mkfifo(sums)   # is no list, and must not be waited for
        self.load(self.model, 2)

    def test_a_name_that_sha256sum_escapes(self):
        path = self.folder / "a\\b\nc.gguf"
        path.write_bytes(self.model.read_bytes())
        done = subprocess.run(["sha256sum", path.name], capture_output=True, check=True,
                              cwd=self.folder, env=clean_environment())
        (self.folder / "SHA256SUMS").write_bytes(done.stdout)
        self.assertEqual(self.load(path)["status"], "verified")

    def load_given(self, *hashes, path=None, words=(), code=0):
        options = [word for one in hashes for word in ("--sha256", one)]
        done = run("load", str(path or self.model), "--device", "cpu", "--format", "json", *options,
                   *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.assert_document(done.stdout, "load.schema.json")

    def test_a_given_hash(self):
        for text in (self.hash, self.hash.upper(), "sha256:" + self.hash):
            document = self.load_given(text)
            self.assertEqual((document["status"], document["verify"]["published"]),
                             ("verified", [{"file": str(self.model), "published": self.hash,
                                            "found": self.hash, "source": None}]))
        document = self.load_given("0" * 64, code=4)
        self.assertEqual(document["error"]["code"], "manifest_mismatch")
        for digest in (self.hash, "0" * 64):
            self.assertIn(digest, document["error"]["message"])
        # What is published must agree.
        (self.folder / "SHA256SUMS").write_text(f"{'0' * 64}  m.gguf\n")
        document = self.load_given(self.hash, code=4)
        self.assertEqual(document["error"]["code"], "corrupt_data")
        self.assertIn("SHA256SUMS", document["error"]["message"])

    def test_a_given_hash_that_cannot_be_compared(self):
        for hashes, words in (((self.hash[:-1],), ()), (("",), ()), ((self.hash,) * 2, ()),
                              ((self.hash,), ("--dry-run",)),
                              ((self.hash,), ("--verify", "none")),
                              ((self.hash,), ("--verify", "fast")),
                              ((self.hash,), ("--verify", "readback"))):
            document = self.load_given(*hashes, words=words, code=2)
            self.assertEqual(document["error"]["code"], "invalid_argument")

    def test_hashes_of_a_set(self):
        run("make-model", str(self.folder / "s.gguf"), "--size", "100KiB", "--shards", "2")
        paths = [self.folder / f"s-0000{number}-of-00002.gguf" for number in (1, 2)]
        hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        self.load_given(*hashes, path=paths[0])
        self.load_given(*reversed(hashes), path=paths[0], code=4)
        self.load_given(hashes[0], path=paths[0], code=2)

    def test_sha256_agrees_with_the_system(self):
        path = self.places(self.hash)[3]
        done = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True,
                              env=clean_environment())
        self.assertEqual(self.load(path)["verify"]["published"][0]["found"],
                         done.stdout.split()[0])


if __name__ == "__main__":
    program.main(__doc__)
