#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The AMD images of products by matrix units are for the targets that are meant to have them. Each
of their kernels has the matrix instruction of its type and of the target's generation, and no
scratch memory: all sums are in registers.

Usage: kernel_matrix.py IMAGES_BIN
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_images import finish, images, skip, tool

SOURCE = "ops_matmul_tile"
INSTRUCTIONS = {"gfx942": "v_mfma_f32_16x16x16_{}", "gfx11": "v_wmma_f32_16x16x16_{}",
                "gfx12": "v_wmma_f32_16x16x16_{}"}
ANY = re.compile(r"\bv_\w*(?:mfma|wmma|dot|smfmac|swmmac)\w*")


def instruction_of(target):
    return next((name for prefix, name in INSTRUCTIONS.items() if target.startswith(prefix)), None)


def kernels_of(listing):
    """Name -> the matrix instructions of each kernel."""
    found = {}
    for line in listing.splitlines():
        start = re.match(r"[0-9a-f]+ <(\w+)>:", line)
        if start:
            name = start[1]
            found[name] = set()
        elif ANY.search(line):
            found[name].add(ANY.search(line)[0])
    return found


def check(objdump, target, data, folder):
    file = folder / "image"
    file.write_bytes(data)
    listing = subprocess.run([objdump, "-d", str(file)], capture_output=True, text=True,
                             check=True).stdout
    found = kernels_of(listing)
    wanted = {f"hiptool_matmul_units_{dtype}_{layout}": instruction_of(target).format(dtype)
              for dtype in ("f16", "bf16") for layout in ("nn", "nt", "tn", "tt")}
    for kernel, name in wanted.items():
        if found.get(kernel) != {name}:
            yield f"{kernel} for {target}: {found.get(kernel)}, wanted {name}"
    notes = subprocess.run([tool("llvm-readelf-19", "llvm-readelf"), "--notes", str(file)],
                           capture_output=True, text=True, check=True).stdout
    scratch = re.findall(r"\.private_segment_fixed_size: +(\d+)", notes)
    if scratch != ["0"] * len(wanted):
        yield f"{target}: scratch memory of {scratch} bytes"
    if found.keys() != wanted.keys():
        yield f"{target}: {sorted(found.keys() ^ wanted.keys())}"


def main():
    built = images(sys.argv[1], "gfx")
    targets = {target for _, target, _ in built}
    wanted = {target for target in targets if instruction_of(target)}
    objects = {target: data for source, target, data in built if source == SOURCE}
    findings = []
    if objects.keys() != wanted:
        findings.append(f"images for {sorted(objects)}, wanted {sorted(wanted)}")
    if not wanted and not objects:
        skip("this build has no images for gfx942, gfx11* or gfx12*")
    objdump = tool("llvm-objdump-19", "llvm-objdump")
    with tempfile.TemporaryDirectory() as folder:
        for target, data in sorted(objects.items()):
            findings += check(objdump, target, data, pathlib.Path(folder))
    finish(len(objects), findings)


if __name__ == "__main__":
    main()
