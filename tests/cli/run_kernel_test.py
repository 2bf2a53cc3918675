# SPDX-License-Identifier: MIT
"""`hiptool run-kernel --module`: sources compiled for the processor, and images on fakes.

Usage: run_kernel_test.py PROGRAM [unittest options]. FAKE_AMD5, FAKE_AMD7 and FAKE_CUDA name the
fakes, KERNELS the folder with the build's own images.
"""
import os
import pathlib
import shutil
import struct
import sys
import unittest

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "fuzz"))
sys.dont_write_bytecode = True
import program  # noqa: E402
from image_seeds import fatbin, fatbin_entry  # noqa: E402 (they lie in the folder named above)
from program import CliTest, clean_environment, run  # noqa: E402

try:
    import numpy
except ImportError:
    print("skipped: the package numpy is not installed")
    raise SystemExit(77) from None

SAXPY = """#include <hip/hip_runtime.h>

__global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void __launch_bounds__(256) sums(const int* in, int* out) {
  __shared__ int part[256];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
# The fakes run kernels of this name, whatever their code says.
FILL = """extern "C" __global__ void hiptool_fill_u32(unsigned* out, unsigned long n, unsigned v) {
  for (unsigned long i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = v;
}
"""
HAS_COMPILER = any(shutil.which(name) for name in ("c++", "g++", "clang++"))
N = 1000


class RunKernel(CliTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "saxpy.hip"
        self.text.write_text(SAXPY, encoding="utf-8")
        if HAS_COMPILER:
            program.compile_once(self)

    def run_kernel(self, *words, code=0, environment=None):
        result = run("run-kernel", *words, environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def document(self, *words, code=0, environment=None):
        result = self.run_kernel(*words, "--format", "json", code=code, environment=environment)
        return self.assert_document(result.stdout, "run-kernel.schema.json")

    def error(self, *words, code, environment=None):
        document = self.document(*words, code=code, environment=environment)
        self.assertEqual(document["status"], "failed")
        return document["error"]


@unittest.skipUnless(HAS_COMPILER, "no C++ compiler is installed")
class OnTheProcessor(RunKernel):
    def saxpy(self, *words, **options):
        return self.document("--device", "cpu", "--module", str(self.text), "--name", "saxpy",
                             "--grid", "4", "--block", "256", *words, **options)

    def saxpy_words(self, expected, *words):
        x = numpy.random.default_rng(1).random(N, dtype=numpy.float32)
        x.tofile(self.folder / "x")
        want = numpy.float32(2.5) * x + numpy.arange(N, dtype=numpy.float32)
        if expected is not None:
            expected(want)
        want.tofile(self.folder / "want")
        return ("--arg", "f32:2.5", "--arg", f"buf:f32:{N}:file:{self.folder / 'x'}",
                "--arg", f"buf:f32:{N}:iota", "--arg", f"u32:{N}",
                "--expect", f"2:{self.folder / 'want'}", *words)

    def test_saxpy_is_exact(self):
        out = self.folder / "out"
        document = self.saxpy(*self.saxpy_words(None, "--out", f"2:{out}", "--out", "2:print:3",
                                                "--samples", "3"))
        result = document["measurements"][0]
        self.assertEqual((document["status"], result["status"]), ("ok", "ok"))
        self.assertEqual((result["kernel"], result["destination"], result["dtype"],
                          result["elements"]),
                         ("saxpy", "cpu:0", "f32", N))
        self.assertEqual((result["checked"], result["max_error"], result["wrong"]), (N, 0, None))
        self.assertEqual(len(result["samples_s"]), 3)
        want = (self.folder / "want").read_bytes()
        self.assertEqual(out.read_bytes(), want)
        shown = [output["values"] for output in result["outputs"] if output["values"]]
        self.assertEqual(shown, [list(struct.unpack("<3f", want[:12]))])

    def test_wrong_results(self):
        def spoil(want):
            want[7] = -want[7]
            want[900] += 1
        document = self.saxpy(*self.saxpy_words(spoil), code=5)
        wrong = document["measurements"][0]["wrong"]
        self.assertEqual((document["status"], document["measurements"][0]["status"]),
                         ("mismatch", "mismatch"))
        self.assertEqual((wrong["argument"], wrong["first_bad_index"], wrong["count"]), (2, 7, 2))
        self.assertEqual((wrong["xor_bits"], wrong["reread_agrees"]), (0x80000000, True))
        self.assertEqual(wrong["expected"], -wrong["got"])
        words = self.saxpy_words(spoil)
        text = run("run-kernel", "--device", "cpu", "--module", str(self.text), "--name", "saxpy",
                   "--grid", "4", "--block", "256", *words)
        self.assertEqual(text.returncode, 5)
        self.assertIn("wrong result of saxpy on cpu:0: 2 of 1000 elements", text.stdout)

    def test_tolerance(self):
        def nearly(want):
            want += numpy.float32(1e-4)
        words = self.saxpy_words(nearly)
        self.saxpy(*words, code=5)
        self.saxpy(*words, "--tolerance", "1e-6", code=5)
        result = self.saxpy(*words, "--tolerance", "2e-4")["measurements"][0]
        self.assertEqual(result["tolerance"], 2e-4)
        self.assertAlmostEqual(result["max_error"], 1e-4, delta=4e-5)

    def test_shared_memory_and_the_table(self):
        result = self.run_kernel("--device", "cpu", "--module", str(self.text), "--name", "sums",
                                 "--grid", "4", "--block", "256", "--arg", "buf:i32:1024:iota",
                                 "--arg", "buf:i32:4:zeros", "--out", "1:print:9")
        self.assertIn("32640 98176 163712 229248", result.stdout)
        self.assertIn("not checked", result.stdout)

    def test_several_devices(self):
        environment = clean_environment(HIPTOOL_CPU_DEVICES="2")
        words = ("--device", "cpu:0,cpu:1", "--module", str(self.text), "--name", "sums",
                 "--grid", "1", "--block", "256", "--arg", "buf:i32:256:iota", "--arg",
                 "buf:i32:1:zeros")
        document = self.document(*words, "--out", "1:print:1", environment=environment)
        self.assertEqual([(result["destination"], result["outputs"][0]["values"])
                          for result in document["measurements"]],
                         [("cpu:0", [32640]), ("cpu:1", [32640])])
        out = self.folder / "out"
        self.error(*words, "--out", f"1:{out}", code=2, environment=environment)
        self.assertFalse(out.exists())

    def test_kernels_of_a_text(self):
        words = ("--device", "cpu", "--module", str(self.text), "--grid", "1", "--block", "1")
        error = self.error(*words, "--name", "sapxy", code=2)
        self.assertEqual(error["code"], "not_found")
        self.assertIn("saxpy, sums", error["message"])
        self.assertEqual(error["hint"], "did you mean 'saxpy'?")
        self.assertIn("saxpy, sums", self.error(*words, code=2)["message"])
        one = self.folder / "one.cu"
        one.write_text("__global__ void only(int* x) { *x = 5; }", encoding="utf-8")
        document = self.document(*words[:2], "--module", str(one), *words[4:], "--arg",
                                 "buf:i32:1:zeros", "--out", "0:print:1")
        self.assertEqual(document["measurements"][0]["outputs"][0]["values"], [5])

    def test_what_does_not_compile(self):
        self.text.write_text("__global__ void f(int* x) {\n  *x = nothing;\n}", encoding="utf-8")
        words = ("--device", "cpu", "--module", str(self.text), "--grid", "1", "--block", "1",
                 "--arg", "buf:i32:1:zeros")
        error = self.error(*words, code=4)
        self.assertIn("saxpy.hip:2:", error["message"])
        error = self.error(*words, code=2, environment=clean_environment(PATH="/nowhere"))
        self.assertEqual(error["code"], "unsupported")
        self.assertIn("g++", error["hint"])

    def test_arguments_that_do_not_fit(self):
        good = list(self.saxpy_words(None))
        for place, word, argument in ((1, "f64:2.5", 0), (1, "i16:2", 0), (3, "u64:4096", 1),
                                      (7, "buf:u32:1:zeros", 3), (7, "u64:1000", 3)):
            words = [*good[:place], word, *good[place + 1:]]
            self.assertIn(f"argument {argument}", self.saxpy(*words, code=2)["error"]["message"])
        self.assertIn("takes 4 arguments, and 2 are given",
                      self.saxpy(*good[:4], code=2)["error"]["message"])

    def test_launches_that_no_device_takes(self):
        words = ("--device", "cpu", "--module", str(self.text), "--name", "sums",
                 "--arg", "buf:i32:1024:iota", "--arg", "buf:i32:4:zeros")
        for more in (("--grid", "0", "--block", "256"), ("--grid", "4", "--block", "0"),
                     ("--grid", "4", "--block", "1025"), ("--grid", "4", "--block", "32,33"),
                     ("--grid", "1,65536", "--block", "1"), ("--grid", "4"), ("--block", "1"),
                     ("--grid", "4", "--block", "64", "--shared", "1GiB"),
                     ("--grid", "4", "--block", "64", "--shared", "8GiB")):
            with self.subTest(more=more):
                self.assertEqual(self.error(*words, *more, code=2)["code"], "invalid_argument")


class WrongWords(RunKernel):
    def words(self, *more):
        return ("--device", "cpu", "--module", str(self.text), "--name", "sums", "--grid", "1",
                "--block", "1", *more)

    def test_files(self):
        short = self.folder / "short"
        short.write_bytes(b"123")
        long = self.folder / "long"
        long.write_bytes(b"12345")
        cases = [("--arg", f"buf:i32:1:file:{short}"), ("--arg", "buf:i32:1:file:/nowhere/x"),
                 ("--arg", "buf:i32:1:zeros", "--expect", f"0:{short}"),
                 ("--arg", "buf:i32:1:zeros", "--expect", f"0:{long}"),
                 ("--arg", "buf:i32:1:zeros", "--expect", "0:/nowhere/x")]
        for more in cases:
            with self.subTest(more=more):
                self.assertEqual(self.error(*self.words(*more), code=4)["code"], "input_failed")
        self.error(*self.words("--arg", "buf:i32:1:zeros", "--out", "0:/nowhere/x"), code=7)

    def test_words(self):
        buffer = ("--arg", "buf:i32:1:zeros", "--arg", "i32:1")
        for more in (("--arg", "i32:3000000000"), ("--arg", "nonsense"), ("--arg", "f16:1e6"),
                     (*buffer, "--out", "1:print:1"), (*buffer, "--out", "2:print:1"),
                     (*buffer, "--out", "x"), (*buffer, "--expect", "1:file"),
                     (*buffer, "--tolerance", "-1"), (*buffer, "--samples", "0")):
            with self.subTest(more=more):
                self.assertEqual(self.error(*self.words(*more), code=2)["code"],
                                 "invalid_argument")
        self.error(code=2)

    def test_modules_that_are_none(self):
        for content in (b"", b"\x01\x00", b"no kernel here", b"\x7fELF" + bytes(60),
                        b".version 6.0\n.target sm_60\n", b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__"):
            with self.subTest(content=content):
                self.text.write_bytes(content)
                self.error(*self.words(), code=4)
        self.assertIn("HIP or CUDA source", self.error(*self.words(), code=4)["hint"])
        self.text.unlink()
        self.error(*self.words(), code=4)
        self.text.mkdir()
        self.assertIn("folder", self.error(*self.words(), code=4)["message"])


CASES = [("amd:0", "FAKE_AMD5", "fill.hipfb"), ("amd:1", "FAKE_AMD7", "fill.hipfb"),
         ("nvidia:0", "FAKE_CUDA", "fill.ptx")]


@unittest.skipUnless("KERNELS" in os.environ, "the build has no images for fakes")
class OnStandIns(RunKernel):
    def words(self, device, image, *more):
        return ("--device", device, "--module", str(pathlib.Path(os.environ["KERNELS"]) / image),
                "--name", "hiptool_fill_u32", "--grid", "4", "--block", "64", *more)

    @staticmethod
    def environment(library, **more):
        names = {"HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda"}
        which = "HIPTOOL_CUDA_LIBRARY" if library == "FAKE_CUDA" else "HIPTOOL_HIP_LIBRARY"
        return clean_environment(**{**names, which: os.environ[library]}, **more)

    def test_images_run_and_their_arguments_are_checked(self):
        fill = ("--arg", "buf:u32:100:zeros", "--arg", "u64:100", "--arg", "u32:0xdeadbeef")
        (self.folder / "want").write_bytes(struct.pack("<I", 0xdeadbeef) * 100)
        for device, library, image in CASES:
            with self.subTest(device=device, library=library):
                environment = self.environment(library)
                words = self.words(device, image)
                expect = ("--expect", f"0:{self.folder / 'want'}")
                document = self.document(*words, *fill, *expect, environment=environment)
                self.assertEqual(document["measurements"][0]["checked"], 100)
                for wrong in (fill[:4], (*fill[:3], "u32:100", *fill[4:]),
                              ("--arg", "u32:1", *fill[2:])):
                    error = self.error(*words, *wrong, code=2, environment=environment)
                    self.assertIn("argument", error["message"])
                error = self.error(*words[:4], "--name", "hiptool_fill_u3", *words[6:], code=2,
                                   environment=environment)
                self.assertEqual(error["hint"], "did you mean 'hiptool_fill_u32'?")

    def test_single_code_objects(self):
        sys.path.insert(0, os.environ["PACK"])
        import pack   # pylint: disable=import-error,import-outside-toplevel
        bundle = (pathlib.Path(os.environ["KERNELS"]) / "fill.hipfb").read_bytes()
        objects = dict(pack.bundle_images(bundle))
        fill = ("--arg", "buf:u32:9:zeros", "--arg", "u64:9", "--arg", "u32:7")
        for target in objects:
            file = self.folder / f"fill.{target}.co"
            file.write_bytes(objects[target])
            words = self.words("amd:0", file, *fill, "--out", "0:print:1")
            environment = self.environment("FAKE_AMD7", FAKE_HIP_ARCH="gfx1100")
            if target == "gfx1100":
                document = self.document(*words, environment=environment)
                outputs = document["measurements"][0]["outputs"]
                self.assertEqual(outputs[0]["values"], [7])
            else:
                message = self.error(*words, code=4, environment=environment)["message"]
                self.assertIn(f"a code object for {target}; amd:0 is gfx1100", message)

    def test_fat_binaries(self):
        text = (pathlib.Path(os.environ["KERNELS"]) / "fill.ptx").read_bytes() + b"\0"
        fill = ("--arg", "buf:u32:9:zeros", "--arg", "u64:9", "--arg", "u32:7")
        environment = self.environment("FAKE_CUDA")
        file = self.folder / "fill.fatbin"
        words = ("--device", "nvidia:0", "--module", str(file), "--grid", "4", "--block", "64",
                 *fill)
        named = (*words, "--name", "hiptool_fill_u32", "--out", "0:print:1")
        file.write_bytes(fatbin(fatbin_entry(2, 75, b"for others"), fatbin_entry(1, 60, text)))
        result = self.document(*named, environment=environment)["measurements"][0]
        self.assertEqual(result["outputs"][0]["values"], [7])
        self.assertEqual(result["image"], "a CUDA fat binary's PTX for compute_60")
        error = self.error(*named[:-5], "u64:7", *named[-4:], code=2, environment=environment)
        self.assertIn("argument 2", error["message"])
        message = self.error(*words, "--name", "x", code=2, environment=environment)["message"]
        self.assertIn("it has: hiptool_fill_u32", message)
        self.assertIn("cubin for sm_75; PTX for compute_60", message)
        file.write_bytes(fatbin(fatbin_entry(2, 75, b"x"), fatbin_entry(1, 100, b"x", 0x8011)))
        message = self.error(*named, code=4, environment=environment)["message"]
        self.assertIn("without an image for nvidia:0 (sm_90); it has cubin for sm_75; "
                      "PTX for compute_100, compressed", message)
        file.write_bytes(fatbin(fatbin_entry(1, 60, b"x", 0x8011)))
        error = self.error(*named, code=2, environment=environment)   # by the driver itself
        self.assertEqual((error["code"], error["native"] is None), ("not_found", False))
        message = self.error(*words, code=2, environment=environment)["message"]
        self.assertIn("PTX for compute_60, compressed", message)
        whole = fatbin(fatbin_entry(1, 60, text))
        for broken in (whole[:-8], whole[:20], fatbin(fatbin_entry(1, 60, text, head=40))):
            file.write_bytes(broken)
            self.assertEqual(self.error(*named, code=4, environment=environment)["code"],
                             "corrupt_data")

    def test_a_text_by_nvrtc(self):
        environment = self.environment("FAKE_CUDA", XDG_CACHE_HOME=str(self.folder))
        self.text.write_text("#include <hip/hip_runtime.h>\n" + FILL, encoding="utf-8")
        words = ("--device", "nvidia:0", "--module", str(self.text), "--grid", "1", "--block", "64",
                 "--arg", "buf:u32:8:zeros", "--arg", "u64:8", "--arg", "u32:7")
        result = run("run-kernel", *words, "--out", "0:print:8", environment=environment)
        if "no NVRTC was found" in result.stderr:
            self.skipTest("NVRTC is not installed")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("7 7 7 7 7 7 7 7", result.stdout)
        error = self.error(*words[:-1], "u64:7", code=2, environment=environment)
        self.assertIn("argument 2", error["message"])
        self.text.write_text(FILL.replace("= v;", "= nothing;"), encoding="utf-8")
        message = self.error(*words, code=4, environment=environment)["message"]
        self.assertIn("saxpy.hip(3)", message)

    def test_images_for_something_else(self):
        for device, library, image in (("amd:0", "FAKE_AMD7", "fill.ptx"),
                                       ("nvidia:0", "FAKE_CUDA", "fill.hipfb")):
            self.error(*self.words(device, image), code=4, environment=self.environment(library))
        error = self.error(*self.words("amd:0", "fill.hipfb"), code=4,
                           environment=self.environment("FAKE_AMD7", FAKE_HIP_ARCH="gfx999"))
        self.assertIn("gfx90a", error["message"])
        self.assertIn("gfx999", error["message"])


if __name__ == "__main__":
    program.main(__doc__)
