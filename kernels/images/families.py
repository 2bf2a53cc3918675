#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the code objects of one kernel source for AMD targets that share clang's optimisations.

Usage: families.py SOURCE DEPFILE CLANG TARGET FILE [TARGET FILE]... --front FLAG... --back FLAG...

Reading the source and optimising it is half of the time. For targets that have the same optimised
code until instructions are chosen, that half is done once, for the first target: its text then
names no processor, and instructions are chosen from it for each.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROCESSOR = re.compile(r'"target-(?:cpu|features)"="[^"]*" ?')


def run(*words):
    status = subprocess.run(words, check=False).returncode
    if status != 0:
        sys.exit(status)


def main():
    words = sys.argv[1:]
    front = words.index("--front")
    back = words.index("--back")
    source, depfile, clang = words[:3]
    images = list(zip(words[3:front:2], words[4:front:2]))
    first_target, first_file = images[0]
    with tempfile.TemporaryDirectory(prefix=first_file + ".", dir=".") as folder:
        text = pathlib.Path(folder) / "optimised.ll"
        run(clang, *words[front + 1:back], "--offload-arch=" + first_target, "-emit-llvm", "-S",
            "-MD", "-MF", depfile, "-MT", first_file, source, "-o", str(text))
        text.write_text(PROCESSOR.sub("", text.read_text(encoding="utf-8")), encoding="utf-8")
        for target, file in images:
            run(clang, *words[back + 1:], "-mcpu=" + target, str(text), "-o", file)


if __name__ == "__main__":
    main()
