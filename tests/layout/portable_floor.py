# SPDX-License-Identifier: MIT
"""Asserts on how old a system a binary still runs, and that it needs no vendor library.

Usage: portable_floor.py [--helpers] OBJDUMP LDD BINARY

A portable binary has the helper libraries of meson.build inside; with --helpers it may need them.
"""
import re
import subprocess
import sys

# Reached with g++ 12 on Debian 12.
FLOOR = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
LIBRARIES = re.compile(r"(linux-vdso|/lib\S*/ld-linux\S*|ld-linux\S*|libc|libm|libdl|libpthread"
                       r"|librt|libgcc_s|libstdc\+\+)(\.so\S*)?$")
HELPERS = re.compile(r"lib(boost_context|fmt|gmp|hogweed|lzma|nettle|uring|xxhash)\.so\.\S+$")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    *helpers, objdump, ldd, binary = sys.argv[1:]
    if helpers not in ([], ["--helpers"]):
        sys.exit(__doc__)
    wrong = False
    reached = {}
    symbols = output_of(objdump, "-T", binary)
    for name, version in re.findall(r"\b([A-Z]+)_(\d+(?:\.\d+)+)\b", symbols):
        parts = tuple(int(part) for part in version.split("."))
        reached[name] = max(reached.get(name, parts), parts)
    for name, parts in sorted(reached.items()):
        too_new = name in FLOOR and parts > FLOOR[name]
        wrong |= too_new
        print(name, ".".join(map(str, parts)), "is newer than the floor" if too_new else "")
    for line in output_of(ldd, binary).splitlines():
        library = line.split()[0]
        if not LIBRARIES.match(library) and not (helpers and HELPERS.match(library)):
            wrong = True
            print("needs", library)
    sys.exit(1 if wrong or "GLIBC" not in reached else 0)


main()
