#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every kernel source is genuine HIP: AMD's hipcc compiles it with AMD's own header, each for one
of the targets in turn.

Usage: kernel_hipcc.py
"""
import pathlib
import subprocess
import tempfile

from kernel_images import KERNELS, finish, tool

TARGETS = ["gfx906", "gfx90a", "gfx1030"]
# Sources that AMD's GPUs have no instruction for, and what the compiler is to say then.
REFUSED = {"fma_bf16": "no AMD GPU up to gfx1201 has multiply-adds of bfloat16",
           "gemm_matrix": "matrix instructions of AMD are not used",
           "ops_matmul_groups": "matrix instructions of four warps are NVIDIA's"}


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
            if source.stem in REFUSED:
                if done.returncode == 0 or REFUSED[source.stem] not in done.stderr:
                    findings.append(f"{source.name} is not refused: {done.stderr}")
                continue
            if done.returncode != 0 or not output.is_file():
                findings.append(f"{source.name}:\n{done.stdout}{done.stderr}")
                continue
            if f"amdgcn-amd-amdhsa--{target}".encode() not in output.read_bytes():
                findings.append(f"{source.name}: no code object for {target}")
    finish(len(sources), findings)


if __name__ == "__main__":
    main()
