# SPDX-License-Identifier: MIT
"""`hiptool run-kernel --module`: the listing of a file's kernels, and the arguments of a launch.

Usage: run_kernel_module_test.py PROGRAM [unittest options]. KERNELS names the folder with the
build's own images.
"""
import json
import os
import pathlib
import struct
import subprocess
import unittest

import program
from program import clean_environment
from run_kernel_test import HAS_COMPILER, SAXPY, RunKernel, fatbin, fatbin_entry


class Signatures(RunKernel):
    """What --module alone prints; opens no device and needs no compiler."""
    NOWHERE = {"PATH": "/nowhere", "HIPTOOL_HIP_LIBRARY": "/nowhere/hip",
               "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda"}

    def listing(self, path, *words):
        document = self.document("--module", str(path), *words,
                                 environment=clean_environment(**self.NOWHERE))
        return {kernel["name"]: kernel for kernel in document["kernels"]}

    @staticmethod
    def types(kernel):
        return [argument["type"] for argument in kernel["arguments"]]

    def test_source(self):
        kernels = self.listing(self.text)
        self.assertEqual(list(kernels), ["saxpy", "sums"])
        self.assertEqual(kernels["saxpy"]["arguments"], [
            {"name": "a", "type": "float", "size_bytes": 4, "kind": "value"},
            {"name": "x", "type": "const float*", "size_bytes": 8, "kind": "pointer"},
            {"name": "y", "type": "float*", "size_bytes": 8, "kind": "pointer"},
            {"name": "n", "type": "unsigned", "size_bytes": 4, "kind": "value"}])
        self.assertEqual((kernels["saxpy"]["max_block_threads"],
                          kernels["sums"]["max_block_threads"]), (None, 256))
        self.assertEqual(list(self.listing(self.text, "--name", "sums", "--list")), ["sums"])
        self.assertEqual(self.error("--module", str(self.text), "--name", "sumz", code=2)["hint"],
                         "did you mean 'sums'?")

    def test_text(self):
        text = self.run_kernel("--module", str(self.text), "--list").stdout
        self.assert_width(text)
        self.assertIn("saxpy(float a, const float* x, float* y, unsigned n)", text)
        self.assertIn("kernel source with 2 kernels", " ".join(text.split()))
        again = self.run_kernel("--module", str(self.text)).stdout
        self.assertEqual(text, again)
        for form in ("csv", "markdown"):
            self.assertIn("saxpy", self.run_kernel("--module", str(self.text), "--format",
                                                   form).stdout)

    @unittest.skipUnless(HAS_COMPILER, "no C++ compiler is installed")
    def test_the_commands_run(self):
        self.text.write_text(SAXPY + """
struct Pair { float a; int b; };
template <class T, int N> __global__ void scale(T* out, T factor) { out[threadIdx.x] *= factor; }
__global__ void __launch_bounds__(64) wide(const double* in, long long* out, unsigned char c,
                                           const void* any, Pair* pairs, size_t n) {
  if (blockDim.x * gridDim.x <= n) out[threadIdx.x] = in[threadIdx.x] + c;
}
__global__ void none() {}
""", encoding="utf-8")
        environment = {**os.environ, "HIPTOOL_DEVICE": "cpu"}
        for kernel in self.listing(self.text).values():
            command = kernel["command"].replace("hiptool", f"'{program.PROGRAM}'", 1)
            result = subprocess.run(["sh", "-c", command], capture_output=True, text=True,
                                    check=False, env=environment)
            self.assertEqual(result.returncode, 0, command + result.stderr)
        # The lines of the screen are the same commands.
        shown = self.run_kernel("--module", str(self.text), "--name", "wide").stdout
        start = shown.index("  hiptool run-kernel")
        result = subprocess.run(
            ["sh", "-c", shown[start:].replace("hiptool", f"'{program.PROGRAM}'", 1)],
            capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(result.returncode, 0, shown + result.stderr)

    def unwrapped(self, *words):
        """What it prints, whatever the length of a path breaks."""
        return " ".join(self.run_kernel(*words).stdout.split())

    @unittest.skipUnless("KERNELS" in os.environ, "the build has no images for fakes")
    def test_images(self):
        folder = pathlib.Path(os.environ["KERNELS"])
        name = "hiptool_fill_u32"
        bundle = self.listing(folder / "fill.hipfb")[name]
        self.assertEqual([argument["kind"] for argument in bundle["arguments"]],
                         ["pointer", "value", "value"])
        self.assertEqual([argument["size_bytes"] for argument in bundle["arguments"]], [8, 8, 4])
        self.assertEqual(bundle["max_block_threads"], 256)
        ptx = self.listing(folder / "fill.ptx")[name]
        self.assertEqual(self.types(ptx), [None, None, "u32"])
        self.assertEqual(ptx["max_block_threads"], 256)
        text = self.unwrapped("--module", str(folder / "fill.ptx"))
        self.assertIn("PTX source for sm_60 with 1 kernel", text)
        self.assertIn("does not say which arguments of 8 bytes are pointers", text)
        self.assertNotIn("does not say", self.unwrapped("--module", str(folder / "fill.hipfb")))
        for cubin in sorted(folder.glob("*.cubin"))[:1]:
            sizes = [argument["size_bytes"] for kernel in self.listing(cubin).values()
                     for argument in kernel["arguments"]]
            self.assertNotIn(None, sizes)
        file = self.folder / "fill.fatbin"
        file.write_bytes(fatbin(fatbin_entry(2, 75, b"x", 0x8011), fatbin_entry(
            1, 60, (folder / "fill.ptx").read_bytes() + b"\0")))
        self.assertEqual(list(self.listing(file)), [name])
        file.write_bytes(fatbin(fatbin_entry(1, 60, b"x", 0x8011)))
        error = self.error("--module", str(file), code=2)
        self.assertEqual(error["code"], "unsupported")

    def test_what_has_no_kernels(self):
        for content in (b"", b"no kernel here", b"\x01\x00", b"\x7fELF" + bytes(60)):
            self.text.write_bytes(content)
            self.error("--module", str(self.text), code=4)
        self.assertIn("--grid", self.error("--module", str(self.text), "--list", "--grid", "4",
                                           code=2)["message"])


@unittest.skipUnless(HAS_COMPILER, "no C++ compiler is installed")
class Arguments(RunKernel):
    """Types, constants, structs and rates, on the processor."""

    def run_text(self, text, *words, code=0):
        self.text.write_text(text, encoding="utf-8")
        return self.document("--device", "cpu", "--module", str(self.text), "--grid", "1",
                             "--block", "4", *words, code=code)

    def test_types_are_checked_before_the_launch(self):
        good = ["--arg", "f32:2", "--arg", "buf:f32:4:iota", "--arg", "buf:f32:4:iota", "--arg",
                "u32:4"]
        text = SAXPY.replace("y[i] = a", "y[i] = *(float*)0 = a")   # a launch would crash
        for place, word, declared in ((1, "i32:2", "float a"), (1, "u32:0x40000000", "float a"),
                                      (3, "buf:i32:4:iota", "const float* x"),
                                      (5, "buf:f64:4:iota", "float* y"),
                                      (7, "f32:4", "unsigned n")):
            words = [*good[:place], word, *good[place + 1:]]
            error = self.run_text(text, "--name", "saxpy", *words, code=2)["error"]
            self.assertEqual(error["code"], "invalid_argument")
            self.assertIn(f"argument {place // 2} ", error["message"])
            self.assertIn(declared, error["message"])
            self.assertIn("it takes float a, const float* x, float* y, unsigned n", error["hint"])
        for place, word in ((3, "buf:u8:16:zeros"), (7, "i32:4"), (1, "bytes:00000040")):
            words = [*good[:place], word, *good[place + 1:]]
            self.run_text(SAXPY, "--name", "saxpy", *words)

    def test_structs_constants_and_bits(self):
        document = self.run_text("""
struct Params { float scale; short count[3]; double offset; };
__global__ void k(double* out, const float* in, Params p, float nan) {
  const int i = threadIdx.x;
  out[i] = i == 3 ? __float_as_uint(nan) : p.scale * in[i] + p.offset + p.count[2 - i];
}""", "--arg", "buf:f64:4:zeros", "--arg", "buf:f32:4:value:0.5", "--arg",
                                 "bytes:" + struct.pack("<f3h6xd", 3, 1, 2, 3, 100).hex(),
                                 "--arg", "f32:0x7fc01234", "--out", "0:print:4")
        self.assertEqual(document["measurements"][0]["outputs"][0]["values"],
                         [104.5, 103.5, 102.5, 0x7fc01234])
        error = self.run_text("struct P { int a[4]; };\n__global__ void k(P p) {}", "--arg",
                              "bytes:0102", code=2)["error"]
        self.assertIn("'P p' of 16 bytes; 'bytes:0102' is 2 bytes", error["message"])
        pair = "struct Pair { float a; int b; };\n__global__ void k(Pair p, int* out) " \
               "{ out[0] = p.b; }"
        out = ["--arg", "buf:i32:1:zeros", "--out", "1:print:1"]
        for word in ("i32:5", "bytes:00", "buf:i32:2:iota"):
            error = self.run_text(pair, "--arg", word, *out, code=2)["error"]
            self.assertIn("give a struct as bytes:HEX", error["hint"])
            self.assertIn("it takes Pair p, int* out", error["hint"])
        self.assertIn("bytes:HEX, 16 hexadecimal digits;",
                      self.run_text(pair, "--arg", "i32:5", *out, code=2)["error"]["hint"])
        # A number of its size is taken as its bits.
        for word in ("i64:0x0000000700000000", "bytes:00000000_07000000"):
            document = self.run_text(pair, "--arg", word, *out)
            self.assertEqual(document["measurements"][0]["outputs"][0]["values"], [7])
        self.assertIn("is a placeholder for a type of unknown size", " ".join(
            self.run_kernel("--module", str(self.text)).stdout.split()))

    def test_memory_may_be_reached_as_several_types(self):
        document = self.run_text("""
__noinline__ __device__ int write_both(int* word, float* number) {
  *word = 1;
  *number = 2;
  return *word;
}
__global__ void k(int* out) {
  int* const own = out + threadIdx.x;
  *own = write_both(own, reinterpret_cast<float*>(own));
}""", "--arg", "buf:i32:4:zeros", "--out", "0:print:4")
        self.assertEqual(document["measurements"][0]["outputs"][0]["values"], [0x40000000] * 4)

    def test_rates(self):
        words = ["--name", "saxpy", "--arg", "f32:2", "--arg", "buf:f32:4:iota", "--arg",
                 "buf:f32:4:iota", "--arg", "u32:4"]
        result = self.run_text(SAXPY, *words, "--bytes", "48", "--flops", "8",
                               "--samples", "3")["measurements"][0]
        self.assertAlmostEqual(result["bytes_per_s"] * result["median_s"], 48)
        self.assertAlmostEqual(result["flops_per_s"] * result["median_s"], 8)
        result = self.run_text(SAXPY, *words)["measurements"][0]
        self.assertEqual((result["bytes_per_s"], result["flops_per_s"]), (None, None))
        text = self.run_kernel("--device", "cpu", "--module", str(self.text), "--grid", "1",
                               "--block", "4", *words, "--bytes", "1MiB", "--flops", "1000").stdout
        self.assert_width(text)
        self.assertRegex(text.splitlines()[0], r"ran saxpy on cpu:0 in .*B/s, .*FLOP/s, result not")
        error = self.error("stream", "--bytes", "4", code=2)
        self.assertIn("--bytes needs a kernel of your own", error["message"])

    def test_cooperative_groups(self):
        document = self.run_text("""#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* out) {
  auto tile = cg::tiled_partition<2>(cg::this_thread_block());
  out[threadIdx.x] = 10 * tile.shfl_xor(int(threadIdx.x), 1) + __syncthreads_count(threadIdx.x > 0);
}""", "--arg", "buf:i32:4:zeros", "--out", "0:print:4")
        self.assertEqual(document["measurements"][0]["outputs"][0]["values"], [13, 3, 33, 23])
        error = self.run_text("""#include <cooperative_groups.h>
__global__ void k(int* out) { cooperative_groups::this_grid().sync(); *out = 1; }""",
                              "--arg", "buf:i32:1:zeros", code=4)["error"]
        self.assertIn("this_grid() waits for all blocks at once", error["hint"])

    @unittest.skipUnless(HAS_COMPILER, "no C++ compiler is installed")
    def test_ctrl_c_keeps_the_samples(self):
        self.text.write_text("""__global__ void k(float* out) {
  float x = 1;
  for (int i = 0; i < 2000; ++i) x = x * 1.0001f + 0.5f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}""", "utf-8")
        words = ("run-kernel", "--module", str(self.text), "--grid", "4", "--block", "64",
                 "--arg", "buf:f32:256:zeros", "--out", "0:print:1", "--bytes", "1024",
                 "--samples", "1000000", "--device", "cpu")
        result = program.interrupt_computing(*words, "--format", "json", cpu_s=0.5, loads=False)
        self.assertEqual(result.returncode, 130, result)
        document = json.loads(result.stdout)
        self.assertEqual(document["status"], "interrupted")
        measured = document["measurements"][0]
        self.assertEqual(measured["status"], "ok")
        self.assertIn(len(measured["samples_s"]), range(1, 1000000))
        self.assertGreater(measured["bytes_per_s"], 0)
        self.assertGreater(measured["details"]["outputs"][0]["values"][0], 1)
        text = program.interrupt_computing(*words, cpu_s=0.5, loads=False).stdout
        self.assertRegex(text, r"^interrupted on cpu:0 after [\d ]+ of 1 000 000 samples\n"
                               r"ran k on cpu:0 in ")


if __name__ == "__main__":
    program.main(__doc__)
