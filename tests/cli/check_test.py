# SPDX-License-Identifier: MIT
"""`check`: each fault is found by the stage that should, and every format carries one verdict.

FAKE_CUDA names the fake of the CUDA driver, FAKE_BLAS_FOLDER the folder of fake libraries; their
variables plant the faults. Usage: check_test.py PROGRAM [unittest options].
"""
import csv
import io
import os

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict

# Fakes share the processor, so that their rates differ by themselves: only a large spread counts.
SMALL = ["check", "--size", "64KiB", "--spread", "90%", "--timeout", "200"]


def small(stages):
    """SMALL with these stages; those without sizes and rates refuse these options."""
    rated = {"copy", "memory", "kernels", "libraries", "soak"} & set(stages.split(","))
    return [*SMALL[:1], *(SMALL[1:5] if rated else ()), *SMALL[5:], "--stage", stages]
ON_CPU = ["check", "--device", "cpu", "--size", "64KiB", "--timeout", "200"]


def fakes(**more):
    return clean_environment(**{
        "HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"],
        "HIPTOOL_LIBRARY_PATH": os.environ["FAKE_BLAS_FOLDER"], "FAKE_CUDA_NAME": "Fake GPU",
        "FAKE_CUDA_UNITS": "2", **more})


def failed(document):
    """(device, stage) of each stage that failed."""
    return [(stage["device"], stage["stage"]) for stage in document["stages"]
            if stage["status"] == "failed"]


class Check(CliTest):
    def assert_devices_agree(self, document):
        """Devices pass all with exit code 0, and none if the run did not come to its end."""
        passed = [device["passed"] for device in document["devices"]]
        if document["exit_code"] == 0:
            self.assertTrue(passed and all(passed), document["devices"])
        elif document["exit_code"] in (1, 5):
            self.assertFalse(passed and all(passed), document["devices"])
        else:
            self.assertFalse(any(passed), document["devices"])

    def verdict(self, stages, code, *words, stdout_formats=(), stop_at=None, **faults):
        document = check_one_verdict(self, [*small(stages), *words], code,
                                     environment=fakes(**faults), stdout_formats=stdout_formats,
                                     stop_at=stop_at)
        self.assert_devices_agree(document)
        return document

    def document(self, *words, code=0, environment=None):
        result = run(*words, "--format", "json", environment=environment or fakes())
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        document = self.assert_document(result.stdout, "check.schema.json")
        self.assert_devices_agree(document)
        return document

    def with_nvml(self, **more):
        libraries = self.folder / "lib"
        libraries.mkdir(exist_ok=True)
        link = libraries / "libnvidia-ml.so.1"   # the name by which it is opened
        if not link.exists():
            link.symlink_to(os.environ["FAKE_NVML"])
        return {"LD_LIBRARY_PATH": str(libraries), "FAKE_NVML_BUS_IDS": "0000:00:00.0,0000:01:00.0",
                **more}


class Accepted(Check):
    def test_all_stages_on_the_cpu(self):
        document = self.document(*ON_CPU, environment=clean_environment())
        self.assertEqual([stage["stage"] for stage in document["stages"]],
                         ["doctor", "copy", "memory", "kernels", "operations", "libraries",
                          "model", "coherence", "collective"])
        ran = {stage["stage"] for stage in document["stages"] if stage["status"] == "passed"}
        self.assertLessEqual({"copy", "memory", "kernels", "operations", "model"}, ran)
        self.assertEqual([device["passed"] for device in document["devices"]], [True])

    def test_a_stage_that_is_named_twice_runs_once(self):
        result = run(*ON_CPU, "--stage", "copy,copy")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^accepted: 1 device, 1 stage( each)?, in ")
        self.assertEqual(result.stdout.count("  copy  "), 1)

    def test_two_gpus_in_every_format(self):
        document = self.verdict("doctor,copy,memory", 0,
                                stdout_formats=("csv", "markdown"))
        self.assertEqual({(stage["device"], stage["stage"]) for stage in document["stages"]},
                         {(device, stage) for device in (None, "nvidia:0", "nvidia:1")
                          for stage in ("doctor", "copy", "memory")} - {(None, "memory")})
        self.assertTrue(all(device["passed"] for device in document["devices"]))
        labels = {cell["id"].split(".")[0] for cell in document["measurements"]}
        self.assertLessEqual({"h2d", "d2h", "d2d", "h2d-all", "d2h-all", "p2p-write",
                              "memtest-address"}, labels)

    def test_the_doctor_alone(self):
        document = self.verdict("doctor", 0)
        self.assertEqual({stage["stage"] for stage in document["stages"]}, {"doctor"})
        self.assertRegex(document["shown"]["lines"][0]["text"], r"^accepted: 2 GPUs, 1 stage each")

    def test_without_a_gpu_the_first_line_says_so(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        environment = fakes(FAKE_CUDA_INIT="999")
        words = ["check", "--size", "64KiB", "--timeout", "200"]
        document = self.document(*words, "--stage", "doctor,copy", environment=environment)
        first = document["shown"]["lines"][0]["text"]
        self.assertRegex(first, "^accepted: no GPU found, CPU checked: 1 device, 2 stages each ")
        self.assertIn("nvidia: cuInit failed", str(document["shown"]["notes"]))
        document = self.document("check", "--stage", "doctor", environment=environment, code=3)
        self.assertEqual(document["shown"]["lines"][0]["text"],
                         "refused: no GPU found; no stage could be run [HT-NOT-RUN]")
        named = self.document(*words, "--stage", "copy", "--device", "cpu", environment=environment)
        self.assertRegex(named["shown"]["lines"][0]["text"], "^accepted: 1 device, ")

    def test_the_model_and_the_operations(self):
        document = self.verdict("operations,model", 0)
        self.assertEqual({stage["status"] for stage in document["stages"]}, {"passed"})

    def test_libraries(self):
        document = self.document(*small("libraries"), "--device", "nvidia:0")
        self.assertEqual(document["stages"][0]["status"], "passed")
        self.assertIn("matmul by cublas", document["stages"][0]["figures"])

    def test_a_model_of_the_user(self):
        model = self.folder / "tiny.gguf"
        self.assertEqual(run("make-model", model, "--architecture", "qwen3").returncode, 0)
        document = self.document(*small("model"), "--device", "cpu", "--model", str(model),
                                 environment=clean_environment())
        self.assertEqual(document["model"], str(model))
        self.assertEqual(document["stages"][0]["status"], "passed")

    def test_a_real_model_may_differ_more_than_the_made_one(self):
        model = self.folder / "tiny.gguf"
        made = run("make-model", model, "--architecture", "qwen3", "--dtype", "F32")
        self.assertEqual(made.returncode, 0, made.stderr)
        # A mantissa bit of a weight has the effect of the many layers of a real model.
        found = self.document(*small("model"), "--device", "nvidia:0", "--model",
                              str(model), environment=fakes(FAKE_CUDA_FLIP_WEIGHT="0:402"))
        stage = found["stages"][0]
        self.assertEqual(stage["status"], "passed")
        self.assertRegex(stage["figures"],
                         r"^8 tokens, logits within \d\.\de-05 standard deviations of float64$")


class Faults(Check):
    def test_a_slow_link(self):
        document = self.verdict("copy,memory", 1, FAKE_CUDA_SLOW_COPY="1:20", FAKE_CUDA_DEVICES="3")
        self.assertEqual(failed(document), [("nvidia:1", "copy")])
        self.assertEqual(document["failures"][0]["what"], "copy nvidia:1")
        self.assertEqual([device["passed"] for device in document["devices"]],
                         [True, False, True])
        faults = document["stages"][1]["faults"]
        own = [fault for fault in faults if "nvidia:1>" not in fault["what"]]
        self.assertTrue(own)
        for fault in own:
            self.assertRegex(fault["reason"], r"(% below|is 1/\d+ of) its 2 siblings")
        self.assertEqual({fault["code"] for fault in own}, {"HT-SIBLING-RATE"})

    def test_two_gpus_are_not_compared(self):
        document = self.document(*small("copy"), environment=fakes(FAKE_CUDA_SLOW_COPY="1:20"))
        self.assertEqual(document["without_limits"], ["Fake GPU"])
        self.assertEqual(document["shown"]["lines"][1]["text"],
                         "no limit known for Fake GPU: give --expect FILE")

    def test_one_of_eight_that_is_slow(self):
        document = self.document(*small("copy"), "--level", "prolog", code=1, environment=fakes(
            FAKE_CUDA_SLOW_COPY="5:20", FAKE_CUDA_DEVICES="8"))
        self.assertEqual(failed(document), [("nvidia:5", "copy")])
        self.assertRegex(document["stages"][5]["reason"], r"(% below|is 1/\d+ of) its 7 siblings")

    def test_eight_that_are_all_slow(self):
        # No fake is as fast as an H100.
        words = ["check", "--level", "prolog", "--stage", "kernels", "--size", "16MiB",
                 "--timeout", "200"]
        eight = {"FAKE_CUDA_DEVICES": "8"}
        document = self.document(*words, code=1, environment=fakes(
            FAKE_CUDA_NAME="NVIDIA H100 80GB HBM3", **eight))
        self.assertEqual(document["without_limits"], [])
        self.assertEqual(failed(document), [(f"nvidia:{i}", "kernels") for i in range(8)])
        for stage in document["stages"]:
            self.assertRegex(stage["reason"], r"^stream-triad\.f32\.16MiB: .*, at least 2\.35 TB/s "
                             r"expected of NVIDIA H100 80GB HBM3 \(70 % of the datasheet\)$")
        document = self.document(*words, "--spread", "99%", environment=fakes(**eight))
        self.assertEqual(document["shown"]["lines"][1]["text"],
                         "no limit known for Fake GPU: compared with siblings only")

    def test_a_flaky_word_of_memory(self):
        document = self.verdict("copy,memory", 5, FAKE_CUDA_FLAKY="1:hiptool_memtest_write",
                                stdout_formats=("csv", "markdown"))
        self.assertEqual(failed(document), [("nvidia:1", "memory")])
        fault = document["stages"][-1]["faults"][0]
        self.assertRegex(fault["reason"], "1 value wrong, the first at 1000, bits 0x10")
        self.assertIn("reset", fault["action"])

    def test_a_library_that_computes_wrong(self):
        document = self.verdict("memory,libraries", 5, "--device", "nvidia:0", FAKE_BLAS="block")
        self.assertEqual(failed(document), [("nvidia:0", "libraries")])
        self.assertRegex(document["stages"][-1]["action"], "update or reinstall cublas")

    def test_a_library_that_hangs_leaves_the_device_usable(self):
        limit_s = "40" if program.is_sanitized() else "5"
        document = self.verdict("libraries,model", 6, "--device", "nvidia:0", "--timeout", limit_s,
                                FAKE_CUBLAS="hang")
        self.assertEqual(failed(document), [("nvidia:0", "libraries")])
        self.assertEqual(document["stages"][-1]["status"], "passed")

    def test_a_missing_peer(self):
        document = self.verdict("copy", 1, FAKE_CUDA_NO_PEER="0:1")
        self.assertEqual(failed(document), [("nvidia:0", "copy")])
        self.assertIn("no access to the memory of nvidia:1", document["stages"][0]["reason"])

    def test_no_peers_at_all_is_no_fault(self):
        document = self.document(*SMALL, "--stage", "copy",
                                 environment=fakes(FAKE_CUDA_NO_PEER="*"))
        self.assertIn("skipped", {cell["status"] for cell in document["measurements"]})

    def test_a_throttled_gpu(self):
        document = self.verdict("copy,kernels", 1, FAKE_CUDA_SLOW_KERNEL="1:30",
                                FAKE_CUDA_DEVICES="3")
        self.assertEqual(failed(document), [("nvidia:1", "kernels")])

    def test_a_gpu_that_its_hardware_slows_down(self):
        for reasons, text in (("0x40", "thermal slowdown by hardware"),
                              ("0x88", "hardware slowdown, power brake")):
            document = self.verdict(
                "copy,kernels", 1, **self.with_nvml(
                    FAKE_NVML_REASONS=reasons, FAKE_NVML_REASONS_AT="0000:01:00.0"))
            self.assertEqual(failed(document), [("nvidia:1", "copy"), ("nvidia:1", "kernels")])
            for stage in document["stages"]:
                for fault in stage["faults"]:
                    self.assertEqual(fault["what"], "throttle@nvidia:1")
                    self.assertEqual(fault["reason"], f"the hardware lowers its clocks: {text}")
                    self.assertRegex(fault["action"], "airflow.*power supply")

    def test_a_counter_that_grows_under_a_stage(self):
        for counter, count, exit_code, code, action in (
                ("corrected", 5, 0, "HT-ECC-CORRECTED", "none"),
                ("uncorrected", 1, 1, "HT-ECC-UNCORRECTED", "reset-gpu"),
                ("remapped", 1, 1, "HT-ECC-REMAPPED", "reset-gpu"),
                ("replays", 50, 1, "HT-PCIE-REPLAY", "config"),
                ("nvlink", 1, 1, "HT-NVLINK-ERROR", "reset-gpu")):
            with self.subTest(counter):
                counters = self.folder / f"counters-{counter}"
                document = self.verdict(
                    "copy,memory", exit_code, **self.with_nvml(
                        FAKE_NVML_COUNTERS=str(counters),
                        FAKE_CUDA_GROWS="1:hiptool_memtest_write",
                        FAKE_CUDA_GROWTH=f"0000:01:00.0 {counter} {count}"))
                self.assertEqual(failed(document), [("nvidia:1", "memory")] if exit_code else [])
                found = [(stage["stage"], stage["device"], finding["code"],
                          finding["action_class"])
                         for stage in document["stages"] if stage["stage"] != "doctor"
                         for finding in stage["faults"] + stage["warnings"]
                         if finding["code"] != "HT-COUNTERS-UNREAD"]
                self.assertEqual(found, [("memory", "nvidia:1", code, action)])

    def test_sensors_beside_each_rate(self):
        document = self.verdict("copy,memory", 0, **self.with_nvml())
        for measured in document["measurements"]:
            for load in measured["details"].get("telemetry", ()):
                self.assertEqual((load["median_clock_hz"], load["most_power_w"],
                                  load["most_temperature_c"]), (1980e6, 75.5, 41))
        loads = [stage["telemetry"] for stage in document["stages"] if stage["device"]]
        self.assertTrue(all(load["samples"] > 0 for load in loads), document["stages"])

    def test_sensors_of_stages_that_are_shorter_than_a_sample(self):
        # One sample takes 0.4 s: two clocks of each of two GPUs.
        document = self.verdict("copy,memory", 0, **self.with_nvml(FAKE_NVML_SLOW_MS="100"))
        loads = [stage["telemetry"] for stage in document["stages"] if stage["device"]]
        self.assertEqual(len(loads), 4)
        for load in loads:
            self.assertGreaterEqual(load["samples"], 1)
            self.assertEqual((load["median_clock_hz"], load["most_power_w"]), (1980e6, 75.5))

    def test_sensors_that_hang_in_a_stage_are_given_up_once(self):
        hang = self.folder / "hang"   # made with the launch
        faults = self.with_nvml(FAKE_NVML_COUNTERS=str(hang), FAKE_NVML_HANG=str(hang),
                                FAKE_CUDA_GROWS="1:hiptool_memtest_write",
                                FAKE_CUDA_GROWTH="0000:01:00.0 corrected 1")
        result = run("check", "--size", "64KiB", "--timeout", "20", "--stage",
                     "copy,memory,kernels", "--spread", "90%", "--format", "json",
                     environment=fakes(**faults))
        document = self.assert_document(result.stdout, "check.schema.json")
        self.assertEqual(failed(document), [])
        # It reads clocks by itself, and cannot.
        self.assertEqual([stage["status"] for stage in document["stages"]
                          if stage["stage"] == "kernels" and stage["device"]], ["passed", "passed"])
        warned = [(stage["stage"], warning["what"]) for stage in document["stages"]
                  for warning in stage["warnings"] if warning["code"] == "HT-COUNTERS-UNREAD"
                  and stage["stage"] != "doctor" and "do not respond" in warning["reason"]]
        self.assertEqual(warned, [("memory", "counters")])
        copied = [stage["telemetry"]["samples"] for stage in document["stages"]
                  if stage["stage"] == "copy" and stage["device"]]
        self.assertEqual(len(copied), 2)
        self.assertGreater(min(copied), 0)

    def test_sensors_in_every_format(self):
        words = ["check", "--size", "64KiB", "--timeout", "200", "--stage", "copy"]
        environment = fakes(**self.with_nvml())
        text = {output: run(*words, "--format", output, environment=environment).stdout
                for output in ("table", "csv", "markdown", "json")}
        written = self.folder / "accepted.json"
        written.write_text(text["json"], encoding="utf-8")
        for output in ("html", "prom"):
            text[output] = run("report", "render", written, "--format", output).stdout
        for output in ("table", "markdown", "html"):
            self.assertIn("Clocks (median), power and temperature", text[output], output)
            self.assertIn("1.98 GHz", text[output], output)
            self.assertIn("76 W", text[output], output)
        row = next(row for row in csv.DictReader(io.StringIO(text["csv"]))
                   if row["device"] == "nvidia:1")
        self.assertEqual((float(row["median_clock_hz"]), float(row["most_power_w"]),
                          float(row["most_temperature_c"])), (1980e6, 75.5, 41))
        self.assertIn('hiptool_stage_clock_hertz{stage="copy",device="nvidia:1"} 1.98e+09\n',
                      text["prom"])
        self.assertIn('hiptool_stage_power_watts{stage="copy",device="nvidia:0"} 75.5\n',
                      text["prom"])

    def test_a_power_cap_of_software_is_no_fault(self):
        document = self.verdict("copy,kernels", 0, **self.with_nvml(FAKE_NVML_REASONS="0x24"))
        kernels = [stage["figures"] for stage in document["stages"] if stage["stage"] == "kernels"]
        self.assertTrue(all("clocks held down: power cap" in figures for figures in kernels))
        heat = [(stage["stage"], stage["device"]) for stage in document["stages"]
                for warning in stage["warnings"] if warning["code"] == "HT-THROTTLE-HEAT"]
        self.assertEqual(heat, [("copy", "nvidia:0"), ("copy", "nvidia:1"),
                                ("kernels", "nvidia:0"), ("kernels", "nvidia:1")])

    def test_every_stage_sees_a_slowdown(self):
        document = self.verdict("memory", 1, **self.with_nvml(
            FAKE_NVML_REASONS="0x40", FAKE_NVML_REASONS_AT="0000:01:00.0"))
        self.assertEqual([(failure["stage"], failure["device"], failure["code"])
                          for failure in document["failures"]],
                         [("memory", "nvidia:1", "HT-THROTTLE")])

    def test_the_doctor_finds_a_hardware_slowdown_too(self):
        document = self.verdict("doctor", 1, **self.with_nvml(FAKE_NVML_REASONS="0x40"))
        self.assertIn("throttle@nvidia:0", str(document["stages"]))

    def test_a_wrong_kernel(self):
        document = self.verdict("model", 5, FAKE_CUDA_SKIP_KERNEL="hiptool_norm_rows_f32")
        self.assertEqual({stage for _, stage in failed(document)}, {"model"})

    def test_a_driver_that_does_not_start(self):
        document = self.verdict("doctor,copy", 6, "--timeout", "5", FAKE_CUDA_HOLD="init")
        self.assertEqual(failed(document), [("nvidia", "doctor")])
        self.assertEqual(document["error"]["code"], "timed_out")

    def test_a_device_that_hangs_is_left_behind(self):
        document = self.verdict("memory,operations", 6, "--timeout", "5",
                                FAKE_CUDA_HANG="1:hiptool_memtest_check")
        self.assertEqual(failed(document), [("nvidia:1", "memory")])
        status = {(stage["device"], stage["stage"]): stage["status"]
                  for stage in document["stages"]}
        self.assertEqual(status["nvidia:0", "memory"], "passed")
        self.assertEqual(status["nvidia:1", "operations"], "skipped")
        self.assertFalse(document["devices"][1]["passed"])

    def test_wrong_data_before_a_hang(self):
        document = self.document(*SMALL, "--stage", "memory,kernels", "--timeout", "5", code=5,
                                 environment=fakes(FAKE_CUDA_FLAKY="0:hiptool_memtest_write",
                                                   FAKE_CUDA_HANG="1:hiptool_memtest_check"))
        self.assertEqual(set(failed(document)), {("nvidia:0", "memory"), ("nvidia:1", "memory")})
        codes = {stage["exit_code"] for stage in document["stages"] if stage["exit_code"]}
        self.assertEqual(codes, {5, 6})

    def test_no_usable_device(self):
        result = run(*SMALL, "--platform", "nvidia", environment=fakes(FAKE_CUDA_INIT="999"))
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("platform nvidia is not usable", result.stderr)

    def test_interrupted(self):
        stages = "doctor,copy,memory,kernels,operations,libraries,model"
        for stop_at in ("machine doctor", "machine copy", "nvidia:1 memory", "nvidia:1 kernels",
                        "nvidia:1 operations", "nvidia:1 libraries"):
            with self.subTest(stop_at=stop_at):
                self.verdict(stages, 130, stop_at=stop_at)

    def test_interrupted_before_any_stage(self):
        path = self.folder / "e.json"
        result = self.interrupt("init", *SMALL, "--format", "json", "--write-expect", path,
                                environment=fakes())
        self.assertEqual(result.returncode, 130, result)
        document = self.assert_document(result.stdout, "check.schema.json")
        self.assertEqual(document["shown"]["lines"][0]["text"], "interrupted after 0 passed stages")
        self.assertNotIn("devices", result.stderr)
        self.assertFalse(path.exists())

    def test_nothing_could_be_run(self):
        document = self.verdict("libraries", 3, HIPTOOL_LIBRARY_PATH=str(self.folder))
        self.assertEqual({stage["status"] for stage in document["stages"]}, {"skipped"})

    def test_fewer_gpus_than_expected(self):
        path = self.folder / "four.json"
        four = fakes(FAKE_CUDA_DEVICES="4")
        document = self.document(*SMALL, "--stage", "copy", "--write-expect", str(path),
                                 "--margin", "99%", environment=four)
        self.assertEqual(len(document["devices"]), 4)
        self.document(*SMALL, "--stage", "copy", "--expect", str(path), environment=four)
        document = self.verdict("copy", 1, "--expect", str(path),
                                stdout_formats=("csv", "markdown"))
        self.assertEqual(failed(document), [(None, "doctor")])
        self.assertEqual(document["expect"]["gpus"],
                         [{"name": "Fake GPU", "expected": 4, "found": 2}])

    def test_a_reference_that_takes_too_long(self):
        model = self.folder / "large.gguf"
        made = run("make-model", model, "--architecture", "qwen3", "--size", "400MB")
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.document("check", "--device", "cpu", "--timeout", "0.00001", "--stage",
                                 "model", "--model", str(model), code=6,
                                 environment=clean_environment())
        self.assertEqual(document["error"]["code"], "timed_out")
        self.assertIn("too long for computing the reference", document["stages"][0]["reason"])
        self.assertIn("--timeout", document["stages"][0]["action"])

    def test_a_stage_that_is_named_twice_runs_once(self):
        document = self.document(*ON_CPU, "--stage", "copy,copy", environment=clean_environment())
        self.assertEqual(document["chosen_stages"], ["copy"])


class Prolog(Check):
    def setUp(self):
        super().setUp()
        self.words = ["check", "--level", "prolog", "--size", "64KiB", "--spread", "95%",
                      "--timeout", "200"]

    def test_its_stages(self):
        document = self.document(*self.words)
        self.assertEqual(document["level"], "prolog")
        self.assertEqual(document["chosen_stages"], ["doctor", "copy", "kernels"])
        self.assertEqual({cell["label"] for cell in document["measurements"]},
                         {"h2d.pinned.copy.64KiB", "stream-triad.f32.64KiB"})
        self.assertNotIn("libraries", {check["id"] for check in document["doctor"]})

    def test_the_devices_of_the_job(self):
        document = self.document(*self.words, "--device", "nvidia:1")
        self.assertEqual({stage["device"] for stage in document["stages"]}, {None, "nvidia:1"})

    def test_memory_that_others_left(self):
        document = self.document(*self.words, "--device", "nvidia:1", code=1,
                                 environment=fakes(**self.with_nvml()))
        self.assertEqual(failed(document), [("nvidia:1", "doctor")])
        fault, = (fault for stage in document["stages"] for fault in stage["faults"])
        self.assertEqual((fault["what"], fault["code"]),
                         ("memory-left@nvidia:1", "HT-MEMORY-LEFT"))
        self.assertRegex(fault["reason"], r"^held by others: .*\d+")
        self.assertRegex(fault["action"], r"sudo kill \d+")
        # A machine that is only examined may be in use.
        document = self.document("check", "--stage", "doctor", "--device", "nvidia:1",
                                 environment=fakes(**self.with_nvml()))
        self.assertIn("busy", {check["id"] for check in document["doctor"]
                               if check["severity"] == "warn"})


if __name__ == "__main__":
    program.main(__doc__)
