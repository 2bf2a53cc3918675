# SPDX-License-Identifier: MIT
"""Targets that get the images of their family's first: LLVM knows each instruction on them too.

Usage: kernel_families.py KERNEL_IMAGES
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_images import finish, images, tool

# Large and with many kinds of instructions; all sources where RELEASE is set.
SAMPLE = ("digest", "gemm", "ops_matmul_tile", "ops_norm", "ops_quantised", "ops_rope")


UNKNOWN_PROCESSOR = "is not a recognized processor"


def problems(objdump, folder, image):
    """What the disassembler for the image's own target cannot read; None if it does not know it."""
    source, target, data = image
    path = folder / f"{source}.{target}"
    path.write_bytes(data)
    result = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], text=True,
                            capture_output=True, check=False)
    if UNKNOWN_PROCESSOR in result.stderr:
        return None
    lines = [line for line in result.stdout.splitlines() if line.startswith("\t")]
    unknown = [line for line in lines if re.search(r"\.long|<unknown>|\.byte", line)]
    if result.returncode != 0 or not lines:
        return [f"{source} for {target}: {result.stderr or 'no instruction'}"]
    return [f"{source} for {target}: {line.strip()}" for line in unknown[:3]]


def main():
    objdump = tool("llvm-objdump-22", "llvm-objdump-19")
    derived = [image for image in images(sys.argv[1], "gfx", of_families=True)
               if image[0] in SAMPLE or "RELEASE" in os.environ]
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        found = list(pool.map(lambda image: problems(objdump, folder, image), derived))
    unknown = {image[1] for image, lines in zip(derived, found) if lines is None}
    if unknown:
        print(f"not checked, unknown to {objdump}: {', '.join(sorted(unknown))}")
    if len(unknown) > 1:   # LLVM 19 knows all but gfx1153
        sys.exit(1)
    known = [lines for lines in found if lines is not None]
    finish(len(known), sum(known, []))


main()
