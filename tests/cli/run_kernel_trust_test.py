# SPDX-License-Identifier: MIT
"""`hiptool run-kernel --module`: what makes a result and a rate trustworthy: tolerances, zeros,
repeats with poison, cold caches, throttled samples.

Usage: run_kernel_trust_test.py PROGRAM [unittest options]. FAKE_CUDA and FAKE_NVML name the fakes,
KERNELS the folder with the build's own images.
"""
import os
import pathlib
import shutil
import struct
import unittest

import program
from program import CliTest, clean_environment, run

HAS_COMPILER = any(shutil.which(name) for name in ("c++", "g++", "clang++"))

KERNEL = """
extern "C" __global__ void square(const float* in, float* out, unsigned n, unsigned step) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (step == 0 || i % step != 3)) out[i] = in[i] * in[i];
}
extern "C" __global__ void add(const float* in, float* out) {
  out[threadIdx.x] += in[threadIdx.x];
}
extern "C" __global__ void nothing(const float* in, float* out) {}
"""
N = 64


class RunKernel(CliTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "kernels.hip"
        self.text.write_text(KERNEL, encoding="utf-8")

    def run_kernel(self, *words, code=0, environment=None):
        result = run("run-kernel", *words, environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def document(self, *words, code=0, environment=None):
        result = self.run_kernel(*words, "--format", "json", code=code, environment=environment)
        return self.assert_document(result.stdout, "run-kernel.schema.json")


@unittest.skipUnless(HAS_COMPILER, "no C++ compiler is installed")
class OnTheProcessor(RunKernel):
    def setUp(self):
        super().setUp()
        program.compile_once(self)

    def launch(self, name, *words, code=0):
        return self.document("--device", "cpu", "--module", str(self.text), "--name", name,
                             "--grid", "1", "--block", str(N), *words, code=code)

    def square(self, out, *words, step=0, code=0):
        document = self.launch("square", "--arg", f"buf:f32:{N}:iota", "--arg",
                               f"buf:f32:{N}:{out}", "--arg", f"u32:{N}", "--arg", f"u32:{step}",
                               *words, code=code)
        return document["measurements"][0]

    def want(self, values):
        file = self.folder / "want"
        file.write_bytes(struct.pack(f"<{len(values)}f", *values))
        return "--expect", f"1:{file}"

    def test_relative_and_absolute_tolerance(self):
        expect = self.want([i * i * 1.001 for i in range(N)])
        self.square("zeros", *expect, code=5)
        self.square("zeros", *expect, "--tolerance", "rtol=1e-4,atol=1e-6", code=5)
        found = self.square("zeros", *expect, "--tolerance", "rtol=1e-2")
        self.assertEqual((found["rtol"], found["atol"], found["tolerance"]), (0.01, 0, 0))
        self.square("zeros", *expect, "--tolerance", "atol=4")
        found = self.square("zeros", *expect, "--tolerance", "atol=1e-6,rtol=2e-3")
        self.assertEqual((found["rtol"], found["atol"]), (0.002, 1e-6))
        found = self.square("zeros", *expect, "--tolerance", "2e-3")
        self.assertEqual((found["rtol"], found["atol"], found["tolerance"]), (None, None, 2e-3))

    def test_tolerances_that_are_none(self):
        expect = self.want([0] * N)
        for word in ("rtol=", "rtol=x", "rtol=-1", "rtol=1,rtol=2", "rtol=1,atol=2,atol=3",
                     "etol=1", "1e-3,atol=1", "rtol=inf"):
            with self.subTest(word):
                result = self.run_kernel(
                    "--device", "cpu", "--module", str(self.text), "--name", "nothing", "--grid",
                    "1", "--block", "1", "--arg", "buf:f32:64:iota", "--arg", "buf:f32:64:zeros",
                    *expect, "--tolerance", word, code=2)
                self.assertIn("rtol=1e-3,atol=1e-6", result.stderr)

    def test_zeros_never_pass_for_values(self):
        expect = self.want([1 / 393216] * N)   # as of a softmax
        words = ("--arg", f"buf:f32:{N}:iota", "--arg", f"buf:f32:{N}:zeros", *expect)
        for tolerance in ("1e-4", "atol=1e-4", "rtol=1,atol=1"):
            with self.subTest(tolerance):
                found = self.launch("nothing", *words, "--tolerance", tolerance, code=5)
                self.assertEqual(found["measurements"][0]["refused_zeros"], N)
                text = found["shown"]["lines"][0]["text"]
                self.assertIn("64 zeros within the tolerance, as the output of a kernel that "
                              "writes nothing would be", text)

    def test_poison_names_what_was_not_written(self):
        self.assertEqual(self.square("poison")["repeats"], 2)
        found = self.square("poison", step=8, code=5)
        self.assertEqual((found["status"], found["unwritten"]),
                         ("mismatch", [{"argument": 1, "count": 8, "first_index": 3}]))
        self.assertIsNone(found["difference"])
        result = self.run_kernel(
            "--device", "cpu", "--module", str(self.text), "--name", "nothing", "--grid", "1",
            "--block", "1", "--arg", f"buf:f32:{N}:iota", "--arg", f"buf:f32:{N}:poison", code=5)
        self.assertIn(f"wrong: nothing on cpu:0 did not write 64 of 64 elements of argument 1 "
                      f"(buf:f32:{N}:poison), the first at 0", " ".join(result.stdout.split()))

    def test_repeats_with_a_seed(self):
        digests = set()
        for seed in ("1", "7", "123456789012345678"):
            found = self.square("poison", "--seed", seed)
            self.assertEqual((found["repeats"], found["seed"], found["status"]),
                             (3, int(seed), "ok"))
            digests.add(found["digest"])
        self.assertEqual(len(digests), 1)
        self.assertRegex(digests.pop(), "^[0-9a-f]{16}$")
        found = self.square("zeros")
        self.assertEqual((found["repeats"], found["seed"], found["digest"]), (1, None, None))
        text = self.launch("square", "--arg", f"buf:f32:{N}:iota", "--arg", f"buf:f32:{N}:zeros",
                           "--arg", f"u32:{N}", "--arg", "u32:0", "--seed", "3")
        self.assertIn("3 repeats with the same results", text["shown"]["lines"][0]["text"])

    def test_a_kernel_that_adds_to_poison_gives_other_results(self):
        words = ("--arg", f"buf:f32:{N}:value:1", "--arg")
        found = self.launch("add", *words, f"buf:u8:{4 * N}:poison", "--seed", "1", code=5)
        difference = found["measurements"][0]["difference"]
        self.assertEqual((difference["repeat"], difference["argument"]), (1, 1))
        lines = [line["text"] for line in found["shown"]["lines"]]
        self.assertRegex("\n".join(lines), "wrong: add on cpu:0 gave another result in repeat 2: ")
        found = self.launch("add", *words, f"buf:f32:{N}:zeros", "--seed", "1")
        self.assertIsNone(found["measurements"][0]["difference"])

    def test_a_cold_cache_is_said(self):
        found = self.square("zeros", "--cache", "cold", "--samples", "3")
        self.assertEqual(found["cache"], "cold")
        self.assertGreaterEqual(found["flush_bytes"], 64 << 20)
        document = self.launch("nothing", "--arg", f"buf:f32:{N}:iota", "--arg",
                               f"buf:f32:{N}:zeros", "--cache", "cold")
        self.assertIn(", cold cache", document["shown"]["lines"][0]["text"])
        for words in ((), ("--cache", "warm")):
            found = self.square("zeros", *words)
            self.assertEqual((found["cache"], found["flush_bytes"], found["throttled"]),
                             ("warm", 0, None))

    def test_where_the_options_have_no_effect(self):
        for words in (("--module", str(self.text), "--cache", "cold"),
                      ("--module", str(self.text), "--seed", "1"), ("fma", "--cache", "cold")):
            with self.subTest(words):
                self.assertTrue(self.run_kernel(*words, code=2).stderr)


@unittest.skipUnless("KERNELS" in os.environ, "the build has no images for fakes")
class OnFakes(RunKernel):
    def fill(self, *words, code=0, **variables):
        libraries = self.folder / "lib"
        libraries.mkdir(exist_ok=True)
        link = libraries / "libnvidia-ml.so.1"   # the name by which it is opened
        if not link.exists():
            link.symlink_to(os.environ["FAKE_NVML"])
        environment = clean_environment(
            HIPTOOL_HIP_LIBRARY="/nowhere/hip", HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
            LD_LIBRARY_PATH=str(libraries), FAKE_NVML_BUS_IDS="0000:00:00.0,0000:01:00.0",
            **variables)
        return self.document(
            "--device", "nvidia:1", "--module",
            str(pathlib.Path(os.environ["KERNELS"]) / "fill.ptx"), "--name", "hiptool_fill_u32",
            "--grid", "4", "--block", "64", "--arg", "buf:u32:100:poison", "--arg", "u64:100",
            "--arg", "u32:5", *words, code=code, environment=environment)

    def test_throttled_samples_are_marked(self):
        document = self.fill("--samples", "3", FAKE_NVML_REASONS="0x40",
                             FAKE_NVML_REASONS_AT="0000:01:00.0")
        found = document["measurements"][0]
        self.assertEqual(found["throttled"], [
            {"sample": i, "reason": "thermal slowdown by hardware"} for i in range(3)])
        self.assertIn("3 of 3 samples throttled (thermal slowdown by hardware)",
                      document["shown"]["lines"][0]["text"])

    def test_samples_that_are_not(self):
        found = self.fill("--samples", "3", FAKE_NVML_REASONS="0x40",
                          FAKE_NVML_REASONS_AT="0000:00:00.0")["measurements"][0]
        self.assertEqual(found["throttled"], [])

    def test_poison_and_a_cold_cache_on_a_gpu(self):
        found = self.fill("--cache", "cold", "--seed", "2")["measurements"][0]
        self.assertEqual((found["unwritten"], found["repeats"]), ([], 3))
        self.assertGreaterEqual(found["flush_bytes"], 512 << 20)


if __name__ == "__main__":
    program.main(__doc__)
