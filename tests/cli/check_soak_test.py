# SPDX-License-Identifier: MIT
"""The stage `soak` of `check`: all devices at once under load, and each fault that it should find.

Fakes as in check_test.py. Usage: check_soak_test.py PROGRAM [unittest options].
"""
import program
from check_test import Check, failed, fakes, small
from program import clean_environment, run


class Soak(Check):
    """All devices at once under load. The digest kernel runs only then, so that faults begin with
    its first launch."""
    BEGIN = "hiptool_tensor_digests"

    def soak(self, code, *words, seconds="1s", **faults):
        return self.document(*small("soak"), "--duration", seconds, *words, code=code,
                             environment=fakes(**faults))

    def codes(self, document):
        return {(failure["device"], failure["code"]) for failure in document["failures"]}

    def test_two_on_the_cpu(self):
        document = self.document(
            "check", "--device", "cpu:0,cpu:1", "--stage", "soak", "--duration", "2s", "--size",
            "64KiB", "--timeout", "200", environment=clean_environment(HIPTOOL_CPU_DEVICES="2"))
        self.assertEqual({(one["device"], one["status"]) for one in document["stages"]
                          if one["stage"] == "soak"}, {("cpu:0", "passed"), ("cpu:1", "passed")})
        soaked = {(one["load"], one["destination"]): one for one in document["measurements"]}
        self.assertEqual(set(soaked), {(load, device) for load in ("products", "memory", "copies")
                                       for device in ("cpu:0", "cpu:1")})
        for (load, _), one in soaked.items():
            self.assertGreater(one["checked"], 0)
            self.assertGreater(len(one["rates"]), 1, one["label"])
            self.assertEqual(len(one["rates"]), len(one["samples_s"]))
            self.assertLessEqual(one["least_per_s"], one["median_per_s"])
            self.assertLessEqual(one["median_per_s"], one["most_per_s"])
            self.assertGreaterEqual(one["ran_s"], 2 if load == "products" else 1.3)
            self.assertEqual(one["pulses"], 3 if load == "products" else 0)

    def test_every_format(self):
        document = self.verdict("soak", 0, "--duration", "1s",
                                stdout_formats=("table", "csv", "markdown"))
        self.assertEqual(document["chosen_stages"], ["soak"])
        page = self.folder / "page.html"
        table = self.folder / "table.csv"
        run(*small("soak"), "--duration", "1s", "--export", f"html={page}", "--export",
            f"csv={table}", environment=fakes())
        text = page.read_text(encoding="utf-8")
        self.assertRegex(text, "soak.products.f(16|32) over time")
        self.assertIn("rates of each second", text)
        rows = table.read_text(encoding="utf-8").splitlines()
        self.assertIn("deviation_per_s", rows[0])
        self.assertEqual(sum("soak.memory" in row for row in rows), 2)

    def test_its_place_among_levels(self):
        result = run("check", "--level", "long", "--stage", "memory", "--duration", "1s")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("--duration", result.stderr)
        for text in ("0", "10x", "-1s", "8d", "m", ""):
            result = run("check", "--duration", text)
            self.assertEqual(result.returncode, 2, result)

    def test_a_gpu_that_slows(self):
        document = self.soak(1, "--spread", "60%", seconds="8s", FAKE_CUDA_SLOW_KERNEL="1:100",
                             FAKE_CUDA_SLOW_AFTER=f"1:2.5:{self.BEGIN}")
        self.assertIn(("nvidia:1", "HT-SOAK-SLOWS"), self.codes(document))
        reason = next(failure["reason"] for failure in document["failures"]
                      if failure["device"] == "nvidia:1")
        self.assertRegex(reason, r"slows after \S+ m?s: \S+ \S+ in the first third")

    def test_an_element_that_is_wrong_once(self):
        for kernel, load, code in (("hiptool_memtest_write", "memory", "HT-MEMORY-DATA"),
                                   ("hiptool_gemm_f32", "products", "HT-KERNEL-DATA")):
            with self.subTest(kernel):
                document = self.soak(5, FAKE_CUDA_FLAKY=f"1:{kernel}", FAKE_CUDA_FLAKY_AT="1:12")
                self.assertEqual(self.codes(document), {("nvidia:1", code)})
                wrong = [(one["destination"], one["load"], one["wrong_rounds"])
                         for one in document["measurements"] if one["status"] != "ok"]
                self.assertEqual(wrong, [("nvidia:1", load, 1)])
                self.assertRegex(document["failures"][0]["reason"], f"after .* of {load}$")

    def test_a_counter_that_rises(self):
        document = self.soak(1, **self.with_nvml(
            FAKE_NVML_COUNTERS=str(self.folder / "counters"),
            FAKE_CUDA_GROWS=f"1:{self.BEGIN}", FAKE_CUDA_GROWTH="0000:01:00.0 uncorrected 1"))
        self.assertEqual(self.codes(document), {("nvidia:1", "HT-ECC-UNCORRECTED")})
        self.assertEqual(document["failures"][0]["stage"], "soak")

    def test_the_temperature_of_the_memory(self):
        document = self.soak(0, **self.with_nvml(FAKE_NVML_MEMORY_C="94"))
        loads = [one["telemetry"] for one in document["stages"] if one["device"]]
        self.assertEqual({(load["most_memory_temperature_c"], load["memory_temperature_limit_c"])
                          for load in loads}, {(94, 95)})
        document = self.soak(1, **self.with_nvml(FAKE_NVML_MEMORY_C="95"))
        self.assertEqual({code for _, code in self.codes(document)}, {"HT-MEMORY-HEAT"})

    def test_a_gpu_that_hangs_leaves_the_others(self):
        document = self.soak(6, "--timeout", "5", FAKE_CUDA_HANG=f"1:{self.BEGIN}")
        self.assertEqual(failed(document), [("nvidia:1", "soak")])
        self.assertIn(("nvidia:1", "HT-HANG"), self.codes(document) | {
            (fault["what"].split("@")[1], fault["code"]) for stage in document["stages"]
            for fault in stage["faults"]})

    def test_an_interrupt_keeps_what_was_measured(self):
        begun = self.folder / "begun"
        process = program.start(
            *small("soak"), "--duration", "1h", "--format", "json",
            environment=fakes(FAKE_NVML_COUNTERS=str(begun), FAKE_CUDA_GROWTH="begun",
                              FAKE_CUDA_GROWS="1:hiptool_gemm_f32", FAKE_CUDA_GROWS_AT="1:12"))
        program.wait_until(begun.exists, "a round of products in the soak")
        process.send_signal(program.signal.SIGINT)
        out, errors = process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 130, errors)
        document = self.assert_document(out, "check.schema.json")
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual({one["status"] for one in document["stages"]}, {"skipped"})
        measured = [one for one in document["measurements"]
                    if (one["destination"], one["load"]) == ("nvidia:1", "products")]
        self.assertEqual(len(measured), 1)
        self.assertGreater(measured[0]["runs"], 0, measured[0])
        self.assertGreater(measured[0]["flops_per_s"], 0, measured[0])
        self.assertRegex(measured[0]["reason"], "interrupted after")

    def test_an_interrupt_in_every_format(self):
        self.verdict("memory,soak", 130, "--duration", "1h", stop_at="nvidia:1 memory")


if __name__ == "__main__":
    program.main(__doc__)
