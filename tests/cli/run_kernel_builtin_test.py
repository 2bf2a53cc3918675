# SPDX-License-Identifier: MIT
"""`hiptool run-kernel NAME`: the built-in kernels.

Usage: run_kernel_builtin_test.py PROGRAM [unittest options]
"""
import csv
import io
import json
import os
import re
import signal
import time
import xml.etree.ElementTree

import program
from program import CliTest, clean_environment, run, run_on_terminal

QUICK = ("--device", "cpu", "--size", "64KiB", "--samples", "1")


class BuiltIn(CliTest):
    def run_kernel(self, *words, code=0, environment=None):
        result = run("run-kernel", *words, environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def document(self, *words, code=0, environment=None):
        result = self.run_kernel(*words, "--format", "json", code=code, environment=environment)
        return self.assert_document(result.stdout, "run-kernel.schema.json")

    def refused(self, *words, code=2):
        """Message and hint of a run that never opened a device."""
        document = self.document(*words, code=code)
        self.assertEqual(document["status"], "failed")
        self.assertNotIn("measurements", document)
        return document["error"]["message"], document["error"]["hint"] or ""


class List(BuiltIn):
    def test_families_of_every_kind(self):
        kernels = {kernel["name"]: kernel for kernel in self.document("--list")["kernels"]}
        for name, dtypes in (("stream-copy", "f32 f64"), ("stream-dot", "f32 f64"),
                             ("fma", "f32 f64 i32"), ("gemm", "f32 f16"), ("sum", "u32 f32 f64"),
                             ("dequantize", "q4_0 q6_k iq1_m mxfp4 tq2_0 q1_0 q2_0")):
            self.assertLessEqual(set(dtypes.split()), set(kernels[name]["dtypes"]), name)
        for name in ("stream-scale", "stream-add", "stream-triad", "stream-nstream", "read",
                     "write", "memset", "chase", "shared-read", "atomic-one", "launch",
                     "transpose", "softmax", "rope", "rmsnorm", "layernorm", "swiglu",
                     "memtest-walking", "memtest-address", "memtest-inversions",
                     "memtest-random", "memtest-modulo20"):
            self.assertTrue(kernels[name]["description"], name)

    def test_for_people(self):
        text = self.run_kernel("--list").stdout
        self.assert_width(text)
        self.assertIn("stream-triad", text)
        self.assertNotIn("\n  What it does", text)   # all groups are tables
        rows = list(csv.DictReader(io.StringIO(self.run_kernel("--list", "--format",
                                                               "csv").stdout)))
        self.assertIn("q4_0", next(row for row in rows if row["name"] == "dequantize")["dtypes"])


class Run(BuiltIn):
    def test_all_in_no_time(self):
        document = self.document("all", *QUICK)
        listed = {(kernel["name"], dtype) for kernel in self.document("--list")["kernels"]
                  for dtype in kernel["usual_dtypes"]}
        seen = {(result["kernel"], result["dtype"]) for result in document["measurements"]}
        self.assertEqual(seen, listed)
        for result in document["measurements"]:
            self.assertIn(result["status"], ("ok", "skipped"), result)
            if result["status"] == "skipped":
                self.assertTrue(result["reason"], result)
                continue
            self.assertGreater(result["checked"], 0, result)
            self.assertLessEqual(result["max_error"], result["tolerance"], result)
            self.assertEqual((len(result["samples_s"]), result["wrong"]), (1, None), result)
            self.assertGreater(result["median_s"], 0, result)

    def test_names_groups_types_and_sizes(self):
        document = self.document("stream", "gemm", "--dtype", "f64,f16", "--size", "64KiB,80KiB",
                                 "--samples", "2", "--device", "cpu")
        cells = [(result["kernel"], result["dtype"], len(result["samples_s"]))
                 for result in document["measurements"] if result["status"] == "ok"]
        self.assertEqual(cells.count(("stream-triad", "f64", 2)), 2)
        self.assertEqual(cells.count(("gemm", "f16", 2)), 1)  # one tile for both sizes
        self.assertNotIn("f32", {cell[1] for cell in cells})
        skipped = {result["kernel"]: result["reason"] for result in document["measurements"]
                   if result["status"] == "skipped"}
        self.assertEqual(skipped["memset"], "has none of the requested types")
        triad = [result["size_bytes"] for result in document["measurements"]
                 if result["kernel"] == "stream-triad"]
        self.assertEqual(triad, [65536, 81920])

    def test_ids_have_the_size_that_ran(self):
        # A product takes whole tiles, and on this device no larger one than 64 KiB.
        words = ("gemm", "fma", "--dtype", "f32", "--size", "65KiB,64KiB,1MiB,64KiB", "--samples",
                 "1", "--device", "cpu")
        document = self.document(*words, "--fail-below", "gemm.1MiB>=0.00001GFLOP/s",
                                 "--fail-below", "gemm.64K>=0.00001GFLOP/s")
        results = {result["id"]: result for result in document["measurements"]}
        self.assertEqual(set(results), {"gemm.f32.64KiB@cpu:0", "fma.f32@cpu:0"})
        gemm = results["gemm.f32.64KiB@cpu:0"]
        self.assertEqual((gemm["size_bytes"], gemm["elements"]), (65536, 128 * 128))
        self.assertEqual(gemm["requested_sizes_bytes"], [66560, 65536, 1 << 20])
        self.assertEqual(results["fma.f32@cpu:0"]["requested_sizes_bytes"], [])
        default = self.document("gemm", "--dtype", "f32", "--samples", "1", "--device", "cpu")
        self.assertEqual([(result["id"], result["requested_sizes_bytes"])
                          for result in default["measurements"]], [("gemm.f32.64KiB@cpu:0", [])])
        text = " ".join(self.run_kernel(*words).stdout.split())
        self.assertIn("64KiB@cpu:0: 65.0 KiB, 1.00 MiB requested; this kernel rounds them to "
                      "64.0 KiB", text)
        self.assertIn("1.00 MiB requested", text)
        self.assertNotIn("gemm.f32.64KiB@cpu:0: 64.0 KiB", text)
        result = self.document("memset", "--size", "0.5%", "--samples", "1", "--device",
                               "cpu")["measurements"][0]
        self.assertEqual(result["id"], "memset.u32.0.5%@cpu:0")

    def test_rates_are_bytes_over_time(self):
        triad = self.document("stream-triad", "--dtype", "f32", *QUICK)["measurements"][0]
        self.assertAlmostEqual(triad["bytes_per_s"] * triad["median_s"], 3 * 65536, delta=1)
        self.assertAlmostEqual(triad["flops_per_s"] * triad["median_s"], 2 * 65536 / 4, delta=1)
        self.assertEqual(triad["elements"], 65536 / 4)

    def test_a_share_of_the_memory(self):
        free = {}
        with open("/proc/meminfo", encoding="utf-8") as lines:
            for line in lines:
                name, value = line.split(":")
                free[name] = int(value.split()[0]) * 1024
        result = self.document("memtest-address", "--size", "0.1%", "--samples", "1", "--device",
                               "cpu")["measurements"][0]
        self.assertEqual(result["status"], "ok")
        self.assertLess(result["size_bytes"], free["MemTotal"] / 900)
        self.assertGreater(result["size_bytes"], 4096)

    def test_several_devices(self):
        text = self.run_kernel("memset", "--device", "cpu:0,cpu:1", *QUICK[2:],
                               environment=clean_environment(HIPTOOL_CPU_DEVICES="2")).stdout
        self.assertIn("2 of 2 kernel runs right on cpu:0-1, every result checked", text)
        self.assertRegex(text, r"\n\nmemset\.u32\.64KiB\nDevice .*\ncpu:0 .*\ncpu:1 .*\n\n")
        self.assert_width(text)
        text = self.run_kernel("memset", "stream-copy", "--device", "cpu:0,cpu:1", *QUICK[2:],
                               environment=clean_environment(HIPTOOL_CPU_DEVICES="2")).stdout
        self.assertRegex(text, r"\n\ncpu:0\nKernel .*(\n\S.*)+\n\ncpu:1\nKernel ")
        self.assert_width(text)

    def test_soak_takes_its_time_and_checks_all_along(self):
        start = time.monotonic()
        result = self.document("memset", "--time", "0.7", *QUICK)["measurements"][0]
        self.assertGreater(time.monotonic() - start, 0.7)
        self.assertGreater(len(result["samples_s"]), 10)
        self.assertEqual(result["checked"], len(result["samples_s"]) * 2 * 65536 // 4)

    def test_ctrl_c_keeps_what_was_done(self):
        steps = program.LockStep()
        with program.start("run-kernel", "memset", "write", "stream-copy", "--format", "json",
                           *QUICK, stderr=steps.writer) as process:
            steps.read_until("[1/4]")   # the first is done, the second cannot say so
            process.send_signal(signal.SIGINT)
            rest = steps.rest()
            out, _ = process.communicate(timeout=program.GUARD_S)
            rest.join()
        self.assertEqual(process.returncode, 130)
        document = self.assert_document(out, "run-kernel.schema.json")
        self.assertEqual(document["status"], "interrupted")
        self.assertIn([result["status"] for result in document["measurements"]],
                      (["ok"], ["ok"] * 2))


    def test_ctrl_c_in_the_middle_of_long_work_keeps_it(self):
        result = program.interrupt_computing("run-kernel", "fma", "--dtype", "f32", "--seconds",
                                             "600", "--format", "json", "--device", "cpu",
                                             cpu_s=2, loads=False)
        self.assertEqual(result.returncode, 130, result)
        document = self.assert_document(result.stdout, "run-kernel.schema.json")
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual([one["status"] for one in document["measurements"]], ["ok"])
        one = document["measurements"][0]
        self.assertGreater(one["flops_per_s"], 0)
        self.assertGreater(len(one["samples_s"]), 0)
        self.assertGreater(one["checked"], 0)
        self.assertRegex(one["reason"], r"^interrupted after .* s of 600 s$")

    def test_long_work_says_so_on_a_terminal(self):
        code, text = run_on_terminal("run-kernel", "memset", "--seconds", "2.5", *QUICK)
        self.assertEqual(code, 0)
        text = text.decode()
        self.assertRegex(text, r"memset\S*@cpu:0: [12] of 2 s, \S+ .B/s")


class Together(BuiltIn):
    def test_two_devices(self):
        document = self.document("fma", "memset", "stream-triad", "--together", "--time", "0.5",
                                 "--dtype", "f32,u32", "--size", "64KiB", "--device",
                                 "cpu:0,cpu:1",
                                 environment=clean_environment(HIPTOOL_CPU_DEVICES="2"))
        self.assertEqual([(one["kernel"], one["destination"], one["status"])
                          for one in document["measurements"]],
                         [(kernel, device, "ok") for kernel in ("stream-triad", "memset", "fma")
                          for device in ("cpu:0", "cpu:1")])
        for one in document["measurements"]:
            self.assertGreater(one["checked"], 0)
            self.assertGreater(one["runs"], 1)
            self.assertGreater(len(one["rates"]), 1)
            self.assertLessEqual(one["least_per_s"], one["most_per_s"])
            self.assertEqual(len(one["samples_s"]), len(one["rates"]))

    def test_its_table(self):
        text = self.run_kernel("fma", "--dtype", "f32", "--together", "--time", "0.5", "--device",
                               "cpu:0,cpu:1",
                               environment=clean_environment(HIPTOOL_CPU_DEVICES="2")).stdout
        self.assertRegex(text, r"Least +(Median +Most +Deviation|\d)")
        self.assertIn("2 of 2 kernel runs right on cpu:0-1", text)
        self.assert_width(text)

    @staticmethod
    def fakes(**faults):
        return clean_environment(
            HIPTOOL_HIP_LIBRARY="/nowhere/hip", HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
            FAKE_CUDA_NAME="Fake GPU", FAKE_CUDA_UNITS="2", **faults)

    def assert_wrong_on_second(self, document):
        self.assertEqual([(one["destination"], one["status"])
                          for one in document["measurements"]],
                         [("nvidia:0", "ok"), ("nvidia:1", "mismatch")])
        self.assertEqual([(one["device"], one["code"]) for one in document["failures"]],
                         [("nvidia:1", "HT-KERNEL-DATA")])

    def together(self, kernel, dtype, **faults):
        return self.document(kernel, "--dtype", dtype, "--together", "--time", "2", "--size",
                             "64KiB", "--device", "all", code=5,
                             environment=self.fakes(FAKE_CUDA_DEVICES="2", **faults))

    def test_wrong_data_before_a_call_that_fails(self):
        """Launch 1 of memset is wrong, which the host judges; launch 1 of gemm changes an input,
        so that launch 2, the first round, is. The next launch fails."""
        for kernel, dtype, fails in ("memset", "u32", 2), ("gemm", "f32", 3):
            with self.subTest(kernel):
                name = f"hiptool_{'stream_memset' if kernel == 'memset' else 'gemm_f32'}"
                document = self.together(
                    kernel, dtype, FAKE_CUDA_FLAKY=f"1:{name}", FAKE_CUDA_FLAKY_AT="1:1",
                    FAKE_CUDA_FAIL=f"1:{name}", FAKE_CUDA_FAIL_AT=f"1:{fails}")
                self.assert_wrong_on_second(document)
                self.assertRegex(document["measurements"][1]["reason"],
                                 f"wrong, .* of {kernel}; then .*Launch.*unknown error")

    def test_a_kernel_that_is_wrong_from_the_first_run_on(self):
        document = self.together("fma", "f32", FAKE_CUDA_FLAKY="1:hiptool_fma_f32")
        self.assert_wrong_on_second(document)
        wrong = document["measurements"][1]
        self.assertGreater(wrong["runs"], 0)
        self.assertEqual((wrong["wrong"]["first_bad_index"], wrong["wrong"]["xor_bits"]),
                         (1000, 0x10))

    def test_one_of_three_that_is_slow(self):
        document = self.document("memset", "--together", "--time", "3", "--size", "64KiB",
                                 "--device", "all", code=1, environment=self.fakes(
                                     FAKE_CUDA_DEVICES="3", FAKE_CUDA_SLOW_KERNEL="1:300"))
        self.assertIn(("nvidia:1", "HT-SIBLING-RATE"),
                      [(one["device"], one["code"]) for one in document["failures"]])

    def test_wrong_data_before_an_interrupt_of_a_hang(self):
        """Launch 1 of memset on one GPU is wrong, and launch 2 does not end."""
        begun = self.folder / "begun"
        name = "1:hiptool_stream_memset"
        process = program.start(
            "run-kernel", "memset", "--together", "--time", "3600", "--size", "64KiB", "--device",
            "all", "--format", "json", environment=self.fakes(
                FAKE_CUDA_DEVICES="2", FAKE_CUDA_FLAKY=name, FAKE_CUDA_FLAKY_AT="1:1",
                FAKE_CUDA_HANG=name, FAKE_CUDA_HANG_AT="1:2", FAKE_NVML_COUNTERS=str(begun),
                FAKE_CUDA_GROWTH="begun", FAKE_CUDA_GROWS=name, FAKE_CUDA_GROWS_AT="1:2"))
        program.wait_until(begun.exists, "the launch that hangs")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 5, errors)
        self.assert_wrong_on_second(self.assert_document(out, "run-kernel.schema.json"))

    def test_what_does_not_go_with_it(self):
        for words in (("--samples", "3"), ("--shape", "4x4"), ("--layout", "packed"),
                      ("--size", "50%"), ("--sweep", "quick")):
            result = self.run_kernel("add", "--together", *words, code=2)
            self.assertIn("--together", result.stderr)
        result = self.run_kernel("matmul", "--together", "--lib", "own", code=2)
        self.assertIn("--lib does not go with --together", result.stderr)


class Thresholds(BuiltIn):
    def test_met_and_missed(self):
        document = self.document("memset", "sum", *QUICK, "--fail-below", "memset>=1MB/s",
                                 "--fail-below", "sum.f32>=0.00001GFLOP/s")
        self.assertEqual(document["status"], "ok")
        self.assertEqual([one["is_met"] for one in document["thresholds"]], [True, True])
        document = self.document("memset", *QUICK, "--fail-below", "memset>=900TB/s", code=1)
        self.assertEqual([one["is_met"] for one in document["thresholds"]], [False])
        self.assertIn("900 TB/s", document["thresholds"][0]["reason"])
        junit = self.folder / "junit"
        self.run_kernel("memset", *QUICK, "--fail-below", "memset>=900TB/s", "--export",
                        f"junit={junit}", code=1)
        self.assertEqual(xml.etree.ElementTree.parse(junit).getroot().get("failures"), "1")
        text = self.run_kernel("memset", *QUICK, "--fail-below", "memset>=900TB/s", code=1).stdout
        self.assertRegex(text, r"\AFAILED: 1 of 1 threshold missed: memset")
        self.assertIn("below 900 TB/s", text)

    def test_a_share_without_a_peak_is_refused(self):
        # Nobody says what a processor's memory can do.
        document = self.document("memset", "fma", "--dtype", "u32,f32", *QUICK, "--fail-below",
                                 "memset>=1%", code=2)
        self.assertIn("'memset>=1%'", document["error"]["message"])
        self.assertIn("the peak memory bandwidth is not known", document["error"]["message"])
        self.assertIn("memset>=1TB/s", document["error"]["hint"])
        self.assertEqual(document["thresholds"], [])
        results = {result["kernel"]: result for result in document["measurements"]}
        self.assertEqual(results["memset"]["share_reason"],
                         "the peak memory bandwidth is not known")
        self.assertIn("no public source", results["fma"]["share_reason"])
        for result in results.values():
            self.assertEqual((result["share_of_limit"], result["limit_source"]), (None, None))

    def test_of_one_size(self):
        sizes = ("memset", "--device", "cpu", "--size", "1MB,64KiB", "--samples", "2")
        document = self.document(*sizes, "--fail-below", "memset.1MB>=900TB/s", code=1)
        reason = document["thresholds"][0]["reason"]
        self.assertIn("memset.u32.1000000B on cpu:0", reason)
        self.assertNotIn("64KiB", reason)
        document = self.document(*sizes, "--fail-below", "memset.64K.u32.cpu:0>=1MB/s")
        self.assertEqual([one["is_met"] for one in document["thresholds"]], [True])
        for wrong in ("memset.1GiB>=1MB/s", "memset.90%>=1MB/s"):
            self.assertIn(wrong, self.refused(*sizes, "--fail-below", wrong)[0])
        # Which devices there are is known later.
        document = self.document(*sizes, "--fail-below", "memset.cpu:7>=1MB/s", code=2)
        self.assertIn("names no kernel that was measured", document["error"]["message"])
        self.assertEqual(len(document["measurements"]), 2)

    def test_of_a_file(self):
        path = self.folder / "thresholds.txt"
        path.write_text("memset >= 1 MB/s\n[No Such Processor]\nmemset>=900TB/s\n[]\n"
                        "sum.f32>=900TB/s  # never\n")
        document = self.document("memset", "sum", *QUICK, "--fail-below", f"@{path}", code=1)
        self.assertEqual([(one["threshold"], one["is_met"]) for one in document["thresholds"]],
                         [("memset >= 1 MB/s", True), ("sum.f32>=900TB/s", False)])
        path.write_text("memset>=1MB/s\ngemm>=1%\n")
        self.assertIn("gemm>=1%", self.refused("memset", *QUICK, "--fail-below", f"@{path}")[0])
        path.write_text("memset>=1MB/s\n\nmemset>1MB/s\n")
        self.assertIn("line 3", self.refused("memset", *QUICK, "--fail-below", f"@{path}")[0])
        error = self.document("memset", *QUICK, "--fail-below", "@none", code=4)["error"]
        self.assertIn("none", error["message"])

    def test_refused_before_anything_runs(self):
        for threshold in ("memset>1", "nonsense", "sum>=1%", "memset.f32>=1%", "memset>=1"):
            message, hint = self.refused("memset", *QUICK, "--fail-below", threshold)
            self.assertIn(threshold, message)
            self.assertTrue(hint, threshold)


class Formats(BuiltIn):
    def test_every_writer(self):
        exports = {name: self.folder / name for name in
                   ("json", "csv", "markdown", "html", "svg", "gbench", "gha", "bmf", "junit",
                    "prom")}
        words = [word for name, path in exports.items()
                 for word in ("--export", f"{name}={path}")]
        self.run_kernel("stream-copy", "fma", *QUICK, *words)
        texts = {name: path.read_text(encoding="utf-8") for name, path in exports.items()}
        for name, text in texts.items():
            self.assertIn("stream-copy", text, name)
            self.assertIn("fma", text, name)
        for name in ("json", "gbench", "gha", "bmf"):
            json.loads(texts[name])
        for name in ("svg", "junit"):
            xml.etree.ElementTree.fromstring(texts[name])
        rows = list(csv.DictReader(io.StringIO(texts["csv"])))
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        self.assertGreater(float(rows[0]["bytes_per_s"]), 0)

    def test_a_terminal_of_80_columns(self):
        code, output = run_on_terminal("run-kernel", "all", *QUICK, columns=80)
        text = output.decode()
        self.assertEqual(code, 0, text)
        self.assertIn(", every result checked", text)
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        table = text[text.index(", every result checked"):]
        self.assertIn("Kernel  ", table)   # a table, not a list of keys and values
        for line in table.replace("\r", "").splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_reports_can_be_compared(self):
        for name in ("old", "new"):
            self.run_kernel("memset", "--device", "cpu", "--size", "64KiB", "--samples", "9",
                            "--export", f"json={self.folder / name}")
        result = run("report", "compare", str(self.folder / "old"), str(self.folder / "new"),
                     "--format", "json")
        self.assertIn(result.returncode, (0, 1), result.stderr)   # this machine may be busy
        self.assertEqual(len(json.loads(result.stdout)["comparisons"]), 1)


class WrongWords(BuiltIn):
    def test_each_is_refused_with_a_hint(self):
        for words, part, hint in (
                ((), "no kernel is given", "run-kernel all"),
                (("stream-traid",), "unknown kernel 'stream-traid'", "stream-triad"),
                (("zzz",), "unknown kernel 'zzz'", "--list"),
                (("memset", "--dtype", "f23"), "f23", "f32"),
                (("memset", "--dtype", "f64"), "none of the kernels", "--list"),
                (("memset", "--dtype", "u32,"), "--dtype", ""),
                (("memset", "--size", "0"), "0", ""),
                (("memset", "--size", "0%"), "0%", "80%"),
                (("memset", "--size", "101%"), "101%", "80%"),
                (("memset", "--size", "x"), "x", ""),
                (("memset", "--samples", "0"), "--samples", ""),
                (("memset", "--time", "-1"), "--time", ""),
                (("memset", "--grid", "4"), "--grid", "--module"),
                (("memset", "--module", "k.hip"), "NAME", "leave"),
                (("--list", "--module", "k.hip", "--grid", "4"), "--grid", "leave")):
            message, told = self.refused(*words)
            self.assertIn(part, message, words)
            self.assertIn(hint, told, words)

    def test_a_file_is_a_module(self):
        file = self.folder / "k.hip"
        file.write_text("", encoding="utf-8")
        self.assertEqual(self.refused(str(file))[1],
                         f"a kernel of your own is given by --module {file}")

    def test_memory_that_is_not_there(self):
        document = self.document("memset", "--size", "1000TiB", "--device", "cpu", code=3)
        self.assertEqual(document["error"]["code"], "out_of_memory")
        self.assertEqual(document["measurements"][0]["status"], "skipped")


if __name__ == "__main__":
    program.main(__doc__)
