#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What we read of kernel images against what made them or reads them: llvm-readelf for AMD code
objects, the text itself for PTX and cubins of nvcc and PTX of clang.

Usage: image_info.py amd|nvidia IMAGE_INFO IMAGES_BIN
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "fuzz"))
sys.dont_write_bytecode = True
from image_seeds import image_seeds  # noqa: E402 (it lies in the folder named above)
from kernel_arguments import kernels_of  # noqa: E402
from kernel_images import finish, images, tool  # noqa: E402

SOURCE = """
struct S { int a[3]; double b; };
struct Odd { char c[7]; };
extern "C" __global__ void all(float a, const float* x, S s, char c, short h, Odd odd, double* y,
                               unsigned n, unsigned char last) {
  y[0] = a + x[0] + s.b + s.a[1] + c + h + odd.c[6] + n + last;
}
extern "C" __global__ void none() {}
extern "C" __noinline__ __device__ float helper(float x) { return x * x + 1; }
__global__ void mangled(long long* out, bool flag) { if (flag) out[0] = (long long)helper(3.0f); }
template <class T> __global__ void of_type(T value, T* out) { *out = value; }
template __global__ void of_type<double>(double, double*);
"""
# As the C++ ABI lays them out.
EXPECTED = {"all": [4, 8, 24, 1, 2, 7, 8, 4, 1], "none": [], "_Z7mangledPxb": [8, 1],
            "_Z7of_typeIdEvT_PS0_": [8, 8]}


# Seeds of the fuzz target, which are made without a compiler: target and kernels.
SEEDS = {
    "amd": ("gfx90a", {"add": [(8, "p"), (4, "v")], "none": []}),
    "cubin": ("sm_75", {"add": [(8, "?"), (4, "?")]}),
    "cubin-old": ("sm_80", {"add": [(8, "?")]}),
    "ptx": ("sm_60", {"add": [(8, "p"), (4, "v"), (24, "v")], "none": [], "bare": []}),
}


def info_of(program, path):
    """Target, and name -> [(size, kind)]."""
    done = subprocess.run([program, str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stdout.strip(), {}
    first, *lines = done.stdout.splitlines()
    kernels = {}
    for line in lines:
        name, *arguments = line.split()
        kernels[name] = [(int(size), kind)
                         for size, kind in (word.split(":") for word in arguments)]
    return first.rpartition(" ")[2], kernels


def check_amd(program, binary, folder):
    readelf = tool("llvm-readelf-19", "llvm-readelf", "llvm-readelf-16", "llvm-readelf-15",
                   "llvm-readelf-14")
    count, findings = 0, []
    for source, target, data in images(binary, "gfx"):
        file = folder / "image"
        file.write_bytes(data)
        notes = subprocess.run([readelf, "--notes", str(file)], capture_output=True, text=True,
                               check=True).stdout
        wanted = {name: [size for _, size in arguments]
                  for name, arguments in kernels_of(notes).items()}
        got_target, kernels = info_of(program, file)
        sizes = {name: [size for size, _ in arguments] for name, arguments in kernels.items()}
        pointers = notes.count("global_buffer")
        if sizes != wanted or got_target != target or not sizes:
            findings.append(f"{source} for {target}: {got_target} {sizes}, wanted {wanted}")
        if sum(kind == "p" for list_ in kernels.values() for _, kind in list_) != pointers:
            findings.append(f"{source} for {target}: not {pointers} pointers")
        count += 1
    for name, wanted in SEEDS.items():
        file = folder / name
        file.write_bytes(image_seeds()[name])
        if info_of(program, file) != wanted:
            findings.append(f"{name}: {info_of(program, file)}, wanted {wanted}")
    return count, findings


def nvidia_images(folder):
    """(file, target) of what the installed compilers make."""
    source = folder / "k.cu"
    source.write_text(SOURCE, encoding="utf-8")
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        print("skipped: nvcc is not installed")
        sys.exit(77)
    for arch in ("75", "90", "100"):
        for kind in ("ptx", "cubin"):
            file = folder / f"k{arch}.{kind}"
            done = subprocess.run([nvcc, f"-arch=sm_{arch}", f"-{kind}", str(source), "-o",
                                   str(file)], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                yield file, f"sm_{arch}"
            else:
                print(f"nvcc makes no {kind} for sm_{arch}: {done.stderr.strip()}")


GENCODE = ["-gencode", "arch=compute_75,code=sm_75",
           "-gencode", "arch=compute_90,code=[sm_90,compute_90]",
           "-gencode", "arch=compute_90a,code=sm_90a",
           "-gencode", "arch=compute_100f,code=[sm_100f,compute_100f]"]
# What nvcc was asked for, and which of it is compressed in which mode (nvcc --help).
ENTRIES = {"cubin for sm_75", "cubin for sm_90", "PTX for compute_90", "cubin for sm_90a",
           "cubin for sm_100f", "PTX for compute_100f"}
MODES = {"none": (), "speed": ("PTX",), "size": ("PTX", "cubin")}


def entries_of(program, path):
    """Entry -> [(kernel, sizes)]."""
    done = subprocess.run([program, str(path)], capture_output=True, text=True, check=False)
    entries, kernels = {}, []
    for line in done.stdout.splitlines()[1:]:
        if line.startswith("# "):
            kernels = entries.setdefault(line[2:], [])
        else:
            name, *arguments = line.split()
            kernels.append((name, [int(word.split(":")[0]) for word in arguments]))
    return entries


def check_fatbins(program, folder):
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    count, findings = 0, []
    for mode, compressed in MODES.items():
        file = folder / f"{mode}.fatbin"
        done = subprocess.run([nvcc, f"--compress-mode={mode}", "-fatbin", *GENCODE,
                               str(folder / "k.cu"), "-o", str(file)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            print(f"nvcc makes no such fat binary: {done.stderr.strip()}")
            continue
        wanted = {}
        for entry in ENTRIES:
            is_compressed = entry.startswith(compressed) if compressed else False
            name = entry + ", compressed" if is_compressed else entry
            wanted[name] = {} if is_compressed else EXPECTED
        got = {entry: dict(kernels) for entry, kernels in entries_of(program, file).items()}
        if got != wanted:
            findings.append(f"{mode}: {got}, wanted {wanted}")
        count += 1
    return count, findings


def check_nvidia(program, folder):
    count, findings = 0, []
    for file, target in nvidia_images(folder):
        got_target, kernels = info_of(program, file)
        sizes = {name: [size for size, _ in arguments] for name, arguments in kernels.items()}
        if sizes != EXPECTED or got_target != target:
            findings.append(f"{file.name}: {got_target} {sizes}, wanted {target} {EXPECTED}")
        count += 1
    more, others = check_fatbins(program, folder)
    return count + more, findings + others


def main():
    which, program, binary = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if which == "amd":
            finish(*check_amd(program, binary, folder))
        else:
            finish(*check_nvidia(program, folder))


if __name__ == "__main__":
    main()
