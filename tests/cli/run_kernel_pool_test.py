# SPDX-License-Identifier: MIT
"""`hiptool run-kernel avg_pool2d` and `max_pool2d` with --lib: our kernels, MIOpen and cuDNN.

Usage: run_kernel_pool_test.py PROGRAM [unittest options]
Variables: FAKE_CUDA and FAKE_AMD7, fake drivers; FAKE_BLAS_FOLDER, libraries with faults on demand.
"""
import program
from run_kernel_matmul_test import CPU, LibraryTest, fakes
from verdicts import check_one_verdict

SHAPE = "n2c4h13w12:r3s2u2x3"
RESULTS = 2 * 4 * 6 * 4
SMALL = ("--shape", SHAPE, "--samples", "2")
PLATFORMS = (("nvidia:0", "cudnn", "FAKE_CUDNN"), ("amd:0", "miopen", "FAKE_MIOPEN"))


class Poolings:
    """The tests of both kernels."""

    def test_all_of_a_platform(self):
        for device, names in (("nvidia:0", ["own", "cudnn"]), ("amd:0", ["own", "miopen"]),
                              ("cpu", ["own"])):
            for dtype in ("f32", "f16"):
                with self.subTest(device=device, dtype=dtype):
                    results = self.results(*SMALL, "--lib", "all", "--device", device, "--dtype",
                                           dtype)
                    self.assertEqual(list(results), names)
                    for name, one in results.items():
                        self.assertEqual((one["status"], one["wrong"]), ("ok", None), one)
                        self.assertEqual((one["checked"], one["judged_share"]), (2 * RESULTS, 1))
                        self.assertLessEqual(one["max_error"], 1)
                        self.assertAlmostEqual(one["flops_per_s"] * one["median_s"], RESULTS * 6,
                                               delta=1)
                        self.assertIn("limited by memory", one["share_reason"])
                        self.assertTrue(one["id"].startswith(f"{self.kernel}.{dtype}.{SHAPE}."
                                                             f"{name}@"), one["id"])

    def test_types_that_libraries_do_not_have(self):
        for device, library, _ in PLATFORMS:
            for dtype in ("f64", "bf16"):
                results = self.results(*SMALL, "--lib", "all", "--device", device, "--dtype", dtype)
                self.assertEqual(results["own"]["status"], "ok")
                self.assertEqual(results[library]["status"], "skipped")
                self.assertIn("poolings of f32 and f16", results[library]["reason"])

    def test_wrong_block_and_wrong_second_call(self):
        for device, library, variable in PLATFORMS:
            for fault, count in (("block", 64), ("second", 1)):
                results = self.results(*SMALL, "--lib", "all", "--device", device, code=5,
                                       environment=fakes(**{variable: fault}))
                self.assertEqual(results["own"]["status"], "ok")
                one = results[library]
                self.assertEqual((one["status"], one["flops_per_s"]), ("mismatch", None))
                # 2 x + 1 is x for -1.
                self.assertTrue(0.8 * count <= one["wrong"]["count"] <= count, one["wrong"])
                self.assertGreaterEqual(one["wrong"]["first_bad_index"], RESULTS - count)
                self.assertTrue(one["wrong"]["reread_agrees"])
        text = " ".join(self.run_kernel(*SMALL, "--lib", "cudnn", "--device", "nvidia:0", code=5,
                                        environment=fakes(FAKE_CUDNN="second")).stdout.split())
        self.assertTrue(text.startswith("WRONG RESULTS of 1: 0 of 1 pooling right"), text)
        self.assertRegex(text, r"first image 1, channel 3, row 5, column 3: expected -?\d")

    def test_errors_and_missing_libraries(self):
        for device, library, variable in PLATFORMS:
            for fault, told in (("error", "the pooling failed: "),
                                ("abort", "ended by signal 6 (Aborted) during: ")):
                one = self.results(*SMALL, "--lib", "all", "--device", device, code=6,
                                   environment=fakes(**{variable: fault}))[library]
                self.assertEqual(one["status"], "failed")
                self.assertIn(told, one["reason"])
            one = self.results(*SMALL, "--lib", "all", "--device", device,
                               environment=fakes(folder="/nowhere"))[library]
            self.assertEqual((one["status"], one["checked"]), ("skipped", None))

    def test_every_format_has_the_verdict(self):
        words = ["run-kernel", self.kernel, *SMALL, "--lib", "own,cudnn", "--device", "nvidia:0"]
        for fault, code in (("none", 0), ("block", 5), ("error", 6)):
            check_one_verdict(self, words, code, fakes(FAKE_CUDNN=fault))

    def test_thresholds_files_and_default_shapes(self):
        self.assertIn("met: ", self.run_kernel(*SMALL, "--lib", "miopen", "--device", "amd:0",
                                               "--fail-below",
                                               f"{self.kernel}.miopen>=0.01MFLOP/s").stdout)
        result = self.run_kernel(*SMALL, "--lib", "own", *CPU, "--fail-below", "conv2d>=1MFLOP/s",
                                 code=2)
        self.assertIn(f"{self.kernel}.f16.miopen>=70%", result.stderr)
        path = self.folder / "shapes.txt"
        path.write_text("n1c2h5w5:r2s2\nn1c2h5w5:r5s5 f16\n", encoding="utf-8")
        document = self.assert_document(
            self.run_kernel("--shapes", str(path), *CPU, "--format", "json").stdout,
            "run-kernel.schema.json")
        self.assertEqual([(one["shape"], one["dtype"]) for one in document["measurements"]],
                         [("n1c2h5w5:r2s2", "f32"), ("n1c2h5w5:r5s5", "f16")])
        one = self.results("--lib", "own", "--samples", "1", *CPU)["own"]
        self.assertEqual(one["shape"], "n1c32h28w28:r3s3u2")

    def test_wrong_options(self):
        for words, told in ((("--lib", "openblas"), "--lib"),
                            (("--lib", "own", "--transpose", "nt"), "applies to matmul alone"),
                            (("--lib", "own", "--batch", "2"), "applies to matmul alone"),
                            (("--lib", "own", "--compute", "tf32"), "--compute tf32"),
                            (("--lib", "own", "--dtype", "i8"), "--dtype"),
                            (("--lib", "own", "--shape", "1x2x5x5"), "it has no ':'"),
                            (("--lib", "own", "--shape", "n1c1h4w4:r2"), "it has no s"),
                            (("--lib", "own", "--shape", "n1c1h4w4:r2s2p1"), "unexpected 'p'"),
                            (("--lib", "own", "--shape", "n1c1h4w4:r5s2"),
                             "the window is larger than the image"),
                            (("--shapes", "traps"), "no shape is known"),
                            (("--lib", "own", "--sweep", "quick"), "--sweep")):
            with self.subTest(words=words):
                self.assertIn(told, self.run_kernel(*words, *CPU, code=2).stderr)

    def test_without_a_library_it_is_the_operation(self):
        result = self.run_kernel("--shape", "1x4x6x6", "--dtype", "f32", *CPU)
        self.assertIn("1x4x6x6", result.stdout)


class Averages(Poolings, LibraryTest):
    kernel = "avg_pool2d"


class Largest(Poolings, LibraryTest):
    kernel = "max_pool2d"


if __name__ == "__main__":
    program.main(__doc__)
