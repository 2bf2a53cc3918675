# SPDX-License-Identifier: MIT
"""Of several GPUs the one with a fault is named, in every format.

FAKE_CUDA names the fake of the CUDA driver. Usage: several_gpus_test.py PROGRAM [unittest options].
"""
import json
import os
import re
import xml.etree.ElementTree as xml

import program
from load_test import write_safetensors
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict


def fakes(count=3, **more):
    return clean_environment(**{
        "HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"],
        "HIPTOOL_LIBRARY_PATH": os.environ["FAKE_BLAS_FOLDER"], "FAKE_CUDA_NAME": "Fake GPU",
        "FAKE_CUDA_UNITS": "2", "FAKE_CUDA_DEVICES": str(count),
        **more})


class SeveralGpus(CliTest):
    def verdict(self, *words, code=5, **faults):
        """The document and its first line, which every other format has too."""
        document = check_one_verdict(self, words, code, fakes(**faults), stdout_formats=())
        return document, document["shown"]["lines"][0]["text"]

    def exports(self, *words, **faults):
        """The messages of JUnit's failures by case, and Prometheus' text."""
        paths = {name: self.folder / f"out.{name}" for name in ("junit", "prom")}
        run(*words, "-q", *(word for name, path in paths.items()
                            for word in ("--export", f"{name}={path}")),
            environment=fakes(**faults))
        cases = xml.parse(paths["junit"]).getroot().iter("testcase")
        failures = {case.get("name"): case.find("failure").get("message") for case in cases
                    if case.find("failure") is not None}
        return failures, paths["prom"].read_text(encoding="utf-8")

    def assert_one_failure(self, document, device, code):
        failures = document["failures"]
        self.assertEqual([(one["device"], one["code"]) for one in failures], [(device, code)])
        self.assertTrue(failures[0]["action"])
        self.assertIn("to do: " + failures[0]["action"],
                      [line["text"] for line in document["shown"]["lines"]])

    def assert_prometheus_names(self, text, device, code):
        found = re.findall(r'^hiptool_check\{.*device="([^"]*)".*code="([^"]*)"', text, re.M)
        self.assertEqual(found, [(device, code)])

    def test_wrong_data_of_a_load(self):
        """Each GPU has three tensors of 2, 1 and 1 pieces of 16 KiB."""
        model = str(write_safetensors(self.folder / "m.safetensors", {
            "a": os.urandom(20_000), "b": os.urandom(16_384), "c": os.urandom(3)}))
        for verify, wrong, fault in (
                ("full", "4", {"FAKE_CUDA_IDLE": "1:hiptool_tensor_digests"}),
                ("readback", r"\d", {"FAKE_CUDA_CORRUPT_FROM": "1:4096"})):
            with self.subTest(verify=verify):
                words = ["load", model, "-d", "all", "--split", "replicate", "--verify", verify]
                document, first = self.verdict(*words, **fault)
                self.assertRegex(first, f"^WRONG DATA on nvidia:1: {wrong} of 12 pieces on "
                                        "nvidia:0-2 differ from the file$")
                self.assert_one_failure(document, "nvidia:1", "HT-COPY-DATA")
                self.assertEqual(document["failures"][0]["expected"],
                                 "4 pieces equal to the file")
                self.assertRegex(document["failures"][0]["got"], f"^{wrong} that differ$")
                failures, prometheus = self.exports(*words, **fault)
                self.assertIn("data in the memory of nvidia:1", failures)
                self.assert_prometheus_names(prometheus, "nvidia:1", "HT-COPY-DATA")

    def test_differences_beyond_those_that_are_listed_have_a_device_too(self):
        """Of 70 tensors on each GPU, 64 are listed, all of the first of two bad GPUs."""
        model = str(write_safetensors(self.folder / "m.safetensors", {
            f"t{i}": os.urandom(16) for i in range(70)}))
        document, first = self.verdict(
            "load", model, "-d", "all", "--split", "replicate", "--verify", "full",
            FAKE_CUDA_IDLE="0:hiptool_tensor_digests,2:hiptool_tensor_digests")
        self.assertEqual({one["device"] for one in document["verify"]["mismatches"]}, {"nvidia:0"})
        self.assertEqual(first, "WRONG DATA on nvidia:0, nvidia:2: 140 of 210 pieces on "
                                "nvidia:0-2 differ from the file")
        self.assertEqual([one["device"] for one in document["failures"]], ["nvidia:0", "nvidia:2"])

    def test_wrong_result_of_a_kernel(self):
        fault = {"FAKE_CUDA_FLAKY": "1:hiptool_stream_triad_f32"}
        words = ["run-kernel", "stream-triad", "--dtype", "f32", "-d", "all", "--size", "64KiB",
                 "--samples", "1"]
        document, first = self.verdict(*words, **fault)
        self.assertEqual(
            first, "WRONG RESULTS of 1 on nvidia:1: 2 of 3 kernel runs right on nvidia:0-2")
        self.assert_one_failure(document, "nvidia:1", "HT-KERNEL-DATA")
        failures, prometheus = self.exports(*words, **fault)
        self.assertEqual(list(failures), ["stream-triad.f32.64KiB@nvidia:1"])
        self.assertRegex(*failures.values(), r"^1 value wrong, the first at \d+, bits 0x\w+, ")
        self.assert_prometheus_names(prometheus, "nvidia:1", "HT-KERNEL-DATA")

    def test_wrong_data_of_a_copy(self):
        document, first = self.verdict("bench-copy", "-d", "all", "--kind", "h2d", "--size",
                                       "64KiB", "--samples", "1",
                                       FAKE_CUDA_CORRUPT_FROM="1:65536")
        self.assertRegex(first, r"^WRONG DATA on nvidia:1 in 1 of 3 measurements on nvidia:0-2 in ")
        self.assert_one_failure(document, "nvidia:1", "HT-COPY-DATA")

    def test_expected_and_found_values_differ_in_print(self):
        """The fake flips low bits, so that six digits of both numbers are the same."""
        found = run("run-kernel", "stream-triad", "--dtype", "f32", "-d", "nvidia:0", "--size",
                    "64KiB", "--samples", "1", "--format", "json",
                    environment=fakes(FAKE_CUDA_FLAKY="0:hiptool_stream_triad_f32"))
        document = json.loads(found.stdout)
        wrong = document["measurements"][0]["wrong"]
        text = "\n".join(note["text"] for note in document["shown"]["notes"])
        expected, got = re.search(r"expected (\S+), got (\S+), xor", text).groups()
        self.assertNotEqual(expected, got)
        self.assertAlmostEqual(float(expected), wrong["expected"], delta=1e-4)
        self.assertAlmostEqual(float(got), wrong["got"], delta=1e-4)


if __name__ == "__main__":
    program.main(__doc__)
