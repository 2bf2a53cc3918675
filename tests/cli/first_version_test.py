# SPDX-License-Identifier: MIT
"""What hiptool 0.2.0 wrote is read on: documents of the first version, expectations, a manifest and
a golden, as commit 35dd8cd1 wrote them (first_version/, with another host in them).

Usage: first_version_test.py PROGRAM [unittest options].
"""
import json
import pathlib

import program
import report_samples as samples
from program import run

OLD = pathlib.Path(__file__).resolve().parent / "first_version"
FORMATS = ("table", "json", "csv", "markdown", "html", "svg", "gbench", "gha", "bmf", "junit",
           "prom")
NOT_DOCUMENTS = ("expect.json", "manifest.json")


def old_documents():
    return [path for path in sorted(OLD.glob("*.json")) if path.name not in NOT_DOCUMENTS]


def read(name):
    return json.loads((OLD / name).read_text("utf-8"))


class FirstVersion(program.CliTest):
    def document(self, *words, code=0):
        result = run(*words, "--format", "json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def test_every_command_is_there(self):
        commands = {json.loads(path.read_text("utf-8"))["schema"] for path in old_documents()}
        self.assertEqual(commands, {f"hiptool.{name}/1" for name in (
            "devices", "load", "bench-copy", "run-kernel", "check", "inspect", "make-model",
            "report")})

    def test_render_in_every_format(self):
        for path in old_documents():
            passed = json.loads(path.read_text("utf-8"))["passed"]
            for name in FORMATS:
                with self.subTest(path=path.name, format=name):
                    result = run("report", "render", str(path), "--format", name)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertNotEqual(result.stdout, "")
                    if name == "prom":
                        self.assertIn(f"hiptool_success{{command=", result.stdout)
                        self.assertRegex(result.stdout, f"hiptool_success.* {int(passed)}\n")
                    if name == "junit":
                        is_green = 'failures="0" errors="0"' in result.stdout
                        self.assertEqual(is_green, passed, result.stdout)

    def test_render_shows_what_was_shown(self):
        for path in old_documents():
            with self.subTest(path=path.name):
                shown = json.loads(path.read_text("utf-8"))["shown"]["lines"]
                text = run("report", "render", str(path), "--format", "markdown").stdout
                words = shown[0]["text"].split()[:4] if shown else []
                self.assertIn(" ".join(words), " ".join(text.replace("\\", "").split()))

    def test_measurements_of_both_versions_are_the_same(self):
        """The old document against one of this program with the same ids."""
        now = self.folder / "now.json"
        run("bench-copy", "--device", "cpu", "--kind", "h2d,d2d", "--size", "64KiB", "--samples",
            "9", "--export", f"json={now}")
        compared = self.document("report", "compare", str(OLD / "bench-copy.json"), str(now),
                                 code=self.code_of_comparison("bench-copy.json", now))
        self.assertEqual([one["id"] for one in compared["comparisons"]],
                         [one["id"] for one in read("bench-copy.json")["cells"]])
        self.assertEqual((compared["only_old"], compared["only_new"]), ([], []))
        for one, cell in zip(compared["comparisons"], read("bench-copy.json")["cells"]):
            self.assertEqual(one["old_bytes_per_s"], cell["median_bytes_per_s"])
            self.assertEqual(one["old_samples"], len(cell["samples_s"]))

    def code_of_comparison(self, name, now):
        return run("report", "compare", str(OLD / name), str(now)).returncode

    def test_compare_two_old_ones(self):
        for names in (("bench-copy.json", "baseline.json"), ("kernels.json", "kernels-again.json")):
            paths = [str(OLD / name) for name in names]
            code = run("report", "compare", *paths).returncode
            self.assertIn(code, (0, 1))
            document = self.document("report", "compare", *paths, code=code)
            key = "cells" if names[0] == "bench-copy.json" else "results"
            self.assertEqual([one["id"] for one in document["comparisons"]],
                             [one["id"] for one in read(names[0])[key]])

    def test_merge(self):
        names = ("bench-copy.json", "kernels.json", "load.json", "load-two.json", "check.json",
                 "library.json", "sweep.json")
        merged = self.document("report", "merge", *(str(OLD / name) for name in names))
        self.assertEqual({file["path"].rpartition("/")[2]: file["measurements"]
                          for file in merged["files"]},
                         {"bench-copy.json": len(read("bench-copy.json")["cells"]),
                          "kernels.json": len(read("kernels.json")["results"]),
                          "load.json": 1, "load-two.json": 2,
                          "check.json": len(read("check.json")["cells"]),
                          "library.json": len(read("library.json")["results"]),
                          "sweep.json": len(read("sweep.json")["results"])})

    def test_a_failure_of_a_threshold_is_one_case(self):
        text = run("report", "render", str(OLD / "missed.json"), "--format", "junit").stdout
        self.assertIn('failures="1" errors="0"', text)
        self.assertIn("h2d&gt;=9999TB/s", text)

    def test_baseline(self):
        words = ["bench-copy", "--device", "cpu", "--kind", "h2d,d2d", "--size", "64KiB",
                 "--samples", "9", "--baseline", str(OLD / "bench-copy.json")]
        code = run(*words).returncode
        self.assertIn(code, (0, 1))
        result = run(*words, "--format", "json")
        self.assertIn(result.returncode, (0, 1))
        self.assertEqual([one["id"] for one in json.loads(result.stdout)["comparisons"]],
                         [one["id"] for one in read("bench-copy.json")["cells"]])

    def test_expectations(self):
        text = (OLD / "expect.json").read_text("utf-8")
        expected = json.loads(text)
        (name, floors), = expected["gpus"].items()
        here = self.document("devices", "--device", "cpu")["devices"][0]["name"]
        path = self.folder / "expect.json"
        path.write_text(text.replace(json.dumps(name), json.dumps(here)), "utf-8")
        words = ["check", "--device", "cpu", "--stage", "copy,kernels", "--size", "64KiB",
                 "--expect", str(path)]
        result = run(*words, "--format", "json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["expect"]["judged"], len(floors))
        self.assertEqual(document["expect"]["not_measured"], [])

    def test_manifest_and_golden(self):
        model, llama = str(self.folder / "m.gguf"), str(self.folder / "llama.gguf")
        run("make-model", model, "--size", "1MiB")
        run("make-model", llama, "--architecture", "llama")
        result = run("load", model, "--device", "cpu", "--check-manifest",
                     str(OLD / "manifest.json"))
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("manifest.json", result.stdout)
        result = run("load", llama, "--device", "cpu", "--prove", "--check-golden",
                     str(OLD / "golden.safetensors"))
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertTrue(result.stdout.startswith("proved"), result.stdout)
        other = str(self.folder / "qwen2.gguf")
        run("make-model", other, "--architecture", "qwen2")
        result = run("load", other, "--device", "cpu", "--prove", "--check-golden",
                     str(OLD / "golden.safetensors"))
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn("is the golden of a model of other sizes", result.stderr)

    def test_made_documents(self):
        """The samples of the other tests, as 0.2.0 would have written them."""
        old = samples.write(self.folder, "old.json", samples.first_version(
            samples.bench_copy([samples.cell(), samples.cell(kind="d2h")])))
        new = samples.write(self.folder, "new.json", samples.bench_copy(
            [samples.cell(rate=40e9, seed=2), samples.cell(kind="d2h", seed=2)]))
        document = self.document("report", "compare", old, new, code=1)
        self.assertEqual([one["verdict"] for one in document["comparisons"]], ["SLOWER", "SAME"])
        old = samples.write(self.folder, "old.json", samples.first_version(
            samples.run_kernel([samples.kernel_result()])))
        new = samples.write(self.folder, "new.json", samples.run_kernel(
            [samples.kernel_result(median_s=2e-3, seed=2)]))
        document = self.document("report", "compare", old, new, code=1)
        self.assertEqual([one["verdict"] for one in document["comparisons"]], ["SLOWER"])


if __name__ == "__main__":
    program.main(__doc__)
