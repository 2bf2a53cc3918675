# SPDX-License-Identifier: MIT
"""Asserts that a shared library exports names of hiptool only, and none of its inner layers.

Usage: exported_symbols.py NM LIBRARY
"""
import re
import subprocess
import sys

ALLOWED = re.compile(r"((typeinfo|typeinfo name|vtable) for )?hiptool::")
# The functions of hiptool/ops.hpp are in hiptool::ops; what that layer has besides is not exported.
INNER = re.compile(r"hiptool::(base|system|model|hip|core|kernel_store|tensor|load|runtime"
                   r"|ops::BackendState)::")
# Without these an Error thrown by the library is not caught by a program that links it.
REQUIRED = {"typeinfo for hiptool::Error", "vtable for hiptool::Error", "hiptool::version()"}


def main():
    nm, library = sys.argv[1:]
    output = subprocess.run([nm, "-D", "-C", "--defined-only", library], check=True,
                            capture_output=True, text=True).stdout
    names = {line.split(" ", 2)[2] for line in output.splitlines()}
    wrong = sorted(n for n in names if not ALLOWED.match(n) or INNER.search(n.split("(")[0]))
    missing = sorted(REQUIRED - names)
    for name in wrong:
        print("exported, but should not be:", name)
    for name in missing:
        print("not exported, but should be:", name)
    print(len(names), "exported symbols")
    sys.exit(1 if wrong or missing else 0)


main()
