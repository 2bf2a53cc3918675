# SPDX-License-Identifier: MIT
"""Prints the kernel sources that differ from a commit, or include a file that does, as their images
are named; all of them if git does not have that commit.

Usage: changed_kernels.py COMMIT
"""
import pathlib
import re
import subprocess
import sys

KERNELS = pathlib.Path("kernels")
FOLDERS = [KERNELS / "include", pathlib.Path("include")]


def included(file, known):
    """That file and what it includes of ours, added to `known`."""
    known.add(file)
    for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', file.read_text("utf-8"), re.M):
        for folder in [file.parent, *FOLDERS]:
            if (folder / name).is_file() and folder / name not in known:
                included(folder / name, known)
    return known


def main():
    run = subprocess.run(["git", "diff", "--name-only", sys.argv[1]], capture_output=True,
                         text=True)
    changed = {pathlib.Path(name) for name in run.stdout.split()}
    for source in sorted(KERNELS.rglob("*.hip")):
        if run.returncode != 0 or included(source, set()) & changed:
            print("_".join(source.relative_to(KERNELS).with_suffix("").parts))


main()
