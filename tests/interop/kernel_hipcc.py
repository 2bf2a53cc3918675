#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every kernel source is genuine HIP: AMD's hipcc compiles it with AMD's own header, each for one
of the targets in turn. The operations, for which it would take minutes, are read by a newer clang
with that header: for targets that hipcc is too old for, as hipRTC of other releases does.

Usage: kernel_hipcc.py
"""
import pathlib
import shutil
import subprocess
import tempfile

from kernel_images import KERNELS, finish, is_as_expected, tool

TARGETS = ["gfx906", "gfx90a", "gfx1030"]
NEWER_CLANGS = ["clang-22", "clang-21", "clang-20", "clang-19"]
NEWER_TARGETS = ["gfx90a", "gfx942", "gfx1100", "gfx1201"]
# Sources that differ from target to target.
FOR_ALL_TARGETS = {"ops_matmul_tile": ["gfx942", "gfx1100", "gfx1201"]}


def read_operations(findings):
    """The number of sources that were read with AMD's header."""
    clang = next(filter(None, map(shutil.which, NEWER_CLANGS)), None)
    root = next((pathlib.Path(root) for root in ("/usr", "/opt/rocm")
                 if (pathlib.Path(root) / "include/hip/hip_runtime.h").is_file()), None)
    if clang is None or root is None:
        print("skipped case: operations: hipcc is here without its header or a newer clang")
        return 0
    resources = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True,
                               check=True).stdout.strip()
    sources = sorted((KERNELS / "ops").glob("*.hip"))
    for number, source in enumerate(sources):
        name = f"ops_{source.stem}"
        in_turn = [NEWER_TARGETS[number % len(NEWER_TARGETS)]]
        for target in FOR_ALL_TARGETS.get(name, in_turn):
            done = subprocess.run(
                [clang, "-x", "hip", "--cuda-device-only", "-nogpulib", f"--rocm-path={root}",
                 "-idirafter", resources, f"--offload-arch={target}", "-std=c++17", "-fdeclspec",
                 "-fsyntax-only", "-DHIPTOOL_EXPORT(kernel)=static_assert(true)",
                 "-iquote", str(KERNELS / "include"), "-iquote", str(KERNELS.parent / "include"),
                 str(source)], capture_output=True, text=True, check=False)
            if not is_as_expected(name, done.returncode, done.stderr):
                findings.append(f"{source.name}, {target}: exit {done.returncode}\n{done.stderr}")
    return len(sources)


def main():
    hipcc = tool("hipcc", "/opt/rocm/bin/hipcc")
    findings = []
    sources = sorted(KERNELS.glob("*.hip"))
    with tempfile.TemporaryDirectory() as folder:
        for number, source in enumerate(sources):
            target = TARGETS[number % len(TARGETS)]
            output = pathlib.Path(folder) / (source.stem + ".hipfb")
            # The registration for the processor is the one word of ours that HIP has not.
            command = [hipcc, "--genco", f"--offload-arch={target}", "-std=c++17", "-O1",
                       "-DHIPTOOL_EXPORT(kernel)=static_assert(true)",
                       # For quotes only, so that <hip/hip_runtime.h> is AMD's.
                       "-iquote", str(KERNELS / "include"), str(source), "-o", str(output)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not is_as_expected(source.stem, done.returncode, done.stderr):
                findings.append(f"{source.name}: exit {done.returncode}\n{done.stderr}")
            if done.returncode != 0:
                continue
            if f"amdgcn-amd-amdhsa--{target}".encode() not in output.read_bytes():
                findings.append(f"{source.name}: no code object for {target}")
    finish(len(sources) + read_operations(findings), findings)


if __name__ == "__main__":
    main()
