# SPDX-License-Identifier: MIT
"""One verdict in every format: load, devices, make-model, completion, report.

FAKE_CUDA names the fake of the CUDA driver. Usage: verdict_load_test.py PROGRAM.
"""
import array
import json
import os
import pathlib
import struct

import program
import report_samples as samples
from program import CliTest, clean_environment, run
from verdicts import Reader, check_one_verdict, says_failed

NOTHING = {"HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda"}


def write_floats(path, tensors, sparse_bytes=0):
    """A safetensors file of F32 tensors by name; with sparse_bytes one more: a hole in the file."""
    header, data = {}, b""
    for name, values in tensors.items():
        added = array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": [len(values)],
                        "data_offsets": [len(data), len(data) + len(added)]}
        data += added
    if sparse_bytes:
        header["hole"] = {"dtype": "U8", "shape": [sparse_bytes],
                          "data_offsets": [len(data), len(data) + sparse_bytes]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
        file.truncate(8 + len(text) + len(data) + sparse_bytes)
    return path


class Load(CliTest):
    def setUp(self):
        super().setUp()
        self.good = write_floats(self.folder / "m.safetensors",
                                 {"a": [1.0] * 1000, "b": [2.0] * 5000})

    def check(self, code, *words, **more):
        document = check_one_verdict(self, ["load", *words], code, **more)
        self.assertEqual(document.get("error") is None, code in (0, 1, 5))
        return document

    def first_line(self, *words):
        return " ".join(run("load", *words).stdout.split("\nmodel ")[0].split())

    def test_verified_planned_and_empty_pass(self):
        empty = write_floats(self.folder / "e.safetensors", {})
        for path, *words in ((self.good,), (self.good, "--self-test"), (self.good, "--tensors"),
                             (self.good, "--check-tensors"), (self.good, "--verify", "none"),
                             (self.good, "--dry-run"), (empty,)):
            self.check(0, path, "--device", "cpu", *words, stdout_formats=())

    def test_nan_is_exit_1_and_the_first_line_says_so(self):
        path = write_floats(self.folder / "n.safetensors", {
            "blk.0.attn_q.weight": [1.0, float("nan"), 2.0, float("nan"), float("nan")],
            "ok": [1.0] * 100})
        words = [path, "--device", "cpu", "--check-tensors"]
        document = self.check(1, *words)
        self.assertEqual((document["status"], document["values"]["nan"]), ("verified", 3))
        offset = document["values"]["tensors"][0]["file_offset"]
        [failure] = document["failures"]
        self.assertEqual({key: value for key, value in failure.items() if value is not None}, {
            "what": "tensor blk.0.attn_q.weight", "kind": "values",
            "tensor": "blk.0.attn_q.weight", "expected": "only finite values",
            "got": f"3 NaN and 0 infinite, first at file offset {offset}"})
        self.assertRegex(self.first_line(*words), r"^FAILED: NaN: 3 values in 1 tensor "
                         r"\(blk\.0\.attn_q\.weight\); verified 420 B on cpu:0 in ")
        self.assertRegex(self.first_line(*words, "--verify", "none"), r"; loaded 420 B .* not ver")
        self.check(1, *words, "--tensors", stdout_formats=["csv"])

    def test_infinity_in_many_tensors(self):
        path = write_floats(self.folder / "n.safetensors",
                            {f"t{i}": [float("inf"), float("nan")] for i in range(5)})
        words = [path, "--device", "cpu", "--check-tensors"]
        self.assertEqual(len(self.check(1, *words, stdout_formats=())["failures"]), 5)
        self.assertRegex(self.first_line(*words), r"^FAILED: NaN: 5 values, infinity: 5 values in "
                         r"5 tensors \(t0, t1, t2 and 2 more\); verified ")

    def test_does_not_fit_and_no_device_are_exit_3(self):
        huge = write_floats(self.folder / "h.safetensors", {}, sparse_bytes=1 << 41)
        self.check(3, huge, "--device", "cpu", stdout_formats=())
        self.check(3, huge, "--device", "cpu", "--dry-run", stdout_formats=())
        self.check(3, self.good, "--device", "nvidia:0", environment=clean_environment(**NOTHING))
        self.check(3, self.good, "--device", "nvidia:7",
                   environment=clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]))

    def test_damaged_missing_and_unlike_what_was_written_are_exit_4(self):
        self.check(4, self.folder / "absent", "--device", "cpu")
        short = self.folder / "short"
        short.write_bytes(self.good.read_bytes()[:-1])
        self.check(4, short, "--device", "cpu")
        for name in ("m.json", "m.sha256"):
            manifest = self.folder / name
            self.assertEqual(run("load", self.good, "--device", "cpu", "--write-manifest",
                                 manifest).returncode, 0)
            other = self.folder / f"{name}.other"
            other.write_bytes(self.good.read_bytes()[:-4] + b"\0\0\0\x41")
            document = self.check(4, other, "--device", "cpu", "--check-manifest", manifest)
            self.assertEqual((document["status"], document["error"]["code"]),
                             ("failed", "manifest_mismatch"))
        blobs = self.folder / "cache" / "models--a--b" / "blobs"
        blobs.mkdir(parents=True)
        blob = blobs / ("0" * 64)
        blob.write_bytes(self.good.read_bytes())
        document = self.check(4, blob, "--device", "cpu", "--verify", "published")
        self.assertEqual(document["error"]["code"], "manifest_mismatch")

    def test_nan_and_another_manifest_is_exit_4(self):
        path = write_floats(self.folder / "n.safetensors", {"a": [float("nan")] * 9})
        manifest = self.folder / "m.json"
        run("load", self.good, "--device", "cpu", "--write-manifest", manifest)
        document = self.check(4, path, "--device", "cpu", "--check-tensors", "--check-manifest",
                              manifest)
        self.assertEqual(document["failures"][0]["what"], "tensor a")

    def test_wrong_usage_is_exit_2(self):
        self.check(2, self.good, self.good, "--trace", self.folder / "t.json")

    def test_interrupted(self):
        large = write_floats(self.folder / "l.safetensors", {}, sparse_bytes=128 << 20)
        formats = ("json", "csv", "markdown", "html", "junit", "prom", "gha", "bmf")
        exports = [f"--export={name}={self.folder / name}" for name in formats]
        result = self.interrupt("copy:2", "load", large, "--device", "nvidia:0", *exports,
                                environment=clean_environment(
                                    HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]))
        self.assertEqual(result.returncode, 130, result.stderr)
        reader = Reader(self, 130)
        reader.read("table", result.stdout)
        for name in formats:
            reader.read(name, (self.folder / name).read_text(encoding="utf-8"))


class Devices(CliTest):
    def check(self, code, *words, **more):
        return check_one_verdict(self, ["devices", *words], code, **more)

    def cuda(self, **more):
        return clean_environment(**{**NOTHING, "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"]},
                                 **more)

    def test_lists_and_examinations_that_pass(self):
        for words in ((), ("--topology",), ("--doctor",), ("--doctor", "--topology"),
                      ("nvidia:1",), ("--require", "nvidia")):
            self.check(0, *words, environment=self.cuda(), stdout_formats=["csv"])

    def test_a_check_that_fails_is_exit_1(self):
        document = self.check(1, "--doctor", environment=self.cuda(FAKE_CUDA_HOLD="init"),
                              stdout_formats=())
        self.assertEqual((document["status"], document.get("error")), ("failed", None))
        failed = [check for check in document["checks"] if check["severity"] == "fail"]
        self.assertEqual([(one["what"], one["expected"], one["got"])
                          for one in document["failures"]],
                         [(" ".join(filter(None, (check["id"], check["device"]))),
                           check["expected"], check["read"]) for check in failed])
        self.assertIn("driver-hang", [one["what"] for one in document["failures"]])

    def test_nothing_to_examine_and_nothing_required_are_exit_3(self):
        nothing = clean_environment(**NOTHING)
        if not any(pathlib.Path("/sys/bus/pci/drivers").glob("amdgpu/0000*")) and \
                not any(pathlib.Path("/sys/bus/pci/drivers").glob("nvidia/0000*")):
            document = self.check(3, "--doctor", environment=nothing)
            hang = [check for check in document["checks"] if check["id"] == "driver-hang"]
            self.assertEqual({check["severity"] for check in hang}, {"unknown"})
            self.assertTrue(all("no driver to query" in check["read"] for check in hang))
            first, second = run("devices", "--doctor",
                                environment=nothing).stdout.splitlines()[:2]
            self.assertEqual(first, "FAILED: no GPU found; only the host was checked")
            # Findings of the host (warnings) are named instead.
            self.assertRegex(second, r"^\d+ host checks? passed, \d+ unknown without a GPU$"
                                     r"|^\d+ checks? warns?: ")
        self.check(3, "--require", "gpu", environment=nothing)
        self.check(3, "nvidia:5", environment=self.cuda())
        # A device that works, but not of the kind that is required.
        document = self.check(3, "--require", "amd", environment=self.cuda())
        self.assertEqual(document["error"]["code"], "unavailable")
        first = run("devices", "--require", "amd", environment=self.cuda()).stdout.splitlines()[0]
        self.assertEqual(first, "FAILED: no usable device of the required kind 'amd'")


class Report(CliTest):
    def write(self, *documents):
        return [samples.write(self.folder, f"f{index}.json", document)
                for index, document in enumerate(documents)]

    def check(self, code, action, *documents):
        formats = ["json", "csv", "markdown", "html", "junit", "prom", "table"]
        return check_one_verdict(self, ["report", action, *self.write(*documents)], code,
                                 formats=formats)

    def test_compare(self):
        old, same = samples.bench_copy([samples.cell()]), samples.bench_copy([samples.cell(seed=2)])
        slow = samples.bench_copy([samples.cell(rate=20e9, seed=2)])
        more = samples.bench_copy([samples.cell(seed=2), samples.cell(kind="d2d")])
        few = samples.bench_copy([samples.cell(rate=20e9, count=3)])
        for new, code, verdict in ((same, 0, "SAME"), (more, 0, "SAME"), (few, 0, "AMBIGUOUS"),
                                   (slow, 1, "SLOWER")):
            self.assertEqual(self.check(code, "compare", old, new)["verdict"], verdict)
        other = samples.bench_copy([samples.cell(kind="d2d")])
        document = self.check(1, "compare", old, other)
        self.assertEqual((document["verdict"], document["comparisons"]), (None, []))
        self.check(4, "compare", old, "{")
        self.check(2, "compare", old, samples.load())

    def test_merge(self):
        def host(index, **more):
            return samples.bench_copy([samples.cell(seed=index, **more)], host=f"node{index:02}")

        usual = [host(index) for index in range(6)]
        self.check(0, "merge", *usual)
        self.check(0, "merge", *usual, host(6, rate=80e9))
        self.check(1, "merge", *usual, host(6, rate=30e9))
        self.check(1, "merge", *usual, host(6, status="failed", reason="lost"))
        self.check(1, "merge", *usual, {**host(6), "exit_code": 1, "passed": False,
                                        "failures": [{"what": "h2d>=60GB/s"}]})
        self.check(1, "merge", host(6, status="mismatch", reason="3 bytes differ"))
        self.check(1, "merge", host(1), host(2, kind="d2h"))
        self.check(4, "merge", "{", "[]")

    def test_render_shows_the_verdict_of_the_run(self):
        nan = {**samples.load(), "exit_code": 1, "passed": False, "failures": [
            {"what": "tensor a", "expected": "only finite values", "got": "3 NaN"}]}
        passed = {**samples.load(), "exit_code": 0, "passed": True, "failures": []}
        wrong = {**samples.load(status="mismatch"), "exit_code": 5, "passed": False,
                 "failures": []}
        for document, code in ((passed, 0), (nan, 1), (wrong, 5)):
            path, reader = self.write(document)[0], Reader(self, code)
            table = run("report", "render", path, "--format", "table").stdout
            reader.first_line = table.splitlines()[0]
            for name in ("table", "csv", "markdown", "html", "svg", "gbench", "gha", "bmf",
                         "junit", "prom"):
                result = run("report", "render", path, "--format", name)
                self.assertEqual(result.returncode, 0, result.stderr)
                reader.read(name, result.stdout)
        table = run("report", "render", self.write(nan)[0], "--format", "table").stdout
        self.assertTrue(says_failed(table), table)
        self.assertIn("tensor a: expected only finite values, got 3 NaN", table)


class Others(CliTest):
    def test_make_model(self):
        out = self.folder / "verdict.json"
        for target, code in ((self.folder / "m.gguf", 0), (self.folder / "no" / "m.gguf", 7),
                             (self.folder / "m.unknown", 2)):
            result = run("make-model", target, "--size", "64KiB", "--export", f"json={out}")
            self.assertEqual(result.returncode, code, result.stderr)
            Reader(self, code).read("json", out.read_text(encoding="utf-8"))

    def test_completion(self):
        for words, code in ((["bash"], 0), ([], 2)):
            result = run("completion", *words, "--format", "json")
            self.assertEqual(result.returncode, code)
            Reader(self, code).read("json", result.stdout)


if __name__ == "__main__":
    program.main(__doc__)
