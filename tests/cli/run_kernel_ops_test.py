# SPDX-License-Identifier: MIT
"""`hiptool run-kernel ops` and `run-kernel OPERATION`.

Usage: run_kernel_ops_test.py PROGRAM [unittest options]
Variable: FAKE_CUDA, a fake driver that leaves out a kernel on demand.
"""
import csv
import io
import json
import os
import signal
import subprocess

import program
from program import CliTest, clean_environment, default_signals, run
from verdicts import check_one_verdict

NAMES = ("add sub mul div minimum maximum eq ne lt le gt ge").split()
LAYOUTS = ["packed", "transposed", "broadcast", "offset", "spread", "empty", "size-1", "rank-0",
           "rank-8", "in-place"]
CPU = ("--device", "cpu")
SMALL = (*CPU, "--shape", "33x40", "--samples", "1")


def without(kernel):
    """The fake driver does nothing when this kernel is launched."""
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY="/nowhere/hip", FAKE_CUDA_SKIP_KERNEL=kernel)


def with_fault(kernel, fault):
    """It computes something else (tests/fakes/cuda/faulty_kernels.hpp)."""
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY="/nowhere/hip",
                             FAKE_CUDA_FAULTY_KERNEL=f"{kernel}:{fault}")


class Operations(CliTest):
    def run_kernel(self, *words, code=0, **options):
        result = run("run-kernel", *words, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def document(self, *words, **options):
        result = self.run_kernel(*words, "--format", "json", **options)
        return self.assert_document(result.stdout, "run-kernel.schema.json")


class Sweep(Operations):
    def test_everything_is_right(self):
        # All layouts of all operations take minutes; tests of the layer below have them.
        document = self.document("ops", "--layout", "transposed", *CPU, timeout=280)
        self.assertEqual((document["status"], document["sweep"], document["seed"]),
                         ("ok", "quick", 1))
        operations = {one["name"]: one for one in document["operations"]}
        self.assertLessEqual(set(NAMES), set(operations))
        self.assertEqual(len(operations["add"]["dtypes"]), 10)
        listing = self.document("--list")
        self.assertEqual(list(operations), [one["name"] for one in listing["operations"]])
        for result in document["measurements"]:
            if result["id"].startswith(("copy2d.", "attention.")):   # not their layout
                self.assertEqual((result["status"], result["cases"]), ("skipped", 0))
                continue
            self.assertEqual((result["status"], result["wrong"]), ("ok", None), result["id"])
            self.assertLessEqual(result["max_error"], max(result["tolerance"], 0), result["id"])
            self.assertEqual(result["cases"], sum(one["cases"] for one in result["layouts"]))

    def test_every_layout(self):
        document = self.document("add", "eq", "--sweep", "quick", "--dtype", "u8", *CPU)
        layouts = {one["name"]: one["layouts"] for one in document["operations"]}
        self.assertEqual(layouts["add"], LAYOUTS)
        self.assertEqual(layouts["eq"], LAYOUTS[:-1] + ["in-place"])   # of u8
        self.assertEqual({one["status"] for one in document["measurements"]}, {"ok"})

    def test_for_people(self):
        result = self.run_kernel("add", "lt", "--sweep", "quick", "--dtype", "f32,u8", *CPU)
        self.assertRegex(result.stdout, r"\A2 of 2 operations right on cpu:0: \d+ cases, every "
                                        r"element compared; seed 1\n")
        self.assertRegex(result.stdout, r"add +cpu:0 +2 +10 +68 +.*right")
        self.assertIn("[1/2] add: 2 types, 10 layouts, 68 cases: right\n", result.stderr)
        self.assert_width(result.stdout)
        rows = list(csv.DictReader(io.StringIO(self.run_kernel(
            "add", "--sweep", "quick", "--format", "csv", *CPU).stdout)))
        self.assertEqual(len(rows), 10)
        self.assertEqual({row["status"] for row in rows}, {"ok"})

    def test_the_seed_and_nothing_else_decides_the_digest(self):
        def digests(*words):
            document = self.document("sub", "--sweep", "quick", *CPU, *words)
            return {result["dtype"]: result["digest"] for result in document["measurements"]}
        every = digests()
        self.assertEqual(len(set(every.values())), 10)
        self.assertEqual(digests("--seed", "1", "--dtype", "f16"), {"f16": every["f16"]})
        self.assertNotEqual(digests("--seed", "2", "--dtype", "f16"), {"f16": every["f16"]})

    def test_the_same_digest_on_another_platform(self):
        words = ("binary", "--sweep", "quick", "--layout", "transposed", "--dtype", "f16,i64")
        other = self.document(*words, "--device", "nvidia:0", environment=without("none"))
        here = self.document(*words, *CPU)
        self.assertEqual({one["device"] for one in other["operations"]}, {"nvidia:0"})
        self.assertEqual([one["digest"] for one in here["operations"]],
                         [one["digest"] for one in other["operations"]])

    def test_wrong_data(self):
        words = ["add", "--sweep", "quick", "--layout", "packed,spread", "--dtype", "u32,u8",
                 "--device", "nvidia:0"]
        environment = without("hiptool_binary_u32")   # for layouts that are not packed
        document = self.document(*words, code=5, environment=environment)
        self.assertEqual(document["status"], "mismatch")
        results = {result["dtype"]: result for result in document["measurements"]}
        self.assertEqual(results["u8"]["status"], "ok")
        self.assertEqual(results["u32"]["status"], "mismatch")
        packed, layout = results["u32"]["layouts"]
        self.assertEqual((packed["layout"], packed["status"], packed["wrong"]),
                         ("packed", "ok", None))
        self.assertEqual((layout["layout"], layout["status"], layout["cases"]),
                         ("spread", "mismatch", 1))
        self.assertEqual(layout["reason"], "33x40 of whole numbers: element [0,0] (0)")
        wrong = layout["wrong"]
        self.assertEqual(wrong, results["u32"]["wrong"])
        self.assertEqual((wrong["got"], wrong["count"], wrong["reread_agrees"]),
                         (0xffffffff, 1320, True))
        self.assertLessEqual(wrong["expected"], 32)
        result = self.run_kernel(*words, code=5, environment=environment)
        self.assertRegex(result.stdout, r"\AWRONG RESULTS of 1: 0 of 1 operation right on nvidia")
        text = " ".join(result.stdout.split())
        self.assertIn(f"wrong: add.u32@nvidia:0 spread {layout['reason']}: expected "
                      f"{wrong['expected']}, got 4294967295", text)
        self.assertIn("1 320 elements wrong; a second read returned the same value", text)
        self.assertIn("add: 2 types, 2 layouts, 13 cases: WRONG", result.stderr)

    def test_one_verdict(self):
        words = ["run-kernel", "add", "--sweep", "quick", "--dtype", "u32"]
        check_one_verdict(self, [*words, *CPU], 0)
        check_one_verdict(self, [*words, "--device", "nvidia:0"], 5,
                          without("hiptool_binary_packed_u32"))
        check_one_verdict(self, [*words, "--device", "nvidia:7"], 3, stdout_formats=())
        check_one_verdict(self, ["run-kernel", "eq", "--sweep", "quick", "--dtype", "f32",
                                 "--layout", "in-place", *CPU], 3, stdout_formats=())

    def test_ctrl_c_keeps_what_was_done(self):
        with program.Process([program.PROGRAM, "run-kernel", "ops", "--sweep", "full", "--dtype",
                               "u8", "--layout", "empty,transposed", "--format", "json", *CPU],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=clean_environment(), text=True,
                              preexec_fn=default_signals) as process:
            process.stderr.readline()   # the first operation is done
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        document = self.assert_document(out, "run-kernel.schema.json")
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual(document["measurements"][0]["id"], "add.u8@cpu:0")


class Timed(Operations):
    def test_rate_shape_and_layout(self):
        document = self.document("add", "eq", "--dtype", "f32", "--layout",
                                 "packed,transposed,in-place", *SMALL)
        results = {result["id"]: result for result in document["measurements"]}
        self.assertEqual(list(results), [
            "add.f32.33x40@cpu:0", "add.f32.33x40.transposed@cpu:0",
            "add.f32.33x40.in-place@cpu:0", "eq.f32.33x40@cpu:0",
            "eq.f32.33x40.transposed@cpu:0", "eq.f32.33x40.in-place@cpu:0"])
        add = results["add.f32.33x40@cpu:0"]
        self.assertEqual((add["shape"], add["layout"], add["elements"], add["size_bytes"]),
                         ("33x40", "packed", 1320, 5280))
        self.assertAlmostEqual(add["bytes_per_s"] * add["median_s"], 3 * 5280, delta=1)
        self.assertEqual(add["digest"], results["add.f32.33x40.transposed@cpu:0"]["digest"])
        self.assertEqual(results["eq.f32.33x40.in-place@cpu:0"]["status"], "skipped")
        text = self.run_kernel("add", "--dtype", "f32", *SMALL).stdout
        self.assertIn("1 of 1 kernel run right on cpu:0, every result checked", text)
        self.assertRegex(text, r"add +f32 +33x40 ")

    def test_the_size_of_other_kernels(self):
        result = self.document("mul", "--dtype", "f16", "--samples", "1", *CPU)["measurements"][0]
        self.assertEqual((result["id"], result["shape"]), ("mul.f16.128KiB@cpu:0", "16x4096"))
        kernels = {result["kernel"] for result in self.document(
            "ops", "memset", "--dtype", "u32", "--size", "4KiB", "--samples", "1",
            *CPU)["measurements"]}
        self.assertLessEqual({*NAMES, "memset"}, kernels)
        self.assertNotIn("add", {result["kernel"] for result in self.document(
            "all", "--size", "4KiB", "--samples", "1", "--dtype", "u32", *CPU)["measurements"]})

    def test_a_size_below_the_least_shape(self):
        for words, least in ((("softmax", "--size", "3"), "3 B"), (("gemm", "--size", "1000",
                             "--dtype", "f32"), "1000 B"), (("row_bias", "--size", "4KiB",
                             "--dtype", "f32"), "4.00 KiB")):
            document = self.document(*words, *CPU, code=2)
            self.assertIn(f"{least} is too small for {words[0]} of f32",
                          document["error"]["message"])
            self.assertIn("--size", document["error"]["hint"])
            self.assertEqual([one["status"] for one in document["measurements"]], ["skipped"])
        document = self.document("all", "--size", "4KiB", "--samples", "1", "--dtype", "f32,u32",
                                 *CPU)
        skipped = {one["kernel"]: one["reason"] for one in document["measurements"]
                   if one["status"] == "skipped" and "is too small" in one["reason"]}
        self.assertEqual(set(skipped), {"gemm", "transpose"})

    def test_thresholds(self):
        words = ("add", "--dtype", "f32", "--layout", "packed,spread", *SMALL, "--fail-below")
        self.document(*words, "add.f32.33x40.spread>=1B/s")
        document = self.document(*words, "binary.spread>=900TB/s", code=1)
        self.assertEqual([failure["what"].split()[-1] for failure in document["failures"]],
                         ["add.f32.33x40.spread@cpu:0"])
        for wrong in ("add.33x41>=1B/s", "add.broadcast>=1B/s"):
            self.document(*words, wrong, code=2)

    def test_wrong_data(self):
        words = ["run-kernel", "add", "--dtype", "u32", "--shape", "33x40", "--samples", "1",
                 "--device", "nvidia:0"]
        document = check_one_verdict(self, words, 5, without("hiptool_binary_packed_u32"),
                                     stdout_formats=())
        [result] = document["measurements"]
        self.assertEqual((result["wrong"]["count"], result["wrong"]["got"]), (1320, 0xffffffff))
        self.assertEqual(result["samples_s"], [])


class Faults(Operations):
    """Faults that kernels have had, each in the default run, in the sweep, and in one layout."""

    def check_fault(self, operation, dtype, kernel, fault, layout="packed", place=r"\d+",
                    shape=()):
        words = [operation, "--dtype", dtype, "--device", "nvidia:0"]
        environment = with_fault(kernel, fault)
        kind = r"[a-z -]+"
        sweep = self.run_kernel(*words, "--sweep", "quick", code=5, environment=environment).stdout
        self.assertRegex(
            " ".join(sweep.split()),
            rf"wrong: {operation}\.{dtype}@nvidia:0 {layout} \d[\dx]*( {kind}(, {kind})?)? of "
            rf"{kind}: element \[[\d,]*\] \(\d+\): expected \S+, got \S+, xor 0x")
        timed = self.run_kernel(*words, "--layout", layout, "--samples", "1", *shape, code=5,
                                environment=environment).stdout
        label = "" if layout == "packed" else rf"\.{layout}"
        self.assertRegex(" ".join(timed.split()),
                         rf"wrong: {operation}\.{dtype}\.[\w]+{label}@nvidia:0: [\d ]+ of [\d ]+ "
                         rf"values?, first at {place}: expected \S+, got \S+, xor 0x")

    def test_a_stride_that_is_one_too_long(self):
        if program.is_sanitized():
            self.skipTest("the address sanitizer stops at the first read behind a tensor")
        self.check_fault("add", "i32", "hiptool_binary_i32", "stride", layout="spread",
                         shape=("--shape", "33x40"), place="40")

    def test_a_tail_that_is_left_out(self):
        self.check_fault("add", "f32", "hiptool_binary_packed_f32", "tail",
                         shape=("--shape", "1025"), place="1024")

    def test_sums_of_halves_in_halves(self):
        self.check_fault("sum", "f16", "hiptool_sum_rows_f16", "halves", place="0",
                         shape=("--shape", "8x4096"))

    def test_swapped_operands(self):
        self.check_fault("sub", "f16", "hiptool_binary_packed_f16", "swapped",
                         shape=("--shape", "33x40"))

    def test_a_minimum_that_ignores_nan(self):
        self.check_fault("minimum", "f32", "hiptool_binary_packed_f32", "nan",
                         shape=("--shape", "33x40"))

    def test_another_quotient_by_zero(self):
        self.check_fault("div", "i32", "hiptool_binary_packed_i32", "zero",
                         shape=("--shape", "33x40"))


class WrongWords(Operations):
    def test_each_is_refused_with_a_hint(self):
        for words, part, hint in (
                (("ad",), "unknown kernel 'ad'", "did you mean 'add'?"),
                (("op", "--sweep", "quick"), "unknown operation 'op'", "'ops'"),
                (("mull", "--sweep", "quick"), "unknown operation 'mull'", "'mul'"),
                (("stream", "--sweep", "quick"), "'stream' is a kernel, not an operation",
                 "run-kernel stream"),
                (("ops", "all"), "'all' is a kernel, not an operation", "run-kernel all"),
                (("ops", "--sweep", "fast"), "expected one of quick, full", ""),
                (("ops", "--dtype", "q4_0"), "expected one of u8, u32", ""),
                (("add", "--layout", "sprad", *SMALL), "expected one of packed, transposed",
                 "'spread'"),
                (("add", "--layout", "empty"), "has shapes of its own", "--sweep quick"),
                (("ops", "--layout", "packed,"), "--layout", ""),
                (("add", "--shape", "4x"), "'4x' for --shape", "4096x4096"),
                (("add", "--shape", "0x4"), "'0x4' for --shape", "4096x4096"),
                (("add", "--shape", "1x1x1x1x1x1x1x1x1"), "--shape", "1 to 8"),
                (("add", "--shape", "4294967296x4294967296"), "--shape", ""),
                (("add", "--shape", "4", "--size", "4KiB"), "--shape and --size", "leave out"),
                (("stream-copy", "--shape", "4"), "--shape applies to operations", "--list"),
                (("memset", "--seed", "4"), "--seed applies to operations", "--list"),
                (("add", "--sweep", "quick", "--samples", "4"), "--samples", "leave out"),
                (("add", "--seed", "x"), "'x' for --seed", "whole number"),
                (("--module", "k.hip", "--shape", "4"), "--shape", "leave")):
            document = self.document(*words, code=2)
            self.assertNotIn("measurements", document, words)
            self.assertIn(part, document["error"]["message"], words)
            self.assertIn(hint, document["error"]["hint"] or "", words)

    def test_more_memory_than_there_is(self):
        document = self.document("add", "--dtype", "f32", "--shape", "16777216x16777216", *CPU,
                                 code=3)
        self.assertEqual(document["error"]["code"], "out_of_memory")


if __name__ == "__main__":
    program.main(__doc__)
