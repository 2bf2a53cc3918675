# SPDX-License-Identifier: MIT
"""`hiptool run-kernel matmul`: our kernels and vendors' libraries side by side.

Usage: run_kernel_matmul_test.py PROGRAM [unittest options]
Variables: FAKE_CUDA and FAKE_AMD7, fake drivers; FAKE_BLAS_FOLDER, libraries with faults on demand.
"""
import csv
import io
import os

import program
from program import CliTest, clean_environment, run
from verdicts import check_one_verdict

CPU = ("--device", "cpu")
SMALL = ("--shape", "96x80x64", "--samples", "2")


def fakes(folder=None, **more):
    """Fake drivers and libraries; FAKE_CUBLAS="block" is a fault of one of them."""
    return clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                             HIPTOOL_HIP_LIBRARY=os.environ["FAKE_AMD7"],
                             HIPTOOL_LIBRARY_PATH=folder or os.environ["FAKE_BLAS_FOLDER"], **more)


class LibraryTest(CliTest):
    """Of the kernel that is named below."""
    kernel = ""

    def run_kernel(self, *words, code=0, environment=None):
        result = run("run-kernel", self.kernel, *words, environment=environment or fakes())
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def results(self, *words, code=0, environment=None):
        """By the implementation."""
        text = self.run_kernel(*words, "--format", "json", code=code,
                               environment=environment).stdout
        document = self.assert_document(text, "run-kernel.schema.json")
        ids = [one["id"] for one in document["measurements"]]
        self.assertEqual(len(ids), len(set(ids)), ids)
        return {one["library"]: one for one in document["measurements"]}


class Products(LibraryTest):
    kernel = "matmul"


class Libraries(Products):
    def test_all_of_a_platform(self):
        for device, names in (("nvidia:0", ["own", "cublas", "cublaslt"]),
                              ("amd:0", ["own", "rocblas", "rocblas-hipblaslt", "hipblaslt"]),
                              ("cpu", ["own", "openblas"])):
            with self.subTest(device=device):
                results = self.results(*SMALL, "--lib", "all", "--device", device)
                self.assertEqual(list(results), names)
                for one in results.values():
                    self.assertEqual((one["status"], one["wrong"]), ("ok", None))
                    self.assertEqual((one["checked"], one["judged_share"]), (2 * 96 * 80, 1))
                    self.assertTrue(0 < one["max_error"] < 1, one)
                    self.assertEqual(len(one["samples_s"]), 2)
                    self.assertAlmostEqual(one["flops_per_s"] * one["median_s"],
                                           2 * 96 * 80 * 64, delta=1)
                self.assertEqual(max(one["share_of_fastest"] for one in results.values()), 1)

    def test_an_interrupt_keeps_what_was_measured(self):
        """A launch of the second implementation is held while its samples are taken."""
        words = ("run-kernel", "matmul", "--shape", "64x64x64", "--dtype", "f16", "--lib",
                 "own-exact,own", "--samples", "200", "--device", "nvidia:0")
        for output in ("json", "table"):
            with self.subTest(output=output):
                result = self.interrupt("hiptool_matmul_groups_f16_nn:70", *words, "--format",
                                        output, environment=fakes())
                self.assertEqual(result.returncode, 130, result.stdout + result.stderr)
                if output == "table":
                    self.assertRegex(result.stdout, "^interrupted: 2 of 2 matrix products right")
                    continue
                document = self.assert_document(result.stdout, "run-kernel.schema.json")
                self.assertEqual((document["status"], document["passed"]), ("interrupted", False))
                exact, own = document["measurements"]
                self.assertEqual((exact["library"], len(exact["samples_s"])), ("own-exact", 200))
                self.assertEqual((own["library"], own["status"]), ("own", "ok"))
                self.assertIn(len(own["samples_s"]), range(1, 200))
                self.assertGreater(own["flops_per_s"], 0)

    def test_types_transposes_and_batches(self):
        for dtype in ("f64", "f16", "bf16"):
            for transpose in ("nt", "tn", "tt"):
                results = self.results("--shape", "33x40x20", "--samples", "1", "--dtype", dtype,
                                       "--transpose", transpose, "--batch", "2", "--lib",
                                       "own,own-exact,cublas", "--device", "nvidia:0")
                for name, one in results.items():
                    self.assertEqual(one["status"], "ok", (dtype, transpose, one))
                    self.assertEqual(one["id"], f"matmul.{dtype}.33x40x20.{transpose}.batch2."
                                                f"{name}@nvidia:0")

    def test_products_of_i8_are_exact(self):
        for device, skipped in (("nvidia:0", {"cublaslt"}), ("amd:0", set()),
                                ("cpu:0", {"openblas"})):
            results = self.results("--shape", "96x80x64", "--samples", "1", "--dtype", "i8",
                                   "--lib", "all,own-exact", "--device", device)
            for name, one in results.items():
                with self.subTest(device=device, library=name):
                    self.assertEqual(one["id"], f"matmul.i8.96x80x64.{name}@{device}")
                    if name in skipped:
                        self.assertEqual(one["status"], "skipped")
                        continue
                    self.assertEqual((one["status"], one["max_error"]), ("ok", 0), one)
                    self.assertEqual((one["checked"], one["judged_share"]), (2 * 96 * 80, 1))
        # What cuBLASLt has; rows of 33 bytes are for our kernel alone.
        results = self.results("--shape", "96x80x64", "--samples", "1", "--dtype", "i8", "--lib",
                               "all", "--transpose", "nt", "--device", "nvidia:0")
        self.assertEqual({one["status"] for one in results.values()}, {"ok"})
        results = self.results("--shape", "40x40x33", "--samples", "1", "--dtype", "i8", "--lib",
                               "all", "--device", "nvidia:0")
        self.assertEqual([one["status"] for one in results.values()], ["ok", "skipped", "skipped"])
        self.assertIn("multiples of 4 bytes", results["cublas"]["reason"])
        self.assertIn("no algorithm", results["cublaslt"]["reason"])

    def test_table(self):
        result = self.run_kernel(*SMALL, "--lib", "all", *CPU)
        self.assertRegex(result.stdout, r"\A2 of 2 matrix products right on cpu:0, every element "
                                        r"judged; seed 1\n")
        self.assertRegex(result.stdout, r"(?m)^96x80x64 f32 on cpu:0$")
        self.assertRegex(result.stdout, r"(?m)^openblas +[\d.]+ [MG]FLOP/s +\d+ % of fastest +"
                                        r"[\d.]+ +right$")
        self.assertRegex(result.stdout, r"openblas: version \d")
        self.assert_width(result.stdout)
        rows = list(csv.DictReader(io.StringIO(self.run_kernel(
            *SMALL, "--lib", "all", *CPU, "--format", "csv").stdout)))
        self.assertEqual([row["library"] for row in rows], ["own", "openblas"])

    def test_own_is_what_runs_if_nothing_is_said(self):
        results = self.results("--samples", "1", *CPU)
        self.assertEqual(list(results), ["own"])
        self.assertEqual(results["own"]["shape"], "256x256x256")
        self.assertIsNone(results["own"]["share_of_fastest"])

    def test_real_openblas(self):
        environment = clean_environment()
        result = run("run-kernel", "matmul", "--shape", "300x200x100", "--lib", "openblas", *CPU,
                     environment=environment)
        if result.returncode == 3 and "no OpenBLAS was found" in result.stderr:
            self.skipTest("no OpenBLAS on this machine")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Faults(Products):
    def faulty(self, fault, *words, code, **variables):
        """cuBLAS with the fault; the other ones must be right all the same."""
        environment = fakes(FAKE_CUBLAS=fault, **variables)
        results = self.results(*SMALL, "--lib", "all", "--device", "nvidia:0", *words, code=code,
                               environment=environment)
        for name in ("own", "cublaslt"):
            self.assertEqual(results[name]["status"], "ok", results[name])
            self.assertIsNotNone(results[name]["flops_per_s"])
        self.assertIsNone(results["cublas"]["flops_per_s"])
        return results["cublas"]

    def test_wrong_block(self):
        one = self.faulty("block", code=5)
        self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "whole numbers"))
        self.assertEqual(one["wrong_where"], "64x64 block at [32,16]")
        self.assertGreater(one["wrong"]["count"], 4000)
        self.assertTrue(one["wrong"]["reread_agrees"])
        text = " ".join(self.run_kernel(*SMALL, "--lib", "cublas", "--device", "nvidia:0", code=5,
                                        environment=fakes(FAKE_CUBLAS="block")).stdout.split())
        self.assertTrue(text.startswith("WRONG RESULTS of 1: 0 of 1 matrix product right"), text)
        self.assertIn("with whole numbers: 64x64 block at [32,16]; ", text)
        self.assertIn("first [32,16] of C: expected ", text)

    def test_wrong_at_the_second_call_only(self):
        one = self.faulty("second", code=5)
        self.assertEqual((one["status"], one["reason"]),
                         ("mismatch", "the second call is wrong, the first was right"))
        self.assertEqual((one["wrong_where"], one["wrong"]["count"]), ("one element at [95,79]", 1))

    def test_less_exact_sums_than_asked_for(self):
        one = self.faulty("tf32", code=5)
        self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "random numbers"))
        self.assertRegex(one["wrong_where"], "scattered|every element")
        one = self.faulty("f16", "--dtype", "f16", code=5)
        self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "random numbers"))

    def test_products_of_i8(self):
        one = self.faulty("block", "--dtype", "i8", "--transpose", "nt", code=5)
        self.assertEqual((one["wrong_data"], one["wrong_where"]),
                         ("whole numbers", "64x64 block at [32,16]"))
        for fault in ("abort", "error"):
            self.assertEqual(self.faulty(fault, "--dtype", "i8", "--transpose", "nt",
                                         code=6)["status"], "failed")
        # Sums that stay at 2^31 - 1 instead of wrapping.
        results = self.results("--shape", "1x4x131072", "--dtype", "i8", "--transpose", "nt",
                               "--lib", "all", "--samples", "1", "--device", "nvidia:0", code=5,
                               environment=fakes(FAKE_CUBLAS="saturate"))
        self.assertEqual([one["status"] for one in results.values()], ["ok", "mismatch", "ok"])
        wrong = results["cublas"]
        self.assertEqual((wrong["wrong_data"], wrong["wrong_where"]),
                         ("random numbers", "one element at [0,0]"))
        self.assertEqual((wrong["wrong"]["expected"], wrong["wrong"]["got"]),
                         (-(2 ** 31), 2 ** 31 - 1))

    def test_less_exact_sums_where_they_are_asked_for(self):
        for dtype, compute in (("f32", "tf32"), ("f16", "f16")):
            results = self.results(*SMALL, "--lib", "all", "--device", "nvidia:0", "--dtype", dtype,
                                   "--compute", compute)
            self.assertEqual([one["status"] for one in results.values()], ["skipped", "ok", "ok"])
            self.assertIn("our kernels compute in f32", results["own"]["reason"])

    def test_abort_and_error(self):
        one = self.faulty("abort", code=6)
        self.assertEqual(one["status"], "failed")
        self.assertIn("was ended by signal 6 (Aborted) during: the first product", one["reason"])
        one = self.faulty("abort-at-load", code=6)
        self.assertIn("signal 6 (Aborted) during: opening cublas", one["reason"])
        one = self.faulty("error", code=6)
        self.assertIn("CUBLAS_STATUS_EXECUTION_FAILED", one["reason"])

    def test_hang(self):
        seconds = 30 if program.is_sanitized() else 8
        one = self.faulty("hang", code=6, HIPTOOL_LIBRARY_TIMEOUT=str(seconds))
        self.assertEqual(one["status"], "failed")
        self.assertIn("did not return within", one["reason"])

    def test_wrong_outranks_failed(self):
        self.results(*SMALL, "--lib", "all", "--device", "nvidia:0", code=5,
                     environment=fakes(FAKE_CUBLAS="abort", FAKE_CUBLASLT="block"))

    def test_missing_libraries_are_skipped_and_never_pass(self):
        results = self.results(*SMALL, "--lib", "all", "--device", "nvidia:0",
                               environment=fakes(folder="/nowhere"))
        for name in ("cublas", "cublaslt"):
            self.assertEqual((results[name]["status"], results[name]["checked"]), ("skipped", None))
            self.assertIn("was found", results[name]["reason"])
        result = self.run_kernel(*SMALL, "--lib", "cublas,rocblas", "--device", "nvidia:0", code=3,
                                 environment=fakes(folder="/nowhere"))
        self.assertIn("rocblas is not a library of the nvidia platform", result.stderr)

    def test_another_major_version(self):
        results = self.results(*SMALL, "--lib", "all", "--device", "amd:0",
                               environment=fakes(FAKE_BLAS_MAJOR="14"))
        self.assertEqual(results["rocblas"]["status"], "skipped")
        self.assertIn("14", results["rocblas"]["reason"])
        self.assertEqual(results["own"]["status"], "ok")

    def test_every_format_has_the_verdict(self):
        words = ["run-kernel", "matmul", *SMALL, "--lib", "own,cublas", "--device", "nvidia:0"]
        for fault, code in (("none", 0), ("block", 5), ("abort", 6)):
            check_one_verdict(self, words, code, fakes(FAKE_CUBLAS=fault))
        check_one_verdict(self, [*words, "--fail-below", "matmul.f32.cublas>=900TFLOP/s"], 1,
                          fakes(), stdout_formats=())
        check_one_verdict(self, words[:-4] + ["--lib", "cublas", "--device", "nvidia:0"], 3,
                          fakes(folder="/nowhere"), stdout_formats=())


class Shapes(Products):
    def test_a_file(self):
        path = self.folder / "shapes.txt"
        path.write_text("# a model's\n20x30x40\n20x30x40\n8x9x10 tn bf16 batch=2\n",
                        encoding="utf-8")
        text = self.run_kernel("--shapes", str(path), "--samples", "1", *CPU, "--format",
                               "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([(row["shape"], row["dtype"], row["transpose"]) for row in rows],
                         [("20x30x40", "f32", "nn"), ("8x9x10", "bf16", "tn")])
        path.write_text("20x30x40\n20x30\n", encoding="utf-8")
        result = self.run_kernel("--shapes", str(path), *CPU, code=2)
        self.assertIn("line 2", result.stderr)
        self.run_kernel("--shapes", str(self.folder / "none"), *CPU, code=4)

    def test_traps(self):
        text = self.run_kernel("--shapes", "traps", "--dtype", "f16", "--samples", "1", "--lib",
                               "openblas", *CPU, "--format", "json", code=3).stdout
        document = self.assert_document(text, "run-kernel.schema.json")
        self.assertEqual([one["shape"] for one in document["measurements"]], ["512x512x512"])
        self.assertIn("ROCm/TheRock#7271", document["measurements"][0]["trap"])

    def test_our_kernels_on_the_longest_trap(self):
        """With few terms, so that it fits into the time of a fake."""
        one = self.results("--shape", "600000x1x2", "--transpose", "nt", "--samples", "1",
                           "--device", "nvidia:0")["own"]
        self.assertEqual((one["status"], one["wrong"], one["checked"]), ("ok", None, 1200000))

    def test_a_product_that_the_device_has_no_memory_for(self):
        file = self.folder / "shapes"
        file.write_text("1x134217728x16 nt f32\n256x5326464x48 bf16\n64x64x64\n", "utf-8")
        results = run("run-kernel", "matmul", "--shapes", str(file), "--lib", "own,cublas",
                      "--samples", "1", "--device", "nvidia:0", "--format", "json",
                      environment=fakes(FAKE_CUDA_MEMORY_GIB="2"))
        self.assertEqual(results.returncode, 0, results.stderr)
        document = self.assert_document(results.stdout, "run-kernel.schema.json")
        self.assertEqual([one["status"] for one in document["measurements"]],
                         ["skipped"] * 4 + ["ok"] * 2)
        for one in document["measurements"][:4]:
            self.assertRegex(one["reason"], f"^not possible here: {one['shape']} needs [0-9.]+ GiB "
                             r"of the device's memory; 2\.00 GiB are free$")

    def test_samples_of_large_products(self):
        real = clean_environment()
        words = ("--samples", "1", "--lib", "openblas", *CPU)
        if run("run-kernel", "matmul", "--shape", "2x2x2", *words, environment=real).returncode:
            self.skipTest("no OpenBLAS on this machine")
        rate = self.results("--shape", "96x80x64", *words,
                            environment=real)["openblas"]["judging_terms_per_s"]
        # What a build judges in 10 s is too much for it; under a sanitizer that is a small product.
        m, n = 6000, 3000
        k = min(max(round(10 * rate / (m * n)), 20), 1000)
        one = self.results("--shape", f"{m}x{n}x{k}", *words, environment=real)["openblas"]
        share = one["judged_share"]
        # At least 4 rows and columns, and up to 64 for which 5 s are enough.
        lines = min(max(5 * one["judging_terms_per_s"] / ((m + n) * k), 4), 64)
        self.assertGreater(share, 0.95 * lines * (1 / m + 1 / n))
        self.assertEqual(one["checked"], round(m * n * (1 + share)))
        terms_s = m * n * k / one["judging_terms_per_s"]
        self.assertEqual(share < 1, terms_s > 5, (share, terms_s))


class Words(Products):
    def test_thresholds(self):
        words = (*SMALL, "--lib", "all", "--device", "nvidia:0")
        result = self.run_kernel(*words, "--fail-below", "matmul.f32.96x80x64.cublas>=1MFLOP/s")
        self.assertIn("met: matmul.f32.96x80x64.cublas>=1MFLOP/s", result.stdout)
        result = self.run_kernel(*words, "--fail-below", "matmul.f32.cublas>=99%", code=1)
        self.assertIn("MISSED: matmul.f32.96x80x64.cublas@nvidia:0: ", result.stdout)
        for text in ("matmul.f64>=1MFLOP/s", "matmul.f32.rocblas>=1MFLOP/s", "add.f32>=1MFLOP/s",
                     "matmul.f32>=1GB/s", "matmul.f32.8x8x8>=1%"):
            self.run_kernel(*words, "--fail-below", text, code=2)
        # A wrong one misses it; so does one that failed.
        self.run_kernel(*words, "--fail-below", "matmul.cublas>=1MFLOP/s", code=5,
                        environment=fakes(FAKE_CUBLAS="block"))

    def test_share_without_a_peak(self):
        words = ("--shape", "64x64x64", "--samples", "1", *CPU, "--fail-below", "matmul>=1%")
        result = self.run_kernel(*words, code=2)
        self.assertIn("has none", result.stderr)

    def test_wrong_options(self):
        for words, told in ((("--lib", "cublis"), "did you mean 'cublas'"),
                            (("--shape", "10x20"), "MxNxK"), (("--shape", "0x1x1"), "MxNxK"),
                            (("--transpose", "nx"), "--transpose"), (("--batch", "0"), "--batch"),
                            (("--compute", "tf32", "--dtype", "f16"), "--compute tf32"),
                            (("--compute", "f32", "--dtype", "i8"), "--compute f32"),
                            (("--dtype", "i32"), "--dtype"),
                            (("--shapes", "traps", "--batch", "2"), "--shapes traps"),
                            (("--shapes", "traps", "--shape", "1x1x1"), "--shape and --shapes"),
                            (("--lib", "own", "--sweep", "quick"), "--sweep")):
            with self.subTest(words=words):
                result = self.run_kernel(*words, *CPU, code=2)
                self.assertIn(told, result.stderr)
        result = run("run-kernel", "add", "--lib", "all", *CPU)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--lib applies to matmul, conv2d, avg_pool2d or max_pool2d alone",
                      result.stderr)
        self.run_kernel(*SMALL, *CPU, code=2,
                        environment=fakes(HIPTOOL_LIBRARY_TIMEOUT="soon"))

    def test_the_sweep_is_the_operation(self):
        result = self.run_kernel("--sweep", "quick", "--dtype", "f16", "--layout", "packed", *CPU)
        self.assertRegex(result.stdout, r"\A(\d) of \1 operations? right")

    def test_the_child_is_no_command_for_people(self):
        self.assertNotIn("measure-library", run("--help").stdout + run("help", "reference").stdout)
        self.assertEqual(run("measure-library", "request").returncode, 2)


if __name__ == "__main__":
    program.main(__doc__)
