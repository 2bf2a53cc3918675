# SPDX-License-Identifier: MIT
"""Makes a static library of one object that shows only the names that the shared library exports.

Usage: static_library.py NM OBJCOPY AR OBJECT SHARED_LIBRARY STATIC_LIBRARY

The object holds the helper libraries too. With their names hidden a program may link its own
liblzma beside this one, as with the shared library.
"""
import pathlib
import subprocess
import sys
import tempfile


def main():
    nm, objcopy, ar, linked, shared, archive = sys.argv[1:]
    symbols = subprocess.run([nm, "-D", "--defined-only", shared], check=True,
                             capture_output=True, text=True).stdout
    names = sorted(line.split()[2].split("@")[0] for line in symbols.splitlines())
    pathlib.Path(archive).unlink(missing_ok=True)   # ar would add to it
    with tempfile.TemporaryDirectory() as folder:
        keep = pathlib.Path(folder, "names")
        keep.write_text("\n".join(names) + "\n", encoding="utf-8")
        member = pathlib.Path(folder, "hiptool.o")
        subprocess.run([objcopy, f"--keep-global-symbols={keep}", "--strip-unneeded", linked,
                        member], check=True)
        subprocess.run([ar, "rcsD", archive, member], check=True)


main()
