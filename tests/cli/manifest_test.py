# SPDX-License-Identifier: MIT
"""Manifests of `hiptool load`, against hashes worked out here.

Usage: manifest_test.py PROGRAM [unittest options].
"""
import hashlib
import json
import pathlib
import resource
import signal
import struct

import program
from program import CliTest, clean_environment, run

try:
    import xxhash
except ImportError:
    xxhash = None

HASHES = {"sha256": hashlib.sha256}
if xxhash:
    HASHES.update({"xxh64": xxhash.xxh64, "xxh3": xxhash.xxh3_64})


def gguf_tensors(path):
    """Name and bytes of each tensor in the order of its offset, by a reader of GGUF 3 that knows
    what `make-model` writes: F32, F16, Q4_0 and so on by their sizes alone."""
    data = path.read_bytes()
    place = 0

    def take(form):
        nonlocal place
        values = struct.unpack_from("<" + form, data, place)
        place += struct.calcsize("<" + form)
        return values[0]

    def text():
        nonlocal place
        size = take("Q")
        place += size
        return data[place - size:place].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take("BbHhIifB??QqdB"[kind] if kind < 8 else {10: "Q", 11: "q", 12: "d"}[kind])

    assert data[:4] == b"GGUF"
    place = 4
    assert take("I") == 3
    tensors, keys = take("Q"), take("Q")
    alignment = 32
    for _ in range(keys):
        name = text()
        found = value(take("I"))
        if name == "general.alignment":
            alignment = found
    infos = []
    for _ in range(tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))]
        infos.append((take("I"), shape, name, take("Q")))
    start = -(-place // alignment) * alignment
    blocks = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210),
              30: (1, 2)}
    found = []
    for kind, shape, name, offset in sorted(infos, key=lambda info: info[3]):
        elements, size = blocks[kind]
        count = 1
        for extent in shape:
            count *= extent
        found.append((name, data[start + offset:start + offset + count // elements * size]))
    return found


def expected_lines(path, name):
    """What llama-gguf-hash prints for one file."""
    whole = HASHES[name]()
    lines = []
    for tensor, data in gguf_tensors(path):
        lines.append(f"{name:<8}  {HASHES[name](data).hexdigest()}  {path}:{tensor}")
        whole.update(data)
    return lines + [f"{name:<8}  {whole.hexdigest()}  {path}"]


class Manifest(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.make("m.gguf")

    def make(self, name, *words, seed="1"):
        path = self.folder / name
        done = run("make-model", str(path), "--size", "300KiB", "--tensors", "5", "--seed", seed,
                   *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def load(self, model, *words, code=0, **options):
        done = run("load", str(model), "--device", "cpu", "--format", "json", *words, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.assert_document(done.stdout, "load.schema.json")

    def write(self, name, model=None, *words):
        manifest = self.folder / name
        document = self.load(model or self.model, "--write-manifest", str(manifest), *words)
        self.assertEqual(document["status"], "verified")
        self.assertEqual(document["manifest"],
                         {"checked": None, "written": str(manifest), "algorithm": None,
                          "covers_metadata": None, "differences": []})
        return manifest

    def check(self, manifest, model=None, code=0, *words):
        document = self.load(model or self.model, "--check-manifest", str(manifest), *words,
                             code=code)
        if code == 0:
            self.assertEqual(document["manifest"]["checked"], str(manifest))
            return None
        self.assertEqual(document["status"], "failed")
        self.assertIsNone(document["manifest"]["checked"])
        self.differences = document["manifest"]["differences"]
        return document["error"]

    def damage(self, model, tensor):
        """Flips a bit in the middle of a tensor."""
        data = dict(gguf_tensors(model))[tensor]
        content = bytearray(model.read_bytes())
        content[content.index(data) + len(data) // 2] ^= 1
        model.write_bytes(content)

    def test_lines_are_those_of_llama_gguf_hash(self):
        if not xxhash:
            self.skipTest("the package xxhash is not installed")
        for name in HASHES:
            manifest = self.write("m." + name)
            self.assertEqual(manifest.read_text().splitlines(),
                             expected_lines(self.model, name))
            self.check(manifest)

    def test_lines_of_a_set_are_those_of_its_files(self):
        self.make("set.gguf", "--shards", "3")
        shards = sorted(self.folder.glob("set-*.gguf"))
        self.assertEqual(len(shards), 3)
        manifest = self.write("set.sha256", shards[0])
        lines = [line for shard in shards for line in expected_lines(shard, "sha256")]
        self.assertEqual(manifest.read_text().splitlines(), lines)
        self.check(manifest, shards[1])
        moved = [line.replace(f"{shards[2]}:", f"{shards[0]}:") for line in lines]
        manifest.write_text("\n".join(moved) + "\n")
        self.assertIn("is only in the manifest", self.check(manifest, shards[1], 4)["message"])
        manifest.write_text("\n".join(lines[:-1]) + "\n")   # each tensor of it is still there
        self.check(manifest, shards[1])
        manifest.write_text("\n".join(line for line in lines if str(shards[2]) not in line) + "\n")
        self.assertIn(str(shards[2]), self.check(manifest, shards[1], 4)["message"])

    def test_digests_are_those_of_the_document(self):
        manifest = json.loads(self.write("m.json").read_text())
        document = self.load(self.model, "--tensors")
        self.assertEqual(manifest["schema"], "hiptool.manifest/1")
        self.assertEqual(manifest["digest"], document["verify"]["digest"])
        keys = ("name", "dtype", "shape", "bytes", "digest")
        self.assertEqual([[tensor[key] for key in keys] for tensor in manifest["tensors"]],
                         [[tensor[key] for key in keys] for tensor in document["tensors"]])

    def metadata_of(self, model):
        """All bytes outside tensors: the tensors are random, so each is found once."""
        rest = model.read_bytes()
        for _, data in gguf_tensors(model):
            self.assertEqual(rest.count(data), 1)
            rest = rest.replace(data, b"")
        return rest

    def test_metadata_and_sha256_are_those_of_other_programs(self):
        self.make("set.gguf", "--shards", "3")
        shards = sorted(self.folder.glob("set-*.gguf"))
        for models in ([self.model], shards):
            name = models[0].stem
            plain = json.loads(self.write(name + ".json", models[0]).read_text())
            strong = json.loads(self.write(name + ".strong.json", models[0], "--manifest-digest",
                                           "sha256").read_text())
            for manifest in (plain, strong):
                self.assertEqual([file["file"] for file in manifest["metadata"]],
                                 [model.name for model in models])
                self.assertIn("tampering", manifest["note"])
                for file, model in zip(manifest["metadata"], models, strict=True):
                    rest = self.metadata_of(model)
                    self.assertEqual(file["bytes"], len(rest))
                    if xxhash:
                        self.assertEqual(file["digest"], xxhash.xxh3_64_hexdigest(rest))
                    if manifest is strong:
                        self.assertEqual(file["sha256"], hashlib.sha256(rest).hexdigest())
            contents = dict(tensor for model in models for tensor in gguf_tensors(model))
            self.assertEqual({tensor["name"]: tensor["sha256"] for tensor in strong["tensors"]},
                             {name: hashlib.sha256(data).hexdigest()
                              for name, data in contents.items()})
            for tensor in strong["tensors"]:
                del tensor["sha256"]
            self.assertEqual(strong["tensors"], plain["tensors"])
            for mode in ("full", "none"):
                for kind, algorithm in (("json", "xxh3-64 of 16 KiB leaves"),
                                        ("strong.json", "sha256")):
                    document = self.load(models[0], "--check-manifest",
                                         str(self.folder / f"{name}.{kind}"), "--verify", mode)
                    self.assertEqual(document["manifest"]["algorithm"], algorithm)
                    self.assertTrue(document["manifest"]["covers_metadata"])

    def test_a_changed_key_is_found_and_a_new_name_is_no_change(self):
        manifests = [self.write("m.json"),
                     self.write("m.strong.json", self.model, "--manifest-digest", "sha256")]
        moved = self.folder / "another name.gguf"
        self.model.rename(moved)
        content = moved.read_bytes()
        for manifest in manifests:
            self.check(manifest, moved)
        moved.write_bytes(content.replace(b"general.name", b"general.nbme", 1))
        for manifest, what in zip(manifests, ("metadata digest", "metadata sha256"), strict=True):
            error = self.check(manifest, moved, 4)
            self.assertEqual(error["code"], "manifest_mismatch")
            self.assertEqual([(one["tensor"], one["file"], one["what"])
                              for one in self.differences], [(None, str(moved), what)])
        moved.write_bytes(content + b"more")
        self.check(manifests[0], moved, 4)
        self.assertEqual(self.differences[0]["what"], "metadata bytes")
        # Lines, and documents of versions that did not write it, say so.
        document = json.loads(manifests[0].read_text())
        del document["metadata"]
        manifests[0].write_text(json.dumps(document))
        document = self.load(moved, "--check-manifest", str(manifests[0]))
        self.assertFalse(document["manifest"]["covers_metadata"])

    def test_tensors_of_another_number_of_files(self):
        self.make("set.gguf", "--shards", "2")
        shard = sorted(self.folder.glob("set-*.gguf"))[0]
        manifest = self.write("m.json", shard)
        document = json.loads(manifest.read_text())
        del document["metadata"][1]
        manifest.write_text(json.dumps(document))
        self.check(manifest, shard, 4)
        self.assertEqual(self.differences, [{"tensor": None, "file": None,
                                             "what": "number of files", "expected": "1",
                                             "got": "2"}])

    def test_every_difference_is_reported(self):
        path = self.make("many.gguf", "--tensors", "40")
        manifest = self.write("many.json", path)
        document = json.loads(manifest.read_text())
        for tensor in document["tensors"]:
            tensor["digest"] = "0" * 16
        document["tensors"][3]["shape"] = [7]
        document["tensors"][4]["name"] = "another"
        manifest.write_text(json.dumps(document))
        message = self.check(manifest, path, 4)["message"]
        found = {(one["tensor"], one["what"]) for one in self.differences}
        names = [name for name, _ in gguf_tensors(path)]
        expected = {(name, "digest") for name in names if name != names[4]}
        expected |= {(names[3], "shape"), (names[4], "tensor"), ("another", "tensor")}
        self.assertEqual(found, expected)
        self.assertEqual(len(message.splitlines()), 12)
        self.assertIn(f"... and {len(expected) - 10} more", message)
        done = run("load", str(path), "--device", "cpu", "--check-manifest", str(manifest))
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"  ... and {len(expected) - 10} more\n", done.stderr)
        self.assertTrue(done.stdout.startswith("failed on cpu:0"), done.stdout)
        table = done.stdout.split("\nDifferences from the manifest\n")[1].split("\n\n")[0]
        rows = [line.split()[:2] for line in table.splitlines()[1:]]
        self.assertEqual({tuple(row) for row in rows}, expected)
        self.assert_width(done.stdout)

    def test_long_hashes_in_the_table_are_cut(self):
        manifest = self.write("m.sha256")
        text = manifest.read_text()
        manifest.write_text("".join(f"sha256    {'0' * 64}  {line.split('  ')[-1]}\n"
                                    for line in text.splitlines()))
        done = run("load", str(self.model), "--device", "cpu", "--check-manifest", str(manifest))
        self.assertEqual(done.returncode, 4)
        self.assertIn("0" * 16 + " ...", done.stdout)
        self.assertNotIn("0" * 17, done.stdout)
        done = run("load", str(self.model), "--device", "cpu", "--check-manifest", str(manifest),
                   environment=clean_environment(COLUMNS=""))
        table = done.stdout.partition("Differences from the manifest\n")[2]
        self.assertIn("0" * 64, table, "a pipe gets the whole text")
        self.assertNotIn("...", table)

    def test_duplicates_are_refused(self):
        manifest = self.write("m.json")
        text = manifest.read_text()
        tensor = json.dumps(json.loads(text)["tensors"][0])
        lines = self.write("m.sha256").read_text()
        for changed in (text.replace('"tensors": [', f'"tensors": [{tensor},'),
                        text.replace('"dtype": ', '"dtype": "F32", "dtype": ', 1),
                        text.replace('"digest": ', f'"digest": "{"0" * 16}", "digest": ', 1),
                        lines + lines.splitlines()[0] + "\n"):
            manifest.write_text(changed)
            error = self.check(manifest, self.model, 4)
            self.assertEqual(error["code"], "corrupt_data", changed)

    def test_every_mode_writes_and_checks_the_same(self):
        manifest = self.write("m.json")
        for mode in ("none", "fast", "full", "readback"):
            other = self.folder / f"{mode}.json"
            document = self.load(self.model, "--write-manifest", str(other), "--verify", mode,
                                 "--check-manifest", str(manifest))
            self.assertEqual(document["status"], "loaded" if mode == "none" else "verified")
            self.assertEqual(other.read_bytes(), manifest.read_bytes())
        # The digests do not depend on the files that hold the tensors.
        both = self.folder / "both.xxh3"
        self.load(self.model, "--write-manifest", str(both), "--check-manifest", str(manifest))
        self.load(self.model, "--check-manifest", str(both), "--write-manifest",
                  str(self.folder / "again.sha256"))
        self.assertEqual((self.folder / "again.sha256").read_text().splitlines(),
                         expected_lines(self.model, "sha256"))

    def test_a_changed_tensor_is_named_in_both_forms(self):
        manifests = [self.write("m." + kind) for kind in ("json", "xxh64", "sha256", "xxh3")]
        name = gguf_tensors(self.model)[2][0]
        self.damage(self.model, name)
        for manifest in manifests:
            error = self.check(manifest, self.model, 4)
            self.assertEqual(error["code"], "manifest_mismatch")
            self.assertIn(f"'{name}'", error["message"])
            self.assertIn(str(self.model), error["message"])
            self.check(manifest, self.model, 4, "--verify", "none")

    def test_the_whole_of_a_file_alone_is_enough_and_is_compared(self):
        lines = expected_lines(self.model, "sha256")
        manifest = self.folder / "whole.txt"
        manifest.write_text(lines[-1] + "\n")
        self.check(manifest)
        manifest.write_text(lines[0] + "\n")   # one tensor of five
        self.assertIn("is only in the model", self.check(manifest, self.model, 4)["message"])
        self.assertEqual(len(self.differences), 4)
        self.damage(self.model, gguf_tensors(self.model)[0][0])
        manifest.write_text(lines[-1] + "\n")
        self.assertIn("sha256 of all its tensors", self.check(manifest, self.model, 4)["message"])

    def test_the_manifest_of_another_model(self):
        other = self.make("other.gguf", "--dtype", "F16", seed="2")
        for kind in ("json", "sha256"):
            manifest = self.write("other." + kind, other)
            error = self.check(manifest, self.model, 4)
            self.assertEqual(error["code"], "manifest_mismatch")
        self.assertIn("file name is m.gguf", error["message"])
        other.rename(self.folder / "moved.gguf")
        self.model.rename(other)   # now with the name that the lines have
        self.check(manifest, other, 4)
        self.assertGreater(len(self.differences), 5)

    def test_lines_of_another_folder_and_with_verdicts(self):
        lines = [line.replace(str(self.folder), "some/other folder")
                 for line in expected_lines(self.model, "sha256")]
        manifest = self.folder / "m.txt"
        manifest.write_text("manifest  x  sha256\n" + "".join(f"{line}  -  Ok\n" for line in lines)
                            + "\nVerification results for x - Success\n")
        self.check(manifest)
        manifest.write_text("".join(f"sha1      {'0' * 40}  {self.model}\r\n{line}\r\n"
                                    for line in lines))
        self.check(manifest)

    def test_the_strongest_hash_counts(self):
        lines = expected_lines(self.model, "sha256")
        manifest = self.folder / "all.txt"
        wrong = f"xxh64     {'0' * 16}  {self.model}\n"
        manifest.write_text(wrong + "\n".join(lines) + "\n")
        self.check(manifest)
        manifest.write_text(wrong)
        self.check(manifest, self.model, 4)

    def test_damaged_manifests(self):
        whole = self.write("m.json").read_bytes()
        manifest = self.folder / "bad.json"
        for text in (whole[:len(whole) // 2], whole[:-3], b"{}", b"{", b"", b"\0" * 50, b"[1]",
                     whole.replace(b"hiptool.manifest/1", b"other/1"),
                     whole.replace(b'"digest": "', b'"digest": "x', 1),
                     whole.replace(b'"bytes": ', b'"bytes": -', 1), b"sha256", b"sha256 00 x\n",
                     b"sha1      " + b"0" * 40 + b"  m.gguf\n"):
            manifest.write_bytes(text)
            error = self.check(manifest, self.model, 4)
            self.assertIn(error["code"], ("corrupt_data", "input_failed"), text[:40])
            self.assertIn(str(manifest), error["message"])
        lines = self.write("m.sha256").read_text()
        manifest.write_text(lines[:-20])
        self.assertIn("line 6", self.check(manifest, self.model, 4)["message"])
        self.check(self.folder / "absent", self.model, 4)

    def test_a_manifest_that_cannot_be_written(self):
        self.load(self.model, "--write-manifest", str(self.folder / "none" / "m.json"), code=7)
        self.load(self.model, "--write-manifest", str(self.folder), code=7)
        kept = self.write("m.json")
        before = kept.read_bytes()

        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.load(self.model, "--write-manifest", str(kept), code=7, preexec_fn=no_room)
        self.assertEqual(kept.read_bytes(), before)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()),
                         ["m.gguf", "m.json"])

    def test_each_rank_of_a_job_writes_its_own(self):
        # As under mpirun: three processes, one command line. What is checked is the file named.
        reference = self.folder / "all.json"
        self.load(self.model, "--write-manifest", str(reference))
        for name, wanted in (("m.json", "m.{}.json"), ("m.xxh64", "m.{}.xxh64"),
                             ("{rank}-of-3.json", "{}-of-3.json")):
            for rank in range(3):
                variables = clean_environment(OMPI_COMM_WORLD_RANK=str(rank),
                                              OMPI_COMM_WORLD_SIZE="3")
                document = self.load(self.model, "--write-manifest", str(self.folder / name),
                                     "--check-manifest", str(reference), environment=variables)
                written = self.folder / wanted.format(rank)
                self.assertEqual(document["manifest"]["written"], str(written))
                self.load(self.model, "--check-manifest", str(written))
            self.assertFalse((self.folder / name).exists())

    def test_a_rank_never_replaces_the_model(self):
        model = self.folder / "it.1.gguf"
        model.write_bytes(self.model.read_bytes())
        before = model.read_bytes()
        self.load(model, "--write-manifest", str(self.folder / "it.gguf"), code=2,
                  environment=clean_environment(PMI_RANK="1", PMI_SIZE="2"))
        self.assertEqual(model.read_bytes(), before)

    def test_a_name_that_json_cannot_hold(self):
        self.model.write_bytes(self.model.read_bytes().replace(b"output_norm", b"\xffutput_norm"))
        error = self.load(self.model, "--write-manifest", str(self.folder / "m.json"),
                          code=2)["error"]
        self.assertIn(".xxh64", error["hint"])
        manifest = self.folder / "m.xxh64"
        self.load(self.model, "--write-manifest", str(manifest))
        self.assertIn(b":\xffutput_norm", manifest.read_bytes())
        self.check(manifest)

    def test_a_manifest_never_replaces_the_model(self):
        before = self.model.read_bytes()
        link = self.folder / "link"
        link.symlink_to("m.gguf")
        for path in (self.model, link):
            self.load(self.model, "--write-manifest", str(path), code=2)
        self.assertEqual(self.model.read_bytes(), before)

    def test_nothing_is_written_of_a_model_unlike_its_manifest(self):
        manifest = self.write("m.json")
        self.damage(self.model, gguf_tensors(self.model)[0][0])
        self.load(self.model, "--check-manifest", str(manifest), "--write-manifest",
                  str(self.folder / "new.json"), code=4)
        self.assertFalse((self.folder / "new.json").exists())

    def test_what_cannot_be_combined(self):
        for words in (["--check-manifest", "x"], ["--write-manifest", "x"], ["--check-tensors"],
                      ["--verify", "published"]):
            done = run("load", str(self.model), "--dry-run", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--dry-run", done.stderr)

    def test_the_digest_of_a_manifest_needs_a_manifest_in_json(self):
        for words in (["--manifest-digest", "sha256"],
                      ["--manifest-digest", "sha256", "--write-manifest", "m.xxh64"],
                      ["--manifest-digest", "md5", "--write-manifest", "m.json"],
                      ["--manifest-digest", "sha256", "--check-manifest", "m.json"]):
            done = run("load", str(self.model), *words)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["m.gguf"])

    def test_table(self):
        manifest = self.folder / "m.xxh3"
        done = run("load", str(self.model), "--device", "cpu", "--write-manifest", str(manifest))
        self.assertIn(f"wrote   {manifest}", done.stdout)
        done = run("load", str(self.model), "--device", "cpu", "--check-manifest", str(manifest))
        shown = " ".join(done.stdout.split())
        self.assertIn(f"same the tensors are as in {manifest} ", shown)
        self.assertIn(f"warning: metadata were not compared: {manifest} has none", shown)
        manifest = self.write("m.json")
        done = run("load", str(self.model), "--device", "cpu", "--check-manifest", str(manifest))
        self.assertIn(f"same    tensors and metadata are as in {manifest}\n", done.stdout)


if __name__ == "__main__":
    program.main(__doc__)
