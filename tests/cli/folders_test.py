# SPDX-License-Identifier: MIT
"""Models as other programs leave them on disks: unfinished downloads, caches, texts of Windows.

Usage: folders_test.py PROGRAM [unittest options].
"""
import hashlib
import json
import os

import program
from program import CliTest, clean_environment, run


def said(result):
    return " ".join((result.stdout + result.stderr).split())


class Folders(CliTest):
    def make(self, path, *words):
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = () if "--architecture" in words else ("--size", "20KiB", "--tensors", "2")
        done = run("make-model", str(path), *shape, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def load(self, path, *words, code=0, **variables):
        environment = clean_environment(**{"HOME": str(self.folder), **variables})
        done = run("load", str(path), "--device", "cpu", *words, environment=environment,
                   cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return said(done)


class Disks(Folders):
    def test_a_note_on_an_unfinished_download(self):
        path = self.make(self.folder / "m.gguf")
        self.assertNotIn("not finished", self.load(path))
        (self.folder / "m.gguf.aria2").write_bytes(bytes(70))
        self.assertIn("m.gguf.aria2 is next to the file: aria2 has not finished", self.load(path))
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 64)
        self.assertIn("finish the download: m.gguf.aria2", self.load(path, code=4))

    def test_tensors_of_zeros_are_named(self):
        path = self.make(self.folder / "m.safetensors", "--format", "safetensors")
        self.assertNotIn("zeros", self.load(path, "--check-tensors"))
        raw = bytearray(path.read_bytes())
        head = 8 + int.from_bytes(raw[:8], "little")
        tensors = {name: entry["data_offsets"] for name, entry in json.loads(raw[8:head]).items()
                   if name != "__metadata__"}
        name, (begin, end) = max(tensors.items(), key=lambda item: item[1][1] - item[1][0])
        raw[head + begin:head + end] = bytes(end - begin)
        path.write_bytes(raw)
        shown = self.load(path, "--check-tensors")
        self.assertIn(f"1 tensor holds nothing but zeros: {name}", shown)
        done = run("load", str(path), "--device", "cpu", "--check-tensors", "--format", "json")
        document = self.assert_document(done.stdout, "load.schema.json")
        self.assertEqual((done.returncode, document["values"]["zeros"]), (0, [name]))

    def test_an_index_of_another_model(self):
        """github.com/Neph0s/CoSER/issues/3 and github.com/Blaizzy/mlx-vlm/pull/638: the index of
        the model that it was made from lies beside a complete model."""
        folder = self.folder / "made"
        model = self.make(folder / "model.safetensors", "--format", "safetensors")
        index = folder / "model.safetensors.index.json"
        names = [f"model-{number:05}-of-00030.safetensors" for number in range(1, 31)]
        index.write_text(json.dumps({"weight_map": dict(zip("abcdefghijklmnopqrstuvwxyzABCD",
                                                            names))}))
        shown = self.load(folder)
        self.assertIn("none of its files is in the folder, so it is the index of another model: "
                      "'model.safetensors' is read without it", shown)
        # A set with another number of files.
        model.rename(folder / "model-00001-of-00001.safetensors")
        self.assertIn("'model-00001-of-00001.safetensors' is read without it", self.load(folder))
        os.rename(folder / "model-00001-of-00001.safetensors",
                  folder / "model-00001-of-00002.safetensors")
        self.assertIn("it is missing (and 29 other files of it)", self.load(folder, code=4))
        other = self.make(self.folder / "other.safetensors", "--format", "safetensors", "--seed",
                          "7")
        raw = other.read_bytes()
        head = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:head])
        renamed = json.dumps({name if name == "__metadata__" else "more." + name: entry
                              for name, entry in header.items()}).encode()
        (folder / "model-00002-of-00002.safetensors").write_bytes(
            len(renamed).to_bytes(8, "little") + renamed + raw[head:])
        shown = self.load(folder)
        self.assertIn("'model-00001-of-00002.safetensors' and the rest of its set are read", shown)
        self.assertIn("4 tensors", shown)
        # One of its own files: the others are missing.
        os.rename(folder / "model-00002-of-00002.safetensors", folder / names[4])
        self.assertIn("is missing", self.load(folder, code=4))

    def test_a_manifest_of_an_index_with_folders(self):
        for name in ("a", "b"):
            self.make(self.folder / "m" / name / "x.safetensors", "--format", "safetensors",
                      "--seed", "1" if name == "a" else "2")
        weight_map = {}
        for name in ("a", "b"):
            path = self.folder / "m" / name / "x.safetensors"
            raw = path.read_bytes()
            size = int.from_bytes(raw[:8], "little")
            table = json.loads(raw[8:8 + size])
            renamed = {key if key == "__metadata__" else f"{name}.{key}": value
                       for key, value in table.items()}
            head = json.dumps(renamed).encode()
            path.write_bytes(len(head).to_bytes(8, "little") + head + raw[8 + size:])
            weight_map.update({key: f"{name}/x.safetensors" for key in renamed
                               if key != "__metadata__"})
        index = self.folder / "m" / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": weight_map}))
        for name in ("m.json", "m.sha256"):
            manifest = self.folder / name
            self.load(index.parent, "--write-manifest", str(manifest))
            self.load(index.parent, "--check-manifest", str(manifest))
        self.assertIn("b/x.safetensors", (self.folder / "m.json").read_text())
        # A list of the model's folder covers the files below it.
        digests = {name: hashlib.sha256((self.folder / "m" / name / "x.safetensors").read_bytes())
                   .hexdigest() for name in ("a", "b")}
        sums = self.folder / "m" / "SHA256SUMS"
        sums.write_text("".join(f"{digest}  {name}/x.safetensors\n"
                                for name, digest in digests.items()))
        self.load(index.parent, "--verify", "published")
        # No output replaces the index, whose folder holds no tensors.
        self.load(index.parent, "--write-manifest", str(index), code=2)
        sums.write_text(f"{digests['a']}  a/x.safetensors\n{'0' * 64}  b/x.safetensors\n")
        self.load(index.parent, "--verify", "published", code=4)


class Windows(Folders):
    """Texts with a byte order mark."""
    MARK = b"\xef\xbb\xbf"

    def test_thresholds(self):
        limits = self.folder / "limits.txt"
        for raw in (self.MARK + b"h2d>=1MB/s\r\n", "h2d>=1MB/s\r\n".encode("utf-16")):
            limits.write_bytes(raw)
            done = run("bench-copy", "--device", "cpu", "--kind", "h2d", "--size", "64KiB",
                       "--samples", "3", "--fail-below", f"@{limits}")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_manifests(self):
        path = self.make(self.folder / "m.gguf")
        for name in ("m.json", "m.sha256", "m.xxh64"):
            manifest = self.folder / name
            self.load(path, "--write-manifest", str(manifest))
            text = manifest.read_text()
            manifest.write_bytes(self.MARK + text.replace("\n", "\r\n").encode())
            self.load(path, "--check-manifest", str(manifest))
            manifest.write_bytes(text.encode("utf-16"))
            is_json = name.endswith("json")
            shown = self.load(path, "--check-manifest", str(manifest), code=4 if is_json else 0)
            self.assertEqual("UTF-8" in shown, is_json)
            manifest.unlink()   # m.sha256 is no list of the file's SHA-256

    def test_an_index_and_a_configuration(self):
        path = self.make(self.folder / "m" / "a.safetensors", "--format", "safetensors",
                         "--architecture", "llama")
        config = path.parent / "config.json"
        plain = json.loads(run("load", str(path), "--device", "cpu", "--dry-run", "--format",
                               "json").stdout)["model"]
        self.assertEqual(plain["architecture"], "llama")
        config.write_bytes(self.MARK + config.read_bytes())
        marked = json.loads(run("load", str(path), "--device", "cpu", "--dry-run", "--format",
                                "json").stdout)["model"]
        self.assertEqual(marked, plain)


class Caches(Folders):
    """Names of models that other programs have downloaded."""

    def blob(self, folder, start=""):
        """A model in the folder with its own SHA-256 for a name, after that start."""
        made = self.make(self.folder / "made.gguf", "--force")
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        path = folder / (start + digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.rename(path)
        return path

    def hugging_face(self, hub, name="m-Q4_K_M.gguf"):
        root = hub / "models--org--name"
        blob = self.blob(root / "blobs")
        snapshot = root / "snapshots" / "0123abc"
        snapshot.mkdir(parents=True, exist_ok=True)
        (root / "refs").mkdir(exist_ok=True)
        (root / "refs" / "main").write_text("0123abc")
        (snapshot / name).symlink_to(os.path.relpath(blob, snapshot))
        return root

    def ollama(self, models, place="registry.ollama.ai/library/ll/1b"):
        blob = self.blob(models / "blobs", "sha256-")
        manifest = models / "manifests" / place
        manifest.parent.mkdir(parents=True, exist_ok=True)
        layer = {"mediaType": "application/vnd.ollama.image.model",
                 "digest": "sha256:" + blob.name[-64:], "size": blob.stat().st_size}
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [layer]}))
        return manifest

    def docker(self, store, *tags):
        blob = self.blob(store / "blobs" / "sha256")
        manifest = store / "manifests" / "sha256" / ("a" * 64)
        manifest.parent.mkdir(parents=True, exist_ok=True)
        layer = {"mediaType": "application/vnd.docker.ai.gguf.v3",
                 "digest": "sha256:" + blob.name, "size": blob.stat().st_size}
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [layer]}))
        (store / "models.json").write_text(json.dumps(
            {"models": [{"id": "sha256:" + "a" * 64, "tags": list(tags), "files": []}]}))
        return manifest

    def found(self, name, path, **variables):
        shown = self.load(name, **variables)
        # Long lines are wrapped.
        self.assertIn(f"found{name}at{path}", shown.replace(" ", ""))
        environment = clean_environment(**{"HOME": str(self.folder), **variables})
        done = run("inspect", name, environment=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(path), "".join(done.stdout.split()))
        return shown

    def test_hugging_face(self):
        for folder, variables in (
                ("hub1", {"HF_HUB_CACHE": "hub1"}), ("home/hub", {"HF_HOME": "home"}),
                ("xdg/huggingface/hub", {"XDG_CACHE_HOME": "xdg"}),
                (".cache/huggingface/hub", {}), ("llama", {"LLAMA_CACHE": "llama"})):
            root = self.hugging_face(self.folder / folder)
            variables = {key: str(self.folder / value) for key, value in variables.items()}
            shown = self.found("org/name", root, **variables)
            self.assertIn("not compared with the name of its blob; use --verify published", shown)
            for name in ("hf.co/org/name", "https://huggingface.co/org/name"):
                self.found(name, root, **variables)
            file = root / "snapshots" / "0123abc" / "m-Q4_K_M.gguf"
            self.found("org/name:q4_k_m", file, **variables)
            self.load("org/name:Q4_K", code=4, **variables)
            os.rename(root, root.parent / "models--other--name")

    def test_ollama(self):
        manifest = self.ollama(self.folder / "o")
        self.found("ll:1b", manifest, OLLAMA_MODELS=str(self.folder / "o"))
        self.load("ll:1b", code=4)
        self.found("ll:1b", self.ollama(self.folder / ".ollama" / "models"))
        manifest = self.ollama(self.folder / "o", "hf.co/org/name/Q4_K_M")
        self.found("hf.co/org/name:Q4_K_M", manifest, OLLAMA_MODELS=str(self.folder / "o"))

    def test_ollama_of_other_registries(self):
        """The host of a name is a folder of the manifests.

        github.com/ollama/ollama, types/model/name.go: Name.Filepath() is host/namespace/model/tag.
        """
        models = self.folder / "o"
        for place, names in (
                ("modelscope.cn/Qwen/Q-GGUF/Q4_K_M",
                 ("modelscope.cn/Qwen/Q-GGUF:Q4_K_M", "modelscope.cn/models/Qwen/Q-GGUF:Q4_K_M")),
                ("huggingface.co/o/r/latest",
                 ("huggingface.co/o/r", "hf.co/o/r", "o/r", "https://huggingface.co/o/r")),
                ("registry.ollama.ai/library/ll/1b", ("registry.ollama.ai/library/ll:1b",)),
                ("registry.example.com/team/it/v1", ("registry.example.com/team/it:v1",)),
                ("localhost:5000/team/it/latest", ("localhost:5000/team/it",))):
            manifest = self.ollama(models, place)
            for name in names:
                self.found(name, manifest, OLLAMA_MODELS=str(models))
        for name in ("other.example.com/team/it:v1", "team/it:v1", "hf.co/Qwen/Q-GGUF:Q4_K_M"):
            self.load(name, code=4, OLLAMA_MODELS=str(models))

    def test_docker_model_runner(self):
        manifest = self.docker(self.folder / ".docker" / "models", "docker.io/ai/smol:latest",
                               "ai/smol:360M")
        for name in ("ai/smol", "smol:360M", "ai/smol:latest"):
            self.found(name, manifest)
        self.load("ai/smol:1B", code=4)
        self.load("ai/smol", "--verify", "published")

    def test_lm_studio_and_llama_cpp(self):
        path = self.make(self.folder / ".lmstudio" / "models" / "org" / "name" / "n-Q8_0.gguf")
        self.found("org/name", path.parent)
        self.found("org/name:Q8_0", path)
        path.unlink()
        path.parent.rmdir()
        cached = self.make(self.folder / ".cache" / "llama.cpp" / "org_name_n-Q8_0.gguf")
        self.found("org/name", cached)
        self.found("org/name:Q8_0", cached)

    def test_model_scope(self):
        """github.com/modelscope/modelscope/pull/1197: where its library keeps models."""
        for folder, variables in ((".cache/modelscope/hub/models", {}),
                                  (".cache/modelscope/hub", {}),
                                  ("ms/models", {"MODELSCOPE_CACHE": str(self.folder / "ms")})):
            path = self.make(self.folder / folder / "org" / "name-2___5" / "m-Q8_0.gguf")
            self.found("org/name-2.5", path.parent, **variables)
            self.found("org/name-2.5:Q8_0", path, **variables)
            self.found("https://www.modelscope.cn/models/org/name-2.5", path.parent, **variables)
            path.unlink()
            path.parent.rmdir()
        self.assertIn("modelscope download --model org/name-2.5`",
                      self.load("https://modelscope.cn/models/org/name-2.5/files", code=4))

    def test_addresses_of_web_pages(self):
        """What a browser shows of a model that is in the cache, as people paste it.

        github.com/langchain-ai/langchain/issues/14514 asks to load a model from such an address.
        """
        root = self.hugging_face(self.folder / ".cache" / "huggingface" / "hub")
        snapshot = root / "snapshots" / "0123abc"
        file = snapshot / "m-Q4_K_M.gguf"
        for name, path in (("https://huggingface.co/org/name/", root),
                           ("https://www.huggingface.co/org/name?library=transformers", root),
                           ("https://huggingface.co/org/name#usage", root),
                           ("https://huggingface.co/org/name/tree/main", snapshot),
                           ("https://huggingface.co/org/name/tree/0123abc", snapshot),
                           ("https://huggingface.co/org/name/blob/main/m-Q4_K_M.gguf", file),
                           ("https://huggingface.co/org/name/resolve/main/m-Q4_K_M.gguf", file),
                           ("huggingface.co/org/name/resolve/main/m-Q4_K_M.gguf", file)):
            with self.subTest(name=name):
                self.found(name, path)
        for name in ("org/name/tree/other", "org/name/blob/main/no.gguf", "org/name/tree/..",
                     "org/name/blob/main/../../refs/main", "org/other/tree/main"):
            with self.subTest(name=name):
                self.assertNotIn("found", self.load("https://huggingface.co/" + name, code=4))

    def test_several_are_listed(self):
        root = self.hugging_face(self.folder / ".cache" / "huggingface" / "hub")
        other = self.make(self.folder / ".lmstudio" / "models" / "org" / "name" / "m.gguf").parent
        shown = self.load("org/name", code=2)
        for place in (f"{root} (Hugging Face)", f"{other} (LM Studio)", "name one of these paths"):
            self.assertIn(place, shown)
        # A path of that name comes first.
        self.make(self.folder / "org" / "name.gguf").rename(self.folder / "org" / "name")
        self.assertNotIn("found", self.load("org/name"))

    def test_indexes_of_caches_that_are_damaged(self):
        store = self.folder / ".docker" / "models"
        self.docker(store, "ai/smol:latest")
        (self.folder / ".lmstudio").mkdir()
        (self.folder / ".lmstudio" / "settings.json").write_text('{"downloadsFolder": 5}')
        for text in ("", "[]", '{"models": 1}', '{"models": [1, {"id": 1, "tags": []}]}',
                     '{"models": [{"id": "sha256:../../x", "tags": ["ai/smol:latest"]}]}',
                     '{"models": [{"id": "sha256:' + "a" * 64 + '", "tags": 7}]}', "{" * 100000):
            (store / "models.json").write_text(text)
            self.load("ai/smol", code=4)


if __name__ == "__main__":
    program.main(__doc__)
