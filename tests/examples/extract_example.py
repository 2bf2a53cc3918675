# SPDX-License-Identifier: MIT
"""Copies a C++ block of a Markdown file, so that what people read is what is compiled.

Usage: extract_example.py DOCUMENT OUTPUT NUMBER [TEMPLATE]

Blocks are counted from 1. With a template the block takes the place of its line @BLOCK@; without
one it is a whole program.
"""
import pathlib
import re
import sys


def main():
    document, output, number, *template = sys.argv[1:]
    text = pathlib.Path(document).read_text("utf-8")
    blocks = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if len(blocks) < int(number):
        sys.exit(f"{document} has {len(blocks)} ```cpp blocks, not {number}")
    program = blocks[int(number) - 1]
    if template:
        program = pathlib.Path(template[0]).read_text("utf-8").replace("@BLOCK@\n", program)
    pathlib.Path(output).write_text(program, "utf-8")


main()
