# SPDX-License-Identifier: MIT
"""The public headers leave no macro of ours but HIPTOOL_API.

Usage: macros_test.py INCLUDE COMPILER...
"""
import subprocess
import sys


def macros_of(compiler, include, source):
    text = subprocess.run([*compiler, "-std=c++20", "-I", include, "-dM", "-E", "-x", "c++", "-"],
                          input=source, check=True, capture_output=True, text=True).stdout
    return {line.split()[1].partition("(")[0] for line in text.splitlines()}


def main():
    include, *compiler = sys.argv[1:]
    ours = "#include <hiptool/hiptool.hpp>\n"
    found = {name for name in macros_of(compiler, include, ours) if "hiptool" in name.lower()}
    if found != {"HIPTOOL_API"}:
        sys.exit(f"macros of the public headers: {sorted(found)}, expected HIPTOOL_API alone")


if __name__ == "__main__":
    main()
