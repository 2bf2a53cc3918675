# SPDX-License-Identifier: MIT
"""`hiptool run-kernel conv2d`: our kernels and vendors' libraries side by side.

Usage: run_kernel_conv_test.py PROGRAM [unittest options]
Variables: FAKE_CUDA and FAKE_AMD7, fake drivers; FAKE_BLAS_FOLDER, libraries with faults on demand.
"""
import csv
import io

import program
from program import clean_environment, run
from run_kernel_matmul_test import CPU, LibraryTest, fakes
from verdicts import check_one_verdict

SHAPE = "n2c8h9w8:k6r3s3p1"  # sums of 72 terms
RESULTS = 2 * 6 * 9 * 8
SMALL = ("--shape", SHAPE, "--samples", "2")
# The first library's fault must leave the other results as they are.
PLATFORMS = (("nvidia:0", "cudnn", "FAKE_CUDNN"), ("amd:0", "miopen", "FAKE_MIOPEN"))


class Convolutions(LibraryTest):
    kernel = "conv2d"


class Libraries(Convolutions):
    def test_all_of_a_platform(self):
        for device, names in (("nvidia:0", ["own", "cudnn"]), ("amd:0", ["own", "miopen"]),
                              ("cpu", ["own", "openblas"])):
            with self.subTest(device=device):
                results = self.results(*SMALL, "--lib", "all", "--device", device)
                self.assertEqual(list(results), names)
                for one in results.values():
                    self.assertEqual((one["status"], one["wrong"]), ("ok", None))
                    self.assertEqual((one["checked"], one["judged_share"]), (2 * RESULTS, 1))
                    self.assertEqual((one["transpose"], one["batch"], one["shape"]),
                                     (None, None, SHAPE))
                    self.assertTrue(0 < one["max_error"] < 1, one)
                    self.assertEqual(len(one["samples_s"]), 2)
                    self.assertAlmostEqual(one["flops_per_s"] * one["median_s"],
                                           2 * RESULTS * 72, delta=1)

    def test_types_strides_and_groups(self):
        for dtype in ("f64", "f16", "bf16"):
            for shape in ("n1c4h9w7:k6r2s3u2x1p1d1x2g2", "n2c3h5w5:k3r1s1", "n1c4h6w6:k4r3s3g4"):
                for device, library, _ in PLATFORMS:
                    results = self.results("--shape", shape, "--samples", "1", "--dtype", dtype,
                                           "--lib", "own," + library, "--device", device)
                    self.assertEqual(list(results), ["own", library])
                    for name, one in results.items():
                        self.assertEqual(one["status"], "ok", (dtype, shape, one))
                        self.assertEqual(one["id"], f"conv2d.{dtype}.{shape}.{name}@{device}")

    def test_products_by_openblas(self):
        words = ("--samples", "1", "--lib", "openblas", *CPU)
        one = self.results("--shape", SHAPE, *words, environment=fakes(FAKE_OPENBLAS="block"),
                           code=5)["openblas"]
        self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "whole numbers"))
        for more, told in ((("--shape", SHAPE, "--dtype", "f16"),
                            "does not compute this combination of types"),
                           (("--shape", "n1c2h5w5:k2r3s3"), "so few channels without products")):
            one = self.results(*words, *more, code=3)["openblas"]
            self.assertEqual(one["status"], "skipped")
            self.assertIn(told, one["reason"])
        real = clean_environment()
        result = run("run-kernel", "conv2d", "--shape", SHAPE, *words, environment=real)
        if result.returncode == 3 and "no OpenBLAS was found" in result.stderr:
            self.skipTest("no OpenBLAS on this machine")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_table(self):
        result = self.run_kernel(*SMALL, "--lib", "all", "--device", "nvidia:0")
        self.assertRegex(result.stdout, r"\A2 of 2 convolutions right on nvidia:0, every element "
                                        r"judged; seed 1\n")
        self.assertRegex(result.stdout, rf"(?m)^{SHAPE} f32 on nvidia:0$")
        self.assertRegex(result.stdout, r"(?m)^cudnn +[\d.]+ [MG]FLOP/s +\d+ % of \w+ +[\d.]+ "
                                        r"+right$")
        self.assertRegex(result.stdout, r"cudnn: version 9\.19\.0,\s")
        self.assert_width(result.stdout)
        rows = list(csv.DictReader(io.StringIO(self.run_kernel(
            *SMALL, "--lib", "all", "--device", "amd:0", "--format", "csv").stdout)))
        self.assertEqual([(row["library"], row["transpose"]) for row in rows],
                         [("own", ""), ("miopen", "")])

    def test_own_is_what_runs_if_nothing_is_said(self):
        results = self.results("--samples", "1", *CPU)
        self.assertEqual(list(results), ["own"])
        self.assertEqual(results["own"]["shape"], "n1c32h28w28:k32r3s3p1")

    def test_tf32_only_where_it_is_asked_for(self):
        # The fake computes f32 in TF32 unless that is ruled out, as the real one may.
        words = ("--shape", "n1c64h6w6:k8r3s3", "--samples", "1", "--lib", "all")
        results = self.results(*words, "--device", "nvidia:0")
        self.assertLess(results["cudnn"]["max_error"], 1)
        results = self.results(*words, "--compute", "tf32", "--device", "nvidia:0")
        self.assertEqual([one["status"] for one in results.values()], ["skipped", "ok"])
        self.assertEqual(results["cudnn"]["compute"], "tf32")
        self.assertIn(".in-tf32.", results["cudnn"]["id"])
        self.results(*words, "--compute", "tf32", "--device", "amd:0", code=3)


class Faults(Convolutions):
    def faulty(self, fault, *words, code, **variables):
        """By the platform's library, which has the fault; ours must be right all the same."""
        found = []
        for device, library, variable in PLATFORMS:
            results = self.results(*SMALL, "--lib", "all", "--device", device, *words, code=code,
                                   environment=fakes(**{variable: fault}, **variables))
            self.assertEqual(results["own"]["status"], "ok", results["own"])
            self.assertIsNotNone(results["own"]["flops_per_s"])
            self.assertIsNone(results[library]["flops_per_s"])
            found.append(results[library])
        return found

    def test_wrong_block(self):
        for one in self.faulty("block", code=5):
            self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "whole numbers"))
            # The last 64 elements, of which those that are -1 stay so.
            self.assertEqual(one["wrong_where"], "1x64 block at [5,8], in 1 of 2 images")
            self.assertTrue(55 < one["wrong"]["count"] <= 64, one["wrong"])
            self.assertGreaterEqual(one["wrong"]["first_bad_index"], RESULTS - 64)
            self.assertTrue(one["wrong"]["reread_agrees"])
        result = self.run_kernel(*SMALL, "--lib", "cudnn", "--device", "nvidia:0", code=5,
                                 environment=fakes(FAKE_CUDNN="block"))
        text = " ".join(result.stdout.split())
        self.assertTrue(text.startswith("WRONG RESULTS of 1: 0 of 1 convolution right"), text)
        self.assertRegex(text, r"first image 1, channel 5, row \d, column \d: expected -?\d")

    def test_wrong_at_the_second_call_only(self):
        for one in self.faulty("second", code=5):
            self.assertEqual((one["status"], one["reason"]),
                             ("mismatch", "the second call is wrong, the first was right"))
            self.assertEqual((one["wrong"]["count"], one["wrong"]["first_bad_index"]),
                             (1, RESULTS - 1))
            self.assertEqual(one["wrong_where"], "one element at [5,71], in 1 of 2 images")

    def test_less_exact_sums_than_asked_for(self):
        for one in self.faulty("tf32", code=5):
            self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "random numbers"))
        for one in self.faulty("f16", "--dtype", "f16", code=5):
            self.assertEqual((one["status"], one["wrong_data"]), ("mismatch", "random numbers"))

    def test_tf32_of_many_terms(self):
        # Its error does not grow with the terms, so the bound must stay below it.
        results = self.results("--shape", "n1c8192h3w3:k4r3s3p1", "--samples", "1", "--lib",
                               "cudnn", "--device", "nvidia:0", code=5,
                               environment=fakes(FAKE_CUDNN="tf32"))
        self.assertEqual(results["cudnn"]["status"], "mismatch")

    def test_abort_and_error(self):
        # cuDNN's plans run when they are compared.
        for one, step in zip(self.faulty("abort", code=6),
                             ("preparing cudnn", "the first convolution of whole")):
            self.assertEqual(one["status"], "failed")
            self.assertIn("was ended by signal 6 (Aborted) during: " + step, one["reason"])
        for one in self.faulty("abort-at-load", code=6):
            self.assertIn("signal 6 (Aborted) during: opening ", one["reason"])
        for one, text in zip(self.faulty("error", code=6),
                             ("CUDNN_STATUS_EXECUTION_FAILED", "miopenStatusInternalError")):
            self.assertIn("the convolution failed: " + text, one["reason"])

    def test_hang(self):
        seconds = 30 if program.is_sanitized() else 8
        for one in self.faulty("hang", code=6, HIPTOOL_LIBRARY_TIMEOUT=str(seconds)):
            self.assertEqual(one["status"], "failed")
            self.assertIn("did not return within", one["reason"])

    def test_library_that_does_not_start(self):
        one = self.results(*SMALL, "--lib", "own,cudnn", "--device", "nvidia:0", code=6,
                           environment=fakes(FAKE_CUDNN_CREATE="1001"))["cudnn"]
        self.assertIn("opening failed: CUDNN_STATUS_NOT_INITIALIZED (1001): no usable NVIDIA "
                      "driver or GPU", one["reason"])

    def test_missing_libraries_are_skipped_and_never_pass(self):
        for device, library, _ in PLATFORMS:
            results = self.results(*SMALL, "--lib", "all", "--device", device,
                                   environment=fakes(folder="/nowhere"))
            self.assertEqual((results[library]["status"], results[library]["checked"]),
                             ("skipped", None))
            self.assertIn("was found", results[library]["reason"])
        result = self.run_kernel(*SMALL, "--lib", "cudnn,miopen", "--device", "nvidia:0", code=3,
                                 environment=fakes(folder="/nowhere"))
        self.assertIn("no convolution was computed: ", result.stderr)
        self.assertIn("miopen is not a library of the nvidia platform", result.stderr)

    def test_another_major_version(self):
        for device, library, _ in PLATFORMS:
            results = self.results(*SMALL, "--lib", "all", "--device", device,
                                   environment=fakes(FAKE_BLAS_MAJOR="14"))
            self.assertEqual(results[library]["status"], "skipped")
            self.assertIn("14", results[library]["reason"])
            self.assertEqual(results["own"]["status"], "ok")

    def test_every_format_has_the_verdict(self):
        words = ["run-kernel", "conv2d", *SMALL, "--lib", "own,cudnn", "--device", "nvidia:0"]
        for fault, code in (("none", 0), ("block", 5), ("abort", 6)):
            check_one_verdict(self, words, code, fakes(FAKE_CUDNN=fault))
        check_one_verdict(self, [*words, "--fail-below", "conv2d.f32.cudnn>=900TFLOP/s"], 1,
                          fakes(), stdout_formats=())


    def test_cudnn_without_usable_plans(self):
        # Its older interface computes; a plan that fails later is replaced by it.
        for word in ("no-plans", "plans-fail", "execute-fails"):
            for dtype in ("f32", "f16"):
                one = self.results(*SMALL, "--dtype", dtype, "--lib", "cudnn", "--device",
                                   "nvidia:0",
                                   environment=fakes(FAKE_CUDNN_GRAPH=word))["cudnn"]
                self.assertEqual((one["status"], one["checked"]), ("ok", 2 * RESULTS), word)


class Words(Convolutions):
    def test_thresholds(self):
        words = (*SMALL, "--lib", "all", "--device", "amd:0")
        threshold = f"conv2d.f32.{SHAPE}.miopen>=1MFLOP/s"
        result = self.run_kernel(*words, "--fail-below", threshold)
        self.assertIn("met: " + threshold, result.stdout)
        result = self.run_kernel(*words, "--fail-below", "conv2d.f32.miopen>=5000%", code=1)
        self.assertIn(f"MISSED: conv2d.f32.{SHAPE}.miopen@amd:0: ", result.stdout)
        for text in ("conv2d.f64>=1MFLOP/s", "conv2d.f32.cudnn>=1MFLOP/s", "matmul.f32>=1MFLOP/s",
                     "conv2d.f32>=1GB/s", "conv2d.f32.n1c1h1w1:k1r1s1>=1%", "conv2d.nn>=1%"):
            result = self.run_kernel(*words, "--fail-below", text, code=2)
            self.assertIn("conv2d.f16.n8c64h56w56:k64r3s3.miopen>=70%", result.stderr)
        # A wrong one misses it; so does one that failed.
        self.run_kernel(*words, "--fail-below", "conv2d.miopen>=1MFLOP/s", code=5,
                        environment=fakes(FAKE_MIOPEN="block"))

    def test_a_file_and_traps(self):
        path = self.folder / "shapes.txt"
        path.write_text("# a model's\nn1c2h5w5:k2r3s3p1\nn1c2h5w5:s3r3k2p1x1\nn1c4h4w4:k4r1s1 "
                        "bf16\n", encoding="utf-8")
        rows = list(csv.DictReader(io.StringIO(self.run_kernel(
            "--shapes", str(path), "--samples", "1", *CPU, "--format", "csv").stdout)))
        self.assertEqual([(row["shape"], row["dtype"]) for row in rows],
                         [("n1c2h5w5:k2r3s3p1", "f32"), ("n1c4h4w4:k4r1s1", "bf16")])
        path.write_text("n1c2h5w5:k2r3s3p1\nn1c2h5w5:k2r3s3q1\n", encoding="utf-8")
        result = self.run_kernel("--shapes", str(path), *CPU, code=2)
        self.assertIn("line 2", result.stderr)
        self.assertIn("unexpected 'q'", result.stderr)
        text = self.run_kernel("--shapes", "traps", "--lib", "miopen", *CPU, "--format", "json",
                               code=3).stdout
        document = self.assert_document(text, "run-kernel.schema.json")
        self.assertEqual([one["shape"] for one in document["measurements"]],
                         ["n1c1h48w50:k1r23s23", "n1c16h270w480:k16r3s3p1",
                          "n16c64h56w56:k64r1s1", "n128c128h1w1:k128r1s1"])
        self.assertIn("ROCm/rocm-libraries#7024", document["measurements"][0]["trap"])

    def test_samples_of_large_convolutions(self):
        # Judged within the time that there is, whole numbers completely.
        one = self.results("--shape", "n4c2h64w64:k64r2s2", "--samples", "1", *CPU)["own"]
        results = 4 * 64 * 63 * 63
        self.assertEqual(one["status"], "ok")
        self.assertEqual(one["checked"], round(results * (1 + one["judged_share"])))

    def test_wrong_options(self):
        for words, told in ((("--lib", "cudn"), "did you mean 'cudnn'"),
                            (("--lib", "cublas"), "--lib"),
                            (("--shape", "8x64x56x56"), "it has no ':'"),
                            (("--shape", "n8c64h56w56:k64r3"), "it has no s"),
                            (("--shape", "n8c64h2w2:k64r3s3"), "larger than the padded image"),
                            (("--transpose", "nt"), "--transpose applies to matmul alone"),
                            (("--batch", "2"), "--batch applies to matmul alone"),
                            (("--compute", "f16", "--dtype", "f16"), "--compute f16"),
                            (("--compute", "tf32", "--dtype", "f16"), "--compute tf32"),
                            (("--compute", "f32", "--dtype", "f64"), "--compute f32"),
                            (("--dtype", "i32"), "--dtype"),
                            (("--shapes", "traps", "--shape", SHAPE), "--shape and --shapes"),
                            (("--lib", "own", "--sweep", "quick"), "--sweep")):
            with self.subTest(words=words):
                result = self.run_kernel(*words, *CPU, code=2)
                self.assertIn(told, result.stderr)

    def test_other_modes_are_the_operation(self):
        result = self.run_kernel("--sweep", "quick", "--dtype", "f16", "--layout", "packed", *CPU)
        self.assertRegex(result.stdout, r"\A1 of 1 operation right")
        result = self.run_kernel("--layout", "transposed", "--shape", "1x4x6x6", "--dtype", "f32",
                                 *CPU)
        self.assertIn("conv2d", result.stdout)

    def test_help_states_the_shape(self):
        text = " ".join(run("help", "run-kernel", "all",
                            environment=clean_environment()).stdout.split())
        self.assertIn("n8c64h56w56:k64r3s3", text)


if __name__ == "__main__":
    program.main(__doc__)
