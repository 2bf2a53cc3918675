#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each kernel's arguments lie where the table of the cpu platform says, in every AMD image.

Usage: kernel_arguments.py IMAGES_BIN KERNEL_ARGUMENTS
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_images import finish, images, tool

FIELD = re.compile(r"^(\s*)(- )?\.(\w+):\s*(\S*)")


def kernels_of(notes):
    """Name -> [(offset, size)] from the metadata that llvm-readelf prints. Hidden arguments, which
    the compiler adds for itself, do not count."""
    kernels, arguments, kernel_depth = {}, [], 0
    for line in notes.splitlines():
        match = FIELD.match(line)
        if not match:
            continue
        depth, key, value = len(match[1]) + len(match[2] or ""), match[3], match[4]
        if key == "args":
            arguments, kernel_depth = [], depth
        elif key == "name" and depth == kernel_depth:
            kernels[value] = [(a["offset"], a["size"]) for a in arguments
                              if not a["value_kind"].startswith("hidden_")]
        elif depth > kernel_depth:
            if match[2]:
                arguments.append({})
            arguments[-1][key] = int(value) if value.isdigit() else value
    return kernels


def cpu_kernels(program, names):
    """The same from the program, one line for each name: NAME OFFSET:SIZE..."""
    done = subprocess.run([program, *names], capture_output=True, text=True, check=True)
    table = {}
    for line in done.stdout.splitlines():
        name, *arguments = line.split()
        table[name] = [tuple(map(int, argument.split(":"))) for argument in arguments]
    return table


def main():
    found = images(sys.argv[1], "gfx")
    readelf = tool("llvm-readelf-19", "llvm-readelf", "llvm-readelf-16", "llvm-readelf-15",
                   "llvm-readelf-14")
    findings = []
    by_image = {}
    with tempfile.TemporaryDirectory() as folder:
        for source, target, data in found:
            file = pathlib.Path(folder) / "image"
            file.write_bytes(data)
            notes = subprocess.run([readelf, "--notes", str(file)], capture_output=True, text=True,
                                   check=True).stdout
            by_image[source, target] = kernels_of(notes)
    names = sorted({name for kernels in by_image.values() for name in kernels})
    expected = cpu_kernels(sys.argv[2], names)
    for (source, target), kernels in by_image.items():
        if not kernels:
            findings.append(f"{source} for {target}: no kernel in it")
        for name, arguments in kernels.items():
            if arguments != expected.get(name):
                findings.append(f"{name} for {target}: {arguments}, cpu {expected.get(name)}")
    finish(len(by_image), findings)


if __name__ == "__main__":
    main()
