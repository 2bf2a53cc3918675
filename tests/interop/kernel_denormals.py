#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels of the AMD images start with denormal numbers turned on, of f32 and of f16 and f64, which
the compiler's division relies on where a quotient, a divisor or its reciprocal is denormal.

Usage: kernel_denormals.py IMAGES_BIN
"""
import struct
import sys

from amd_replay import CodeObject
from kernel_images import finish, images

# LLVM: User Guide for AMDGPU Backend, "compute_pgm_rsrc1": FLOAT_DENORM_MODE_32 and _16_64, two
# bits each, of which 3 flushes neither operands nor results.
PGM_RSRC1, SHIFT, MASK = 48, 16, 0xF


def modes(data):
    """Each kernel's name and both modes."""
    image = CodeObject(data)
    content = image.memory.content()
    for name, address in image.symbols.items():
        if name.endswith(".kd"):
            word, = struct.unpack_from("<I", content, address + PGM_RSRC1)
            yield name.removesuffix(".kd"), word >> SHIFT & MASK


def main():
    findings, checked = [], 0
    for source, target, data in images(sys.argv[1], "gfx"):
        found = dict(modes(data))
        if not found:
            findings.append(f"{source} for {target}: no kernel")
        checked += len(found)
        findings += [f"{name} for {target}: denormal numbers are flushed ({mode:#x})"
                     for name, mode in found.items() if mode != MASK]
    finish(checked, findings)


if __name__ == "__main__":
    main()
