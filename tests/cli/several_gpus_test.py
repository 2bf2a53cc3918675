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

    def test_a_proof_takes_each_replica(self):
        model = str(self.folder / "m.gguf")
        self.assertEqual(run("make-model", model, "--architecture", "llama").returncode, 0)
        words = ["prove", model, "-d", "all", "--split", "replicate"]
        every = [f"nvidia:{i}" for i in range(3)]
        document, first = self.verdict(*words, code=0)
        self.assertRegex(first, "^proved: m.gguf computes right on each of nvidia:0-2: ")
        self.assertEqual((document["prove"]["devices"], document["not_examined"]), (every, []))
        for device in every:
            with self.subTest(device=device):
                document, first = self.verdict(
                    *words, FAKE_CUDA_IDLE=f"{device[-1]}:hiptool_embedding_rows")
                right = {"nvidia:0": "nvidia:1-2", "nvidia:1": "nvidia:0, nvidia:2",
                         "nvidia:2": "nvidia:0-1"}[device]
                self.assertRegex(first, f"^wrong: m.gguf on {device}: .*; right on {right}$")
                self.assert_one_failure(document, device, "HT-MODEL-DATA")
                self.assertEqual({one["device"]: one["status"]
                                  for one in document["prove"]["replicas"]},
                                 {other: "wrong" if other == device else "right"
                                  for other in every})
                self.assertEqual(document["prove"]["first_wrong"]["device"], device)

    def test_a_wrong_replica_remains_the_result_if_the_next_one_fails(self):
        model = str(self.folder / "m.gguf")
        self.assertEqual(run("make-model", model, "--architecture", "llama").returncode, 0)
        document, first = self.verdict(
            "prove", model, "-d", "all", "--split", "replicate",
            FAKE_CUDA_IDLE="0:hiptool_embedding_rows", FAKE_CUDA_FAIL="1:hiptool_embedding_rows")
        self.assertRegex(first, "^wrong: m.gguf on nvidia:0: ")
        self.assert_one_failure(document, "nvidia:0", "HT-MODEL-DATA")
        self.assertEqual([(one["device"], one["status"])
                          for one in document["prove"]["replicas"]], [("nvidia:0", "wrong")])

    def test_devices_without_tensors_are_named(self):
        """A model of three layers is on at most three of five GPUs."""
        model = str(self.folder / "m.gguf")
        self.assertEqual(run("make-model", model, "--architecture", "llama").returncode, 0)
        for command in "prove", "load":
            with self.subTest(command=command):
                document = check_one_verdict(
                    self, [command, model, "-d", "all", "--split", "layer"], 0,
                    fakes(count=5), stdout_formats=())
                empty = [one["id"] for one in document["devices"] if one["tensors"] == 0]
                self.assertEqual(empty, ["nvidia:3", "nvidia:4"])
                self.assertEqual(document["not_examined"], empty)
                first = document["shown"]["lines"][0]["text"]
                self.assertIn(" on nvidia:0-2", first)
                self.assertTrue(first.endswith("; not examined: nvidia:3-4"), first)

    def test_a_wrong_word_of_memory_is_not_a_missed_fault(self):
        """The fake flips bit 4 of word 1000; the self-test plants bit 10 of the last word."""
        words = ["check", "--stage", "memory", "--size", "64KiB", "--spread", "90%", "-d",
                 "nvidia:0,nvidia:1", "--timeout", "200", "--format", "json"]
        for fault, kernel in ("FLAKY", "write"), ("IDLE", "check"):
            with self.subTest(fault=fault):
                found = run(*words, environment=fakes(
                    count=2, **{f"FAKE_CUDA_{fault}": f"1:hiptool_memtest_{kernel}"}))
                self.assertEqual(found.returncode, 5, found.stdout)
                reasons = [one["reason"] for stage in json.loads(found.stdout)["stages"]
                           for one in stage["faults"] if stage["device"] == "nvidia:1"]
                self.assertTrue(reasons)
                for reason in reasons:
                    self.assertEqual("self-test fault was missed" in reason, fault == "IDLE",
                                     reason)

    def test_a_hang_is_not_blamed_on_the_other_gpus(self):
        """A stage of all GPUs that does not return after a known hang follows from that hang."""
        found = run("check", "--stage", "kernels,collective,soak", "--duration", "2s", "--size",
                    "64KiB", "--spread", "90%", "--timeout", "5", "--format", "json",
                    environment=fakes(FAKE_CUDA_HANG="1:hiptool_stream_triad_f32"))
        document = self.assert_document(found.stdout, "check.schema.json")
        failed = [(stage["device"], stage["stage"]) for stage in document["stages"]
                  if stage["status"] == "failed"]
        self.assertEqual(failed, [("nvidia:1", "kernels")])
        self.assertEqual([one["device"] for one in document["failures"]], ["nvidia:1"])
        ring = [one for one in document["measurements"]
                if one["id"].startswith("exchange-ring.") and one["status"] == "ok"]
        self.assertEqual([one["devices"] for one in ring], [["nvidia:0", "nvidia:2"]])
        soaked = {stage["device"]: stage["status"] for stage in document["stages"]
                  if stage["stage"] == "soak"}
        self.assertEqual(soaked, {"nvidia:0": "passed", "nvidia:1": "skipped",
                                  "nvidia:2": "passed"})

    def test_wrong_data_of_a_gpu_that_is_then_held_up(self):
        """nvidia:0 computes wrong, then gets no answer after the hang of nvidia:1; nvidia:2 gets
        none either, without a fault of its own."""
        words = ["check", "--stage", "memory,kernels", "--size", "64KiB", "--spread", "90%",
                 "--timeout", "5"]
        faults = {"FAKE_CUDA_HANG": "1:hiptool_memtest_check,0:hiptool_fma_f32,2:hiptool_fma_f32",
                  "FAKE_CUDA_FLAKY": "0:hiptool_stream_triad_f32"}
        document, _ = self.verdict(*words, **faults)
        self.assertEqual({(one["device"], one["stage"], one["code"])
                          for one in document["failures"]},
                         {("nvidia:0", "kernels", "HT-KERNEL-DATA"),
                          ("nvidia:1", "memory", "HT-HANG")})
        status = {one["device"]: one["status"] for one in document["stages"]
                  if one["stage"] == "kernels"}
        self.assertEqual(status, {"nvidia:0": "failed", "nvidia:1": "skipped",
                                  "nvidia:2": "skipped"})
        self.assertFalse(any(one["passed"] for one in document["devices"]))
        triads = {one["destination"]: one["status"] for one in document["measurements"]
                  if one["id"].startswith("stream-triad.f32.")}
        self.assertEqual(triads, {"nvidia:0": "mismatch", "nvidia:2": "ok"})

    def test_copies_that_a_hang_holds_up(self):
        """The copy from nvidia:2 to nvidia:3 gets no answer after the hang of that from nvidia:0 to
        nvidia:1, both later than the doctor's one copy to each; no device passes with copies that
        did not end."""
        words = ["check", "--stage", "copy,kernels", "--size", "64KiB", "--spread", "90%",
                 "--timeout", "5"]
        document, _ = self.verdict(*words, code=6, FAKE_CUDA_DEVICES="4",
                                   FAKE_CUDA_SLOW_PEER="0:100000000,2:100000000",
                                   FAKE_CUDA_SLOW_PEER_AT="0:7,2:7")
        self.assertEqual([(one["device"], one["code"]) for one in document["failures"]],
                         [("nvidia:0", "HT-HANG")])
        copied = {one["device"]: one for one in document["stages"] if one["stage"] == "copy"}
        for device in "nvidia:1", "nvidia:2", "nvidia:3":
            self.assertEqual([one["status"] for one in document["measurements"]
                              if one["id"] == f"h2d.pinned.copy.64KiB@{device}"], ["ok"])
            self.assertEqual(copied[device]["status"], "skipped")
            self.assertIn("no answer after nvidia:0 hung", copied[device]["reason"])
        self.assertFalse(any(one["passed"] for one in document["devices"]))

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
