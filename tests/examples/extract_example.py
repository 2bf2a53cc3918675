# SPDX-License-Identifier: MIT
"""Copies a C++ block of a Markdown file, so that what people read is what is compiled.

Usage: extract_example.py DOCUMENT OUTPUT [NUMBER TEMPLATE]

The first block is a whole program; another one, counted from 1, takes the place of the line @BLOCK@
in a template.
"""
import pathlib
import re
import sys


def main():
    document, output, *rest = sys.argv[1:]
    text = pathlib.Path(document).read_text("utf-8")
    blocks = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    number = int(rest[0]) if rest else 1
    if len(blocks) < number:
        sys.exit(f"{document} has {len(blocks)} ```cpp blocks, not {number}")
    program = blocks[number - 1]
    if rest:
        program = pathlib.Path(rest[1]).read_text("utf-8").replace("@BLOCK@\n", program)
    pathlib.Path(output).write_text(program, "utf-8")


main()
