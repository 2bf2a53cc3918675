# SPDX-License-Identifier: MIT
"""Checks that objects compiled for other instructions define one function each that others see.

Usage: xxh3_symbols_test.py NM ARCHIVE...
"""
import re
import subprocess
import sys

ALLOWED = re.compile(r"xxh3_64_avx|^__?(asan|tsan|ubsan|odr)|^(asan|tsan)\.|^DW\.ref\.|^_ZT[IS]F")


def main():
    nm, archives = sys.argv[1], sys.argv[2:]
    wrong = []
    for archive in archives:
        listing = subprocess.run([nm, "-g", "--defined-only", archive], check=True,
                                 capture_output=True, text=True).stdout
        names = [line.split()[2] for line in listing.splitlines() if len(line.split()) == 3]
        if not any("xxh3_64_avx" in name for name in names):
            wrong.append(f"{archive}: defines no XXH3")
        wrong += [f"{archive}: {name} could be taken for the whole program"
                  for name in names if not ALLOWED.search(name)]
    print("\n".join(wrong))
    sys.exit(1 if wrong or not archives else 0)


if __name__ == "__main__":
    main()
