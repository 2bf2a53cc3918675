# SPDX-License-Identifier: MIT
"""Copies the first C++ block of a Markdown file, so that what people read is what is compiled.

Usage: extract_example.py DOCUMENT OUTPUT
"""
import pathlib
import re
import sys


def main():
    document, output = map(pathlib.Path, sys.argv[1:])
    block = re.search(r"^```cpp\n(.*?)^```$", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if block is None:
        sys.exit(f"{document} has no ```cpp block")
    output.write_text(block[1], "utf-8")


main()
