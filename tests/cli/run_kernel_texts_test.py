# SPDX-License-Identifier: MIT
"""`hiptool run-kernel --module` with texts as people write them, and with kernels that misbehave,
on the processor.

Usage: run_kernel_texts_test.py PROGRAM [unittest options]
"""
import json
import shutil
import signal
import struct
import subprocess
import sys
import unittest

import program
from program import CliTest, clean_environment, run

try:
    import numpy
except ImportError:
    numpy = None
if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
    print("skipped: no C++ compiler is installed")
    raise SystemExit(77)


class Texts(CliTest):
    def setUp(self):
        super().setUp()
        program.compile_once(self)

    def write(self, text, name="k.cu"):
        (self.folder / name).write_text(text, encoding="utf-8")

    def words(self, *words, grid="1", block="4"):
        return ("run-kernel", "--device", "cpu", "--module", str(self.folder / "k.cu"), "--grid",
                grid, "--block", block, *words)

    def document(self, *words, code=0, **places):
        result = run(*self.words(*words, "--format", "json", **places))
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return self.assert_document(result.stdout, "run-kernel.schema.json")

    def outputs(self, *words, **places):
        """What each --out shows."""
        result = self.document(*words, **places)["measurements"][0]
        return [output["values"] for output in result["outputs"]]

    def error(self, *words, code, **places):
        document = self.document(*words, code=code, **places)
        self.assertEqual(document["status"], "failed")
        return document["error"]


INTS = ("--arg", "buf:i32:4:zeros", "--out", "0:print:4")


class Language(Texts):
    def test_headers_types_and_variables(self):
        self.write("""#include <cuda.h>
#include <cuda_runtime.h>
#include "device_launch_parameters.h"
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <cmath>
#include "beside.h"
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int bias = 10;
__device__ __forceinline__ int twice(int x) { return 2 * x; }
struct Pair { float a; int b; };
__global__ void k(int* x, Pair pair, float2 v) {
  __shared__ int s[4];
  dim3 size(blockDim.x, 2);
  s[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = twice(s[3 - threadIdx.x]) + bias + beside() + int(size.y) + pair.b
                   + int(v.y) + max(1, min(3, 2)) + int(sqrtf(4.0f) + rsqrtf(4.0f) * 2 + __expf(0));
}
""")
        self.write("inline int beside() { return 100; }\n", "beside.h")
        got = self.outputs(*INTS, "--arg", "u64:" + str(5 << 32), "--arg",
                           "u64:" + str(struct.unpack("<Q", struct.pack("<ff", 0, 7))[0]))
        base = 10 + 100 + 2 + 5 + 7 + 2 + 4
        self.assertEqual(got, [[base + 8, base + 6, base + 4, base + 2]])

    def test_shared_memory_of_the_launch(self):
        for where, text in (
                ("function", """__global__ void k(int* x) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* s = reinterpret_cast<int*>(raw);
"""), ("file", """extern __shared__ int s[];
__global__ void k(int* x) {
""")):
            with self.subTest(where=where):
                self.write(text + """  s[threadIdx.x] = 5 + threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
""")
                self.assertEqual(self.outputs("--shared", "16", *INTS), [[8, 7, 6, 5]])

    def test_more_shared_memory_than_a_block_gets(self):
        # Each kernel counts alone, and with what its functions have.
        self.write("""__device__ int shared(int i) {
  __shared__ volatile int s[4096];
  s[i] = i;
  return s[i];
}
__global__ void fits(int* x) {
  __shared__ int s[8192];
  s[threadIdx.x] = 1;
  __syncthreads();
  x[threadIdx.x] = s[3 - threadIdx.x] + shared(threadIdx.x);
}
__global__ void large(int* x) {
  __shared__ double s[6145];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[3 - threadIdx.x];
}
__global__ void none(int* x) { x[threadIdx.x] = 5; }
HIPTOOL_EXPORT(large);
""")
        self.assertEqual(self.outputs("--name", "fits", *INTS), [[1, 2, 3, 4]])
        self.assertEqual(self.outputs("--name", "none", *INTS), [[5, 5, 5, 5]])
        error = self.error("--name", "large", *INTS, code=4)
        self.assertIn("the kernel 'large' has 49160 bytes of __shared__ variables; a block gets at "
                      "most 49152", error["message"])
        self.assertIn("--shared", error["hint"])
        error = self.error("--name", "fits", "--shared", "180KiB", *INTS, code=2)
        self.assertIn("the shared memory of a block is 233472, at most 232448", error["message"])

    def test_templates_and_namespaces(self):
        self.write("""namespace blas { namespace {
template <class T, int factor> __global__ void scale(T* x) { x[threadIdx.x] *= factor; }
} }
template <class T> __global__ void fill(T* x) { x[threadIdx.x] = T(1.5f); }
template __global__ void fill<double>(double*);
namespace other { __global__ void one(int* x) { *x = 1; } }
""")
        iota = ("--arg", "buf:f32:4:iota", "--out", "0:print:4")
        for name in ("blas::scale<float, 3>", "scale<float,3>"):
            self.assertEqual(self.outputs("--name", name, *iota), [[0, 3, 6, 9]])
        for name in ("fill<double>", "fill< double >"):
            got = self.outputs("--name", name, "--arg", "buf:f64:4:iota", "--out", "0:print:2")
            self.assertEqual(got, [[1.5, 1.5]])
        self.assertEqual(self.outputs("--name", "one", *INTS), [[1, 0, 0, 0]])
        error = self.error("--name", "fill", *iota, code=2)
        self.assertEqual(error["code"], "invalid_argument")
        self.assertEqual(error["hint"], "name it with its types, such as --name 'fill<double>'")
        error = self.error("--name", "fil<double>", *iota, code=2)
        self.assertIn("it has: blas::scale, fill, other::one", error["message"])
        error = self.error("--name", "fill<nothing>", *iota, code=4)
        self.assertIn("nothing", error["message"])

    def test_atomics_and_warps(self):
        self.write("""__global__ void k(int* x, float* f, unsigned long long* u) {
  atomicAdd(x, 1);
  atomicMax(x + 1, int(threadIdx.x));
  atomicCAS(x + 2, 0, 9);
  atomicCAS(x + 2, 0, 8);
  atomicExch(x + 3, 4);
  atomicSub(x + 4, 1);
  atomicXor(x + 5, 1 << (threadIdx.x % 8));
  atomicInc(reinterpret_cast<unsigned*>(x) + 6, 9);
  atomicAdd(f, 0.5f);
  atomicAdd(u, 1ull << 40);
  __threadfence();
  float sum = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x == 32) f[1] = sum;
  unsigned odd = __ballot_sync(~0u, threadIdx.x % 32 < 5);
  bool any = __any_sync(~0u, threadIdx.x == 40), all = __all_sync(~0u, threadIdx.x >= 32);
  if (threadIdx.x == 0) x[7] = __popc(odd) + 10 * any + 100 * all;
  if (threadIdx.x == 63) x[8] = __popc(odd) + 10 * any + 100 * all;
  if (threadIdx.x % 4 == 1) x[9] = __ballot_sync(0x22222222, 1) == 0x22222222;
}
""")
        got = self.outputs("--arg", "buf:i32:10:zeros", "--arg", "buf:f32:2:zeros", "--arg",
                           "buf:u64:1:zeros", "--out", "0:print:10", "--out", "1:print:2", "--out",
                           "2:print:1", block="64", grid="2")
        self.assertEqual(got, [[128, 63, 9, 4, -128, 0, 8, 5, 115, 1], [64, 32 * 47.5],
                               [128 << 40]])

    @unittest.skipIf(numpy is None, "the package numpy is not installed")
    def test_halves_are_those_of_numpy(self):
        self.write("""#include <cuda_fp16.h>
#include <hip/hip_fp16.h>
__global__ void convert(const __half* all, float* wide, const float* reals, half* narrow, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  wide[i] = __half2float(all[i]);
  narrow[i] = __float2half(reals[i]);
}
__global__ void compute(const half* x, const half* y, half* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i] + y[i];
  out[i + n] = __hmul(x[i], y[i]);
  out[i + 2 * n] = x[i] / y[i];
  half2 pair = __hadd2(__halves2half2(x[i], y[i]), __float2half2_rn(1.0f));
  out[i + 3 * n] = __hsub(__high2half(pair), __low2half(pair));
  out[i + 4 * n] = __hlt(x[i], y[i]) ? hsqrt(__habs(x[i])) : -y[i];
}
""")
        n = 65536
        rng = numpy.random.default_rng(3)
        halves = numpy.arange(n, dtype=numpy.uint16).view(numpy.float16)
        wide = halves.astype(numpy.float32)
        finite = numpy.nan_to_num(wide, nan=1, posinf=1, neginf=1)
        # Halfway between two halves and the floats beside that, then any bits.
        middle = (finite[:-1] + finite[1:]) / 2
        reals = numpy.concatenate([
            middle[:20000], numpy.nextafter(middle[:10000], numpy.float32(9)),
            numpy.nextafter(middle[:10000], numpy.float32(-9)),
            rng.integers(0, 1 << 32, n - 40000, dtype=numpy.uint32).view(numpy.float32)])
        halves.tofile(self.folder / "all")
        reals.astype(numpy.float32).tofile(self.folder / "reals")
        with numpy.errstate(all="ignore"):
            narrow = reals.astype(numpy.float16)
        self.document("--name", "convert", "--arg", f"buf:f16:{n}:file:{self.folder / 'all'}",
                      "--arg", f"buf:f32:{n}:zeros", "--arg",
                      f"buf:f32:{n}:file:{self.folder / 'reals'}", "--arg", f"buf:f16:{n}:zeros",
                      "--arg", f"i32:{n}", "--out", f"1:{self.folder / 'wide'}", "--out",
                      f"3:{self.folder / 'narrow'}", grid="256", block="256")
        numpy.testing.assert_array_equal(numpy.fromfile(self.folder / "wide", numpy.float32), wide)
        numpy.testing.assert_array_equal(numpy.fromfile(self.folder / "narrow", numpy.float16),
                                         narrow)
        x, y = halves, rng.permutation(halves)
        y.tofile(self.folder / "y")
        with numpy.errstate(all="ignore"):
            one = numpy.float16(1)
            want = numpy.concatenate([x + y, x * y, x / y, (y + one) - (x + one),
                                      numpy.where(x < y, numpy.sqrt(numpy.abs(x)), -y)])
        self.document("--name", "compute", "--arg", f"buf:f16:{n}:file:{self.folder / 'all'}",
                      "--arg", f"buf:f16:{n}:file:{self.folder / 'y'}", "--arg",
                      f"buf:f16:{5 * n}:zeros", "--arg", f"i32:{n}", "--out",
                      f"2:{self.folder / 'out'}", grid="256", block="256")
        numpy.testing.assert_array_equal(numpy.fromfile(self.folder / "out", numpy.float16), want)

    def test_a_whole_program_is_told_so(self):
        self.write("""#include <cuda_runtime.h>
__global__ void k(int* x) { *x = 1; }
int main() { int* x; k<<<1, 1>>>(x); }
""")
        error = self.error(*INTS, code=4)
        self.assertIn("k.cu:3:", error["message"])
        self.assertIn("<<<...>>>", error["hint"])


class Misbehaviour(Texts):
    def test_what_kernels_print_is_no_part_of_the_report(self):
        self.write("""#include <cstdio>
__global__ void k(int* x) { printf("thread %u sees %d\\n", threadIdx.x, x[threadIdx.x]); }
""")
        result = run(*self.words("--arg", "buf:i32:2:iota", "--format", "json", block="2"))
        self.assert_document(result.stdout, "run-kernel.schema.json")
        self.assertEqual(result.stderr.splitlines(), ["thread 0 sees 0", "thread 1 sees 1"])

    def test_writes_outside_of_a_buffer(self):
        self.write("__global__ void k(float* x, int from) { x[from + int(threadIdx.x)] = 1; }")
        buffer = ("--arg", "buf:f32:6:zeros", "--arg")
        result = self.document(*buffer, "i32:4", code=5)["measurements"][0]
        self.assertEqual(result["status"], "mismatch")
        self.assertEqual(result["outside"],
                         [{"argument": 0, "before_bytes": 0, "behind_bytes": 8}])
        text = run(*self.words(*buffer, "i32:-1"))
        self.assertEqual(text.returncode, 5)
        self.assertIn("k on cpu:0 wrote outside argument 0 (buf:f32:6:zeros): 4 bytes before it",
                      " ".join(text.stdout.split()))
        self.assertEqual(self.document(*buffer, "i32:2")["measurements"][0]["outside"], [])

    def test_faults_have_words(self):
        self.write("""__global__ void far(int* x) { x[1ull << 40] = 1; }
__global__ void divide(int* x) { x[0] = 5 / x[1]; }
""")
        for name, words in (("far", "a memory fault"), ("divide", "an integer division by zero")):
            self.assert_ends_with(words, "--name", name, *INTS)

    def test_an_assert_that_fails(self):
        self.write("""#include <cassert>
__global__ void k(int* x) { assert(x[threadIdx.x] < 2); }
""")
        self.document("--arg", "buf:i32:2:iota", block="2")
        three = ("--arg", "buf:i32:3:iota")
        for places in ({"block": "3"}, {"grid": "9", "block": "3"}):
            error = self.error(*three, code=6, **places)
            self.assertEqual(error["message"],
                             "the kernel 'k' ended with a failed assert or abort() on cpu:0")
        result = run(*self.words(*three, block="3"))
        self.assertEqual((result.returncode, result.stdout), (6, ""))
        assertion, failure, hint = result.stderr.splitlines()
        self.assertRegex(assertion, r"k\.cu:2: .*Assertion `x\[threadIdx\.x\] < 2' failed")
        self.assertTrue(failure.startswith("error: the kernel 'k' ended with a failed assert"))
        self.assertTrue(hint.startswith("hint: see the line above"))

    def test_an_abort_that_reaches_the_handler_by_its_signal_alone(self):
        # As abort() of glibc 2.41 does it: it does not unblock the signal first.
        self.write("""#include <csignal>
__global__ void k(int* x) { raise(SIGABRT); x[0] = 1; }
""")
        for places in ({"block": "1"}, {"grid": "9", "block": "3"}):
            self.assert_ends_with(r"a failed assert or abort\(\)", *INTS, **places)

    def test_exit_is_a_failure_of_the_kernel(self):
        for call in ("exit(0)", "exit(3)", "std::exit(0)", "_exit(0)", "_Exit(7)",
                     "quick_exit(0)"):
            self.write(f"""#include <cstdlib>
#include <unistd.h>
__global__ void k(int* x) {{ x[0] = 1; {call}; }}
""")
            with self.subTest(call=call):
                error = self.error(*INTS, code=6, grid="5")
                self.assertEqual(error["message"],
                                 "the kernel 'k' ended with a call of exit() on cpu:0")
                result = run(*self.words(*INTS))
                self.assertEqual((result.returncode, result.stdout), (6, ""))
                self.assertIn("hint: return from the kernel", result.stderr)

    def assert_ends_with(self, ending, *words, **places):
        """The kernel takes the program with it, which says so with that (a regular expression)."""
        error = self.error(*words, code=6, **places)
        self.assertRegex(error["message"], f"^the kernel '[a-z]+' ended with {ending} on cpu:0$")
        self.assertEqual(error["code"], "device")
        self.assertTrue(error["hint"])
        text = run(*self.words(*words, **places))
        self.assertEqual((text.returncode, text.stdout), (6, ""))
        self.assertRegex(text.stderr,
                         f"^error: the kernel '[a-z]+' ended with {ending} on cpu:0\nhint: .+\n$")

    def test_wild_pointers(self):
        self.write("""__global__ void null(int* x) { *static_cast<int* volatile>(nullptr) = *x; }
__global__ void wild(int* x) { *reinterpret_cast<int* volatile>(0x123456789000) = *x; }
__global__ void call(int* x) { reinterpret_cast<void (*volatile)(int*)>(0x10)(x); }
""")
        for name in ("null", "wild", "call"):
            self.assert_ends_with("a memory fault", "--name", name, *INTS)

    def test_stack_overflows(self):
        # Each frame is 4 KiB and more; 100 of them are more than any stack has here. It needs the
        # caller's, or the compiler would make a loop of it.
        self.write("""__device__ int deeper(volatile char* above, int left) {
  volatile char frame[4096];
  frame[0] = above[0];
  return left == 0 ? 0 : deeper(frame, left - 1) + 1 + frame[0];
}
__device__ int deep(int depth) {
  volatile char first = 0;
  return deeper(&first, depth);
}
__global__ void endless(int* x) { x[threadIdx.x] = deep(1 << 30); }
__global__ void large(int* x) {
  volatile char frame[400 << 10];
  for (int i = sizeof(frame); i-- > 0;) frame[i] = 1;
  x[threadIdx.x] = frame[x[0]];
}
// What it touches first lies far below its stack, and below what guards that.
__global__ void far(int* x) {
  volatile char frame[400 << 10];
  frame[0] = static_cast<char>(threadIdx.x);
  x[threadIdx.x] = frame[x[0]];
}
// The others wait, so that their stacks are in use when one of them needs more than its own.
__global__ void neighbour(int* x) {
  __syncthreads();
  if (threadIdx.x == 20) x[1] = deep(100);
  __syncthreads();
}
__global__ void modest(int* x) {
  __syncthreads();
  x[threadIdx.x] = deep(9);
}
""")
        overflow = r"an overflow of its stack of \d+ KiB a thread"
        buffer = ("--arg", "buf:i32:64:zeros")
        for name in ("endless", "large", "far", "neighbour"):
            for places in ({"grid": "1", "block": "32"}, {"grid": "64", "block": "32"}):
                self.assert_ends_with(overflow, "--name", name, *buffer, **places)
        self.assertEqual(self.outputs("--name", "modest", *INTS), [[9, 9, 9, 9]])

    def interrupted(self, is_ready, *words, environment=None, number=signal.SIGINT):
        """Exit code and stdout of a run that gets a signal."""
        process = program.start(*words, environment=environment)
        self.addCleanup(process.kill)
        program.wait_until(is_ready, "the state for the signal")
        process.send_signal(number)
        output, _ = process.communicate(timeout=program.GUARD_S)
        return process.returncode, output

    def test_an_interrupt_ends_what_never_ends(self):
        mark = self.folder / "mark"
        # As a runtime may do that waits for its device when the program ends.
        self.write(f"""#include <cstdio>
#include <cstdlib>
void wait() {{ volatile bool is_done = false; while (!is_done) {{}} }}
__global__ void k(volatile int* x) {{
  atexit(wait);
  fclose(fopen("{mark}", "w"));
  while (x[0] == 0) {{}}
}}
""")
        code, output = self.interrupted(
            mark.exists, *self.words("--arg", "buf:i32:1:zeros", "--format", "json", block="1"))
        self.assertEqual(code, 130)
        document = self.assert_document(output, "run-kernel.schema.json")
        self.assertEqual(document["status"], "interrupted")

    def compiler(self, script):
        """The environment of a run whose compiler is that shell script."""
        tools, temporary = self.folder / "tools", self.folder / "tmp"
        for folder in (tools, temporary):
            folder.mkdir(exist_ok=True)
        (tools / "c++").write_text("#!/bin/sh\n" + script, encoding="utf-8")
        (tools / "c++").chmod(0o755)
        self.write("__global__ void k(int* x) { *x = 1; }")
        return clean_environment(PATH=f"{tools}:/usr/bin:/bin", TMPDIR=str(temporary))

    def assert_dead(self, process):
        """At most a zombie: init reaps it when it finds the time."""
        program.wait_until(lambda: program.state_of(process) in ("", "Z", "X"), "its end")

    def test_a_signal_ends_the_compiler_and_all_that_it_started(self):
        mark = self.folder / "mark"
        environment = self.compiler(
            f'sleep 300 & echo $! > "$TMPDIR/left"\necho $$ $! > {mark}.new\n'
            f'mv {mark}.new {mark}\nwait\n')
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                mark.unlink(missing_ok=True)
                code, _ = self.interrupted(mark.exists, *self.words(*INTS), number=number,
                                           environment=environment)
                self.assertEqual(code, 128 + number)
                for process in mark.read_text(encoding="utf-8").split():
                    self.assert_dead(int(process))
                self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_a_compiler_that_needs_too_much_memory(self):
        environment = self.compiler(
            f"{sys.executable} -c 'bytearray(5 << 30)' && exit 3\n"
            "echo 'c++: out of memory allocating 5368709120 bytes'\nexit 1\n")
        result = run(*self.words(*INTS, "--format", "json"), environment=environment)
        self.assertEqual(result.returncode, 7, result.stdout)
        error = json.loads(result.stdout)["error"]
        self.assertEqual(error["code"], "host_out_of_memory")
        self.assertIn("out of memory allocating", error["message"])
        self.assertIn("a compiler gets 4.00 GiB of memory", error["hint"])

    def test_a_parent_that_ignores_the_end_of_children(self):
        environment = self.compiler("exit 3\n")
        result = run(*self.words(*INTS), environment=environment,
                     preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(result.returncode, 4)
        self.assertIn("c++ ended with exit code 3", result.stderr)

    def test_temporary_folders_that_cannot_be_used(self):
        environment = self.compiler("exit 1\n")
        file = self.folder / "file"
        file.write_text("", encoding="utf-8")
        for folder in (self.folder / "absent", file):
            result = run(*self.words(*INTS), environment={**environment, "TMPDIR": str(folder)})
            self.assertEqual(result.returncode, 7)
            self.assertIn(f"no temporary folder can be created in {folder} (TMPDIR): ",
                          result.stderr)
            self.assertIn("hint: set TMPDIR to a folder that exists", result.stderr)
        result = run(*self.words(*INTS), environment={**environment, "TMPDIR": ""})
        self.assertIn("c++ ended with exit code 1", result.stderr)

    def test_outputs_that_cannot_be_written(self):
        self.write("__global__ void k(int* x) { *x = 1; }")
        buffer = ("--arg", "buf:i32:4:zeros", "--out")
        for file in ("/dev/full", "/nowhere/x", str(self.folder)):
            error = self.error(*buffer, f"0:{file}", code=7)
            start = "create the folder first, or " if file == "/nowhere/x" else ""
            self.assertEqual(error["hint"], start + "choose another file with --out I:FILE")
        for word in ("0:print", "0:print:", "0:print:x", "0:", "0"):
            self.assertEqual(self.error(*buffer, word, code=2)["code"], "invalid_argument")
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(run(*self.words(*INTS), stdout=full).returncode, 7)
        process = subprocess.Popen([program.PROGRAM, *self.words(*INTS)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=clean_environment())
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait(timeout=60)), (b"", 0))
        process.stderr.close()


if __name__ == "__main__":
    program.main(__doc__)
