# SPDX-License-Identifier: MIT
"""`--repeat`, `--against` and `--effect auto` seen from outside, over copies of planted rates.

Usage: repeat_test.py PROGRAM [unittest options].
"""
import json
import math
import os
import re
import statistics
import xml.etree.ElementTree

import program
from program import CliTest, clean_environment, run

H2D = ["bench-copy", "--kind", "h2d", "--size", "1MiB", "--samples", "9"]


class Repeat(CliTest):
    def setUp(self):
        super().setUp()
        self.order = self.folder / "order"

    def planted(self, rate=50, between=0.002, within=0.002):
        """Variables for copies at that many GB/s."""
        return {"HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"],
                "FAKE_CUDA_RATE": f"{rate}:{between}:{within}:{self.folder / 'count'}"}

    def other(self, rate=50, between=0.002):
        """Another hiptool, whose copies run at that many GB/s; it notes that it was started."""
        script = self.folder / "hiptool-old"
        variables = self.planted(rate, between)
        script.write_text("#!/bin/sh\n" f"echo old >> {self.order}\n"
                          f"export FAKE_CUDA_RATE={variables['FAKE_CUDA_RATE']}\n"
                          f"exec {program.PROGRAM} \"$@\"\n", encoding="utf-8")
        script.chmod(0o755)
        return str(script)

    def document(self, *words, code=0, schema="bench-copy", **variables):
        result = run(*words, "--format", "json", environment=clean_environment(**variables))
        self.assertEqual(result.returncode, code, result.stderr)
        self.stderr = result.stderr
        return self.assert_document(result.stdout, schema + ".schema.json")

    def compare(self, rate, *words, code, between=0.002, repeats=6):
        """This program at 50 GB/s against another one at that rate."""
        return self.document(*H2D, "--device", "nvidia:0", "--repeat", str(repeats), "--against",
                             self.other(rate, between), *words, code=code,
                             **self.planted(between=between))

    def test_all_samples_are_kept_by_process(self):
        document = self.document(*H2D, "--device", "cpu", "--repeat", "3")
        one = document["measurements"][0]
        self.assertEqual(one["id"], "h2d.pinned.copy.1MiB@cpu:0")
        self.assertEqual(one["process_samples"], [9, 9, 9])
        samples = one["samples_s"]
        medians = [statistics.median(samples[i:i + 9]) for i in (0, 9, 18)]
        self.assertEqual(one["median_s"], statistics.median(medians))
        self.assertAlmostEqual(one["bytes_per_s"], 2**20 / one["median_s"], delta=1)
        self.assertEqual(one["details"]["memory"], "pinned")
        self.assertEqual(document["repeat"]["processes"], 3)
        self.assertEqual(document["comparisons"], [])
        self.assertIn("[3/3] this program: process 3", self.stderr)
        text = run(*H2D, "--device", "cpu", "--repeat", "2").stdout
        self.assertIn("1 measurement in 2 processes", text)
        self.assertIn("Between them", text)

    def test_a_slowdown_of_two_percent_is_found(self):
        document = self.compare(51, "--effect", "auto", code=1)
        compared = document["comparisons"][0]
        self.assertEqual(compared["verdict"], "SLOWER")
        self.assertLess(compared["decidable_effect"], 0.02)
        # Of alternating processes what is ignored is half a percent, or the half width with 99 %
        # confidence: 1.42 to 1.46 times that with 95 % for 9 to 10 degrees.
        width = (compared["high"] - compared["low"]) / 2
        self.assertAlmostEqual(compared["effect"], max(0.005, 1.44 * width), delta=0.05 * width)
        self.assertEqual((compared["old_processes"], compared["new_processes"]), (6, 6))
        self.assertAlmostEqual(compared["change"], 0.02, delta=0.005)
        self.assertEqual(document["failures"][0]["measurement"], compared["id"])
        self.assertIn("smallest effect that the noise can decide: ",
                      document["shown"]["lines"][2]["text"])
        # The same by another way: Welch's interval of the logarithms, with scipy's t of 9 to 10
        # degrees, 2.23 to 2.26.
        new = document["measurements"][0]
        logs = [math.log(statistics.median(new["samples_s"][9 * i:9 * i + 9])) for i in range(6)]
        half = (compared["high"] - compared["low"]) / 2
        self.assertGreater(half, 2 * statistics.stdev(logs) / math.sqrt(6))
        # The default of 3 % ignores it.
        self.assertEqual(self.compare(51, code=0)["comparisons"][0]["verdict"], "SAME")

    def test_old_and_new_take_turns_and_equal_programs_are_the_same(self):
        tool = self.folder / "new"
        tool.write_text(f"#!/bin/sh\necho new >> {self.order}\nexec {program.PROGRAM} \"$@\"\n",
                        encoding="utf-8")
        tool.chmod(0o755)
        # Each process notes itself through the variable's file.
        document = self.compare(50, "--effect", "auto", "--strict-compare", code=0, repeats=4)
        self.assertEqual(document["comparisons"][0]["verdict"], "SAME")
        order = [line.split()[1] for line in self.stderr.splitlines() if line.startswith("[")]
        old = str(self.folder / "hiptool-old:")
        self.assertEqual([word == old for word in order],
                         [True, False, False, True, True, False, False, True])
        self.assertEqual(self.order.read_text().split(), ["old"] * 4)
        self.assertEqual(document["repeat"]["against_processes"], 4)

    def test_ambiguous_says_how_many_repeats_would_decide(self):
        document = self.compare(51, "--effect", "2%", code=0, between=0.01, repeats=3)
        compared = document["comparisons"][0]
        self.assertEqual(compared["verdict"], "AMBIGUOUS")
        words = ("repeats on each side would decide" if compared["repeats_to_decide"]
                 else "more than 1000 repeats would be needed")
        self.assertIn(words, compared["reason"])
        strict = self.compare(51, "--effect", "2%", "--strict-compare", code=1, between=0.01,
                              repeats=3)
        self.assertEqual(strict["failures"][0]["got"], "AMBIGUOUS")
        self.assertFalse(strict["passed"])

    def test_runs_are_compared_later_too(self):
        files = []
        for rate in (51, 50):
            path = self.folder / f"{rate}.json"
            self.document(*H2D, "--device", "nvidia:0", "--repeat", "6", "--export",
                          f"json={path}", **self.planted(rate))
            files.append(str(path))
        document = self.document("report", "compare", *files, "--effect", "AUTO", code=1,
                                 schema="report")
        self.assertEqual(document["comparisons"][0]["verdict"], "SLOWER")
        self.assertEqual(document["effect"], 0)
        text = run("report", "compare", *files, "--effect", "auto").stdout
        self.assertIn("smallest effect that the noise can decide", text)
        # The same rule with --baseline, also for a single process.
        words = [*H2D, "--device", "nvidia:0", "--baseline", files[0], "--effect", "auto"]
        document = self.document(*words, "--repeat", "6", code=1, **self.planted(50))
        self.assertEqual(document["comparisons"][0]["verdict"], "SLOWER")
        self.assertEqual(document["repeat"]["baseline"], files[0])
        document = self.document(*words, **self.planted(51))
        self.assertEqual(document["comparisons"][0]["old_processes"], 6)
        self.assertEqual(document["comparisons"][0]["new_processes"], 1)
        # Without the noise between processes auto decides nothing.
        single = self.folder / "single.json"
        self.document(*H2D, "--device", "nvidia:0", "--export", f"json={single}",
                      **self.planted(50))
        words = ["report", "compare", str(single), str(single), "--effect", "auto"]
        document = self.document(*words, schema="report")
        self.assertIn("measure with --repeat 3 or more", document["comparisons"][0]["reason"])
        document = self.document(*words, "--strict-compare", code=1, schema="report")
        self.assertEqual(document["verdict"], "AMBIGUOUS")
        self.assertIs(document["strict"], True)

    def test_run_kernel_repeats_too(self):
        document = self.document("run-kernel", "fill", "--device", "cpu", "--dtype", "f32",
                                 "--size", "64KiB", "--samples", "9", "--repeat", "2",
                                 schema="run-kernel")
        for one in document["measurements"]:
            self.assertEqual(one["process_samples"], [9, 9])
            self.assertIn("kernel", one["details"])
        self.assertEqual(document["repeat"]["processes"], 2)

    def test_what_fails_in_a_process_is_the_error(self):
        result = run(*H2D, "--device", "nvidia:7", "--repeat", "2",
                     environment=clean_environment(**self.planted()))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("nvidia:7", result.stderr)
        result = run(*H2D, "--device", "cpu", "--repeat", "2", "--against", "/bin/false")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn("/bin/false ended with exit code 1", result.stderr)

    def baseline(self, name="base.json", **changes):
        """A document of copies within the processor, each as slow as 10 s; the changes are of one
        of its two measurements."""
        path = self.folder / name
        self.document(*H2D[:1], "--kind", "h2d,d2d", *H2D[3:], "--device", "cpu", "--export",
                      f"json={path}")
        document = json.loads(path.read_text(encoding="utf-8"))
        for one in document["measurements"]:
            one.update(samples_s=[10.0] * 9, median_s=10.0)
            if one["id"].startswith("d2d"):
                one.update(changes)
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    def first_line(self, *words, code, **variables):
        """Of the table; the cases of the JUnit file are in self.cases: (name, children)."""
        path = self.folder / "out.xml"
        result = run(*words, "--export", f"junit={path}",
                     environment=clean_environment(**variables))
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        root = xml.etree.ElementTree.parse(path).getroot()
        self.cases = [(case.get("name"), [child.tag for child in case])
                      for case in root.iter("testcase")]
        return result.stdout.splitlines()[0]

    def test_a_baseline_means_the_same_with_and_without_repeat(self):
        """README and help: exit 1 with --strict-baseline if one run lacks a measurement, and
        without it if they have none in common; a skipped one has no time to compare with."""
        both = [*H2D[:1], "--kind", "h2d,d2d", *H2D[3:], "--device", "cpu"]
        d2d = "d2d.copy.1MiB@cpu:0"
        for changes in ({"status": "skipped", "samples_s": [], "median_s": None}, {"status": None},
                        {"status": "mismatch"}):
            path = self.baseline(**changes)
            for words in (["--repeat", "2"], []):
                with self.subTest(f"{changes} {words}"):
                    document = self.document(*both, "--baseline", path, *words)
                    self.assertEqual(document["baseline_missing"],
                                     [{"id": d2d, "missing_in": "baseline"}])
                    document = self.document(*both, "--baseline", path, "--strict-baseline",
                                             *words, code=1)
                    self.assertEqual([one["measurement"] for one in document["failures"]], [d2d])
                    self.document(*both, "--kind", "d2d", "--baseline", path, *words, code=1)

    def test_the_first_line_is_the_worst_failure(self):
        words = [*H2D, "--device", "cpu", "--repeat", "4", "--baseline", self.baseline()]
        line = self.first_line(*words, "--strict-baseline", code=1)
        self.assertEqual(line, "FAILED: only one of the runs has 1 measurement")
        self.assertEqual(self.cases[-1],
                         ("d2d.copy.1MiB@cpu:0 against the baseline", ["failure"]))
        self.assertEqual(self.first_line(*words, code=0),
                         "FASTER: 1 of 1 measurement faster")
        nvidia = self.planted()
        path = self.folder / "nvidia.json"
        words = [*H2D, "--device", "nvidia:0", "--kind", "d2h"]
        self.document(*words, "--export", f"json={path}", **nvidia)
        wrong = {**nvidia, "FAKE_CUDA_CORRUPT_FROM": "65536"}
        for more in (["--baseline", str(path)], ["--repeat", "2", "--baseline", str(path)],
                     ["--repeat", "2"]):
            with self.subTest(more):
                line = self.first_line(*words, *more, code=5, **wrong)
                self.assertRegex(line, "^WRONG DATA in 1 of 1 measurement ")

    def test_wrong_data_has_a_device_a_code_and_an_action(self):
        """As without --repeat: of two GPUs one computes wrong, of four copies two are wrong."""
        paths = {name: self.folder / f"out.{name}" for name in ("junit", "prom")}
        exports = [word for name, path in paths.items()
                   for word in ("--export", f"{name}={path}")]
        kernel = ["run-kernel", "stream-triad", "--dtype", "f32", "--size", "64KiB"]
        copies = ["bench-copy", "--kind", "h2d,d2h", "--size", "1MiB"]
        for words, fault, code in (
                (kernel, {"FAKE_CUDA_FLAKY": "1:hiptool_stream_triad_f32"}, "HT-KERNEL-DATA"),
                (copies, {"FAKE_CUDA_CORRUPT_FROM": "1:65536"}, "HT-COPY-DATA")):
            variables = {**self.planted(), "FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_UNITS": "2",
                         "HIPTOOL_HIP_LIBRARY": "/nowhere/hip", **fault}
            words = [*words, "--samples", "3", "--device", "all"]
            once = self.document(*words, code=5, schema=words[0], **variables)
            for more in ([], ["--against", program.PROGRAM]):
                with self.subTest(words=words, more=more):
                    document = self.document(*words, "--repeat", "2", *more, *exports, code=5,
                                             schema=words[0], **variables)
                    coded = [one for one in document["failures"] if one["code"]]
                    self.assertEqual(
                        [(one["what"], one["device"], one["code"], one["action"]) for one in coded],
                        [(one["what"], one["device"], one["code"], one["action"])
                         for one in once["failures"]])
                    self.assertEqual({(one["device"], one["code"]) for one in coded},
                                     {("nvidia:1", code)})
                    lines = [line["text"] for line in document["shown"]["lines"]]
                    self.assertRegex(lines[0], "^WRONG DATA on nvidia:1 in ")
                    self.assertIn("to do: " + coded[0]["action"], lines)
                    found = [tuple(match) for match in re.findall(
                        r'^hiptool_check\{check="([^"]*)",device="([^"]*)".*code="([^"]*)"',
                        paths["prom"].read_text(encoding="utf-8"), re.M)]
                    self.assertEqual(found, [(one["what"], "nvidia:1", code) for one in coded])
                    root = xml.etree.ElementTree.parse(paths["junit"]).getroot()
                    failed = [case.get("name") for case in root.iter("testcase")
                              if case.find("failure") is not None]
                    self.assertEqual(failed, [one["what"] for one in coded])

    def test_a_failed_comparison_is_one_case(self):
        files = []
        for name, rate in (("old", "50"), ("new", "50.5")):
            files.append(str(self.folder / f"{name}.json"))
            self.document(*H2D, "--device", "nvidia:0", "--repeat", "3", "--export",
                          f"json={files[-1]}", **self.planted(rate, between=0.02))
        compare = ["report", "compare", *files, "--effect", "1%"]
        name = "h2d.pinned.copy.1MiB@nvidia:0"
        self.assertRegex(self.first_line(*compare, code=0), "^AMBIGUOUS: 1 of 1 measurement")
        self.assertEqual(self.cases, [(name, ["skipped"])])
        self.assertRegex(self.first_line(*compare, "--strict-compare", code=1),
                         "^AMBIGUOUS: 1 of 1 measurement")
        self.assertEqual(self.cases, [(name, ["failure"])])
        document = json.loads(self.folder.joinpath("new.json").read_text(encoding="utf-8"))
        document["measurements"][0]["status"] = "mismatch"
        self.folder.joinpath("new.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(self.first_line(*compare, code=1),
                         "WRONG DATA in 1 of 1 measurement in the new run")
        self.assertEqual(self.cases, [(name, ["failure"])])

    def test_a_failure_of_the_other_program_names_it(self):
        script = self.folder / "hiptool-old"
        script.write_text("#!/bin/sh\n" f"exec {program.PROGRAM} \"$@\" --device=nvidia:7\n",
                          encoding="utf-8")
        script.chmod(0o755)
        result = run(*H2D, "--device", "cpu", "--repeat", "2", "--against", script)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(f"error: {script}: device nvidia:7 ", result.stderr)

    def test_another_machine_of_the_baseline_is_named(self):
        path = self.baseline()
        words = [*H2D, "--device", "cpu", "--baseline", path]
        more = ([], ["--repeat", "2"])
        for one in more:
            self.assertNotIn("differ:", run(*words, *one).stdout)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        document["host"]["name"] = "elsewhere"
        document["measured_on"][0]["name"] = "Other CPU"
        document.update(exit_code=5, passed=False, status="mismatch")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        for one in more:
            with self.subTest(one):
                text = run(*words, *one).stdout
                self.assertIn("the hosts differ: elsewhere and ", text)
                self.assertIn("the devices differ: cpu:0 was Other CPU, is ", text)
                self.assertIn("the old run did not pass: exit code 5", text)

    def test_what_has_no_effect_is_refused(self):
        for words in (["--against", program.PROGRAM], ["--effect", "1%"], ["--strict-compare"],
                      ["--repeat", "2", "--fail-below", "h2d>=1GB/s"], ["--repeat", "0"],
                      ["--repeat", "2", "--effect", "auto"], ["--repeat", "2", "--against", "/"],
                      ["--repeat", "2", "--against", "/nowhere"], ["--repeat", "1001"],
                      ["--repeat", "2", "--against", program.PROGRAM, "--effect", "many"]):
            with self.subTest(words):
                self.assertEqual(run(*H2D, "--device", "cpu", *words).returncode, 2)
        for words in (["--list", "--repeat", "2"], ["fill", "--effect", "auto"],
                      ["fill", "--against", program.PROGRAM],
                      ["ops", "--sweep", "quick", "--repeat", "2"]):
            with self.subTest(words):
                self.assertEqual(run("run-kernel", *words).returncode, 2)
        for words in (["--effect", "sometimes"], ["--effect", "0"]):
            with self.subTest(words):
                self.assertEqual(run("report", "compare", "a", "b", *words).returncode, 2)
        self.assertEqual(run("report", "merge", "a", "--strict-compare").returncode, 2)


if __name__ == "__main__":
    program.main(__doc__)
