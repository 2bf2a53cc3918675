# SPDX-License-Identifier: MIT
"""One verdict, everywhere: each way in which bench-copy and run-kernel end, read from every format.
Fakes of the vendors' libraries (FAKE_CUDA, FAKE_AMD7) damage copies or have no kernels; they run on
the processor.

Usage: verdict_test.py PROGRAM [unittest options].
"""
import json
import os
import shutil
import struct
import unittest
import unittest.mock

import program
from program import CliTest, clean_environment, run
from verdicts import Reader, check_one_verdict

COPY = ["bench-copy", "--device", "cpu", "--kind", "h2d,d2h", "--size", "64KiB", "--samples", "9"]
KERNEL = ["run-kernel", "--device", "cpu", "--size", "64KiB", "--samples", "1"]
HUGE = "9999TB/s"


def fake_cuda(**more):
    return clean_environment(HIPTOOL_HIP_LIBRARY="/nowhere/hip",
                             HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"], **more)


def on_fake(words):
    return [word if word != "cpu" else "nvidia:0" for word in words]


class BenchCopy(CliTest):
    def test_passed(self):
        document = check_one_verdict(self, COPY + ["--fail-below", "h2d>=1MB/s"], 0)
        self.assertEqual(document["failures"], [])

    def test_passed_with_a_part_skipped(self):
        check_one_verdict(self, COPY + ["--kind", "h2d,p2p-write"], 0)

    def test_missed_threshold(self):
        document = check_one_verdict(
            self, COPY + ["--fail-below", f"h2d>={HUGE}", "--fail-below", "d2h>=1MB/s"], 1)
        self.assertEqual([failure["what"] for failure in document["failures"]],
                         [f"h2d>={HUGE} h2d.pinned.copy.64KiB@cpu:0"])
        failure = document["failures"][0]
        self.assertEqual(failure["expected"], 9999e12)
        self.assertEqual(failure["got"], document["measurements"][0]["bytes_per_s"])
        table = run(*COPY, "--fail-below", f"h2d>={HUGE}", "--fail-below", "d2h>=1MB/s").stdout
        self.assertRegex(table, r"\AFAILED: 1 of 2 thresholds missed:\s+"
                                r"h2d.pinned.copy.64KiB@cpu:0 [\d.]+ GB/s\s+< ")

    def baseline(self, factor=1.0, words=COPY):
        """A document whose samples took `factor` times as long as those of a run just now."""
        document = json.loads(run(*words, "--format", "json").stdout)
        for cell in document["measurements"]:
            cell["samples_s"] = [factor * sample for sample in cell["samples_s"]]
            cell["bytes_per_s"] /= factor
        path = self.folder / "baseline.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return ["--baseline", str(path)]

    def test_slower_than_the_baseline(self):
        document = check_one_verdict(self, COPY + self.baseline(1 / 1000), 1)
        self.assertEqual({failure["what"] for failure in document["failures"]},
                         {cell["id"] + " against the baseline"
                          for cell in document["measurements"]})
        for failure in document["failures"]:
            self.assertLess(failure["got"], failure["expected"])

    def test_faster_than_the_baseline(self):
        check_one_verdict(self, COPY + self.baseline(1000), 0, stdout_formats=())

    def test_baseline_of_other_measurements(self):
        words = COPY + self.baseline()
        check_one_verdict(self, words + ["--size", "32KiB"], 1)

    def test_baseline_of_a_part(self):
        words = COPY + self.baseline(1000) + ["--kind", "h2d,d2d"]
        check_one_verdict(self, words, 0, stdout_formats=())
        check_one_verdict(self, words + ["--strict-baseline"], 1, stdout_formats=())

    def test_nothing_measured(self):
        document = check_one_verdict(self, COPY + ["--kind", "p2p-write"], 3)
        self.assertEqual(document["status"], "failed")

    def test_no_device(self):
        check_one_verdict(self, ["bench-copy", "--device", "nvidia:7"], 3)

    def test_baseline_that_is_missing(self):
        check_one_verdict(self, COPY + ["--baseline", str(self.folder / "none")], 4)

    def test_wrong_data(self):
        words = on_fake(COPY)
        environment = fake_cuda(FAKE_CUDA_CORRUPT_FROM="65536")
        document = check_one_verdict(self, words, 5, environment)
        self.assertEqual({cell["status"] for cell in document["measurements"]}, {"mismatch"})
        # Worse than a threshold that was missed too.
        missed = ["--fail-below", f"h2d>={HUGE}"]
        document = check_one_verdict(self, words + missed, 5, environment, ())
        self.assertEqual(document["status"], "mismatch")

    def test_failed_call(self):
        document = check_one_verdict(self, on_fake(COPY), 6,
                                     fake_cuda(FAKE_CUDA_FAIL_FROM="65536"))
        self.assertEqual(document["error"]["code"], "device")

    def test_interrupted(self):
        words = [*COPY, "--kind", "h2d,d2h,d2d", "--samples", "500", "--size", "1MiB"]
        check_one_verdict(self, words, 130, stop_at="[1/3]", stdout_formats=())


class BuiltInKernels(CliTest):
    def test_passed(self):
        check_one_verdict(self, KERNEL + ["memset", "--fail-below", "memset>=1kB/s"], 0)

    def test_passed_with_a_part_skipped(self):
        document = check_one_verdict(self, KERNEL + ["memset", "sum", "--dtype", "f32"], 0,
                                     stdout_formats=())
        self.assertEqual({result["status"] for result in document["measurements"]},
                         {"ok", "skipped"})

    def test_list(self):
        check_one_verdict(self, ["run-kernel", "--list"], 0)

    def test_missed_threshold(self):
        words = KERNEL + ["memset", "--fail-below", f"memset>={HUGE}", "--fail-below",
                          "memset>=1kB/s"]
        document = check_one_verdict(self, words, 1)
        [result] = document["measurements"]
        [failure] = document["failures"]
        self.assertEqual({key: value for key, value in failure.items() if value is not None}, {
            "what": f"memset>={HUGE} memset.u32.64KiB@cpu:0", "kind": "threshold",
            "measurement": result["id"], "expected": 9999e12, "got": result["bytes_per_s"]})
        self.assertRegex(run(*words).stdout, r"\AFAILED: 1 of 2 thresholds missed:\s+memset.u32")

    def test_nothing_run(self):
        environment = clean_environment(HIPTOOL_HIP_LIBRARY=os.environ["FAKE_AMD7"],
                                        HIPTOOL_CUDA_LIBRARY="/nowhere/cuda",
                                        FAKE_HIP_ARCH="gfx999")
        words = ["run-kernel", "all", "--device", "amd:0", "--size", "64KiB"]
        document = check_one_verdict(self, words, 3, environment, ())
        self.assertEqual({result["status"] for result in document["measurements"]}, {"skipped"})
        self.assertIn("no kernel was run", document["error"]["message"])
        # No threshold is at fault where nothing was run.
        check_one_verdict(self, words + ["--fail-below", "memset>=1kB/s"], 3, environment, ())

    def test_no_device(self):
        check_one_verdict(self, ["run-kernel", "memset", "--device", "nvidia:7"], 3)

    def test_threshold_file_that_is_missing(self):
        check_one_verdict(self, KERNEL + ["memset", "--fail-below", "@none"], 4,
                          stdout_formats=())

    def fake_words(self):
        words = on_fake(KERNEL) + ["memset", "sum"]
        if run(*words, environment=fake_cuda()).returncode == 3:
            self.skipTest("this build has no kernels for the fake GPU")
        return words

    def test_wrong_results(self):
        document = check_one_verdict(self, self.fake_words(), 5,
                                     fake_cuda(FAKE_CUDA_CORRUPT_FROM="65536"))
        self.assertIn("mismatch", {result["status"] for result in document["measurements"]})
        missed = ["--fail-below", f"memset>={HUGE}"]
        check_one_verdict(self, self.fake_words() + missed, 5,
                          fake_cuda(FAKE_CUDA_CORRUPT_FROM="65536"), ())

    def test_failed_call(self):
        check_one_verdict(self, self.fake_words(), 6, fake_cuda(FAKE_CUDA_FAIL_FROM="65536"))

    def test_interrupted(self):
        check_one_verdict(self, KERNEL + ["memset", "write", "stream-copy"], 130,
                          stop_at="[1/", stdout_formats=())


KERNEL_SOURCE = """
extern "C" __global__ void count(int* x) { x[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void crash(int* x) { *(int*)0 = x[0]; }
"""


@unittest.skipUnless(any(shutil.which(name) for name in ("c++", "g++", "clang++")),
                     "no C++ compiler is installed")
class OwnKernels(CliTest):
    def words(self, name="count", count=4, expected=(0, 1, 2, 3)):
        source = self.folder / "k.hip"
        source.write_text(KERNEL_SOURCE, encoding="utf-8")
        want = self.folder / "want.bin"
        want.write_bytes(struct.pack(f"{len(expected)}i", *expected))
        return ["run-kernel", "--device", "cpu", "--module", source, "--name", name, "--grid", "1",
                "--block", "4", "--arg", f"buf:i32:{count}:zeros", "--expect", f"0:{want}"]

    def test_passed(self):
        check_one_verdict(self, self.words(), 0)

    def test_wrong_result(self):
        check_one_verdict(self, self.words(expected=(0, 1, 2, 4)), 5)

    def test_write_outside_of_a_buffer(self):
        check_one_verdict(self, self.words(count=3, expected=(0, 1, 2)), 5,
                          stdout_formats=())

    def test_expected_file_of_another_size(self):
        check_one_verdict(self, self.words(expected=(0, 1)), 4, stdout_formats=())

    def test_a_crash_still_writes_its_document(self):
        result = run(*[str(word) for word in self.words("crash")], "--format", "json")
        self.assertEqual(result.returncode, 6, result.stderr)
        Reader(self, 6).read("json", result.stdout)


class Readers(CliTest):
    """check_one_verdict() finds a program that is wrong in one place only."""

    def failures(self, fault):
        """Of the verdict of a program that runs the right one, and then a line of shell."""
        script = self.folder / "wrong"
        script.write_text(f"""#!/bin/sh
"{program.PROGRAM}" "$@" > "{self.folder}/out"
code=$?
cd "{self.folder}"
{fault}
cat out
exit $code
""", encoding="utf-8")
        script.chmod(0o755)
        folder = self.folder

        class Verdict(CliTest):
            def runTest(self):   # pylint: disable=invalid-name
                self.folder = folder
                check_one_verdict(self, ["run-kernel", "--list"], 0, formats=("json", "csv"),
                                  stdout_formats=("json",))

        result = unittest.TestResult()
        with unittest.mock.patch.object(program, "PROGRAM", str(script)):
            Verdict().run(result)
        return result.failures + result.errors

    def test_one_thing_wrong(self):
        self.assertEqual(self.failures("true"), [])
        for fault in ("code=1",
                      'case "$*" in report*) ;; *) sed -i s/memset/memse/ out ;; esac',
                      'case "$*" in report*) sed -i s/memset/memse/ out ;; esac',
                      r"sed -i 's/\x1b.[0-9;]*m//g' out",
                      """sed -i 's/"passed": *true/"passed": 1/' verdict.json""",
                      """sed -i 's/"exit_code": *0/"exit_code": 1/' verdict.json""",
                      "sed -i s/true$/false/ verdict.csv",
                      'case "$*" in *"format json"*) sed -i "s/: *true/: 1/" out ;; esac'):
            with self.subTest(fault=fault):
                self.assertNotEqual(self.failures(fault), [])


if __name__ == "__main__":
    program.main(__doc__)
