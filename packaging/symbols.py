#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks debian/libhiptool1.symbols against what a library exports.

Usage: symbols.py NM LIBRARY [--update VERSION]

Exits 1 if names come or go. --update writes the file: new names get VERSION, those that are gone
are removed, which breaks programs and so needs another soversion in src/lib/meson.build, and a
package libhiptoolN. Names that a compiler may leave out, such as unused vtables, are optional.
"""
import pathlib
import re
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parent / "debian/libhiptool1.symbols"
HEAD = "libhiptool.so.1 libhiptool1 #MINVER#\n* Build-Depends-Package: libhiptool-dev\n"
LINE = re.compile(r' \((optional\|)?c\+\+\)"(.*)@Base" (\S+)')


def exported(nm, library):
    """Demangled names, and whether a program can rely on each."""
    output = subprocess.run([nm, "-D", "-C", "--defined-only", library], check=True,
                            capture_output=True, text=True).stdout
    names = {}
    for line in output.splitlines():
        _, kind, name = line.split(" ", 2)
        names[name] = names.get(name, False) or kind not in "VWvw"
    return names


def listed():
    """Names with their version, and whether each is optional."""
    names = {}
    for line in FILE.read_text(encoding="utf-8").splitlines()[2:]:
        match = LINE.fullmatch(line)
        if not match:
            sys.exit(f"{FILE}: cannot read {line!r}")
        names[match[2]] = (match[3], bool(match[1]))
    return names


def update(names, version):
    known = listed() if FILE.exists() else {}
    lines = []
    for name, is_strong in sorted(names.items()):
        since, _ = known.get(name, (version, False))
        lines.append(f' ({"" if is_strong else "optional|"}c++)"{name}@Base" {since}\n')
    FILE.write_text(HEAD + "".join(lines), encoding="utf-8")


def main():
    nm, library, *rest = sys.argv[1:]
    names = exported(nm, library)
    if rest:
        update(names, rest[1])
    known = listed()
    added = [name for name, is_strong in names.items() if is_strong and name not in known]
    gone = [name for name, (_, is_optional) in known.items()
            if not is_optional and name not in names]
    for name in sorted(added):
        print("exported, but not in the symbols file:", name)
    for name in sorted(gone):
        print("in the symbols file, but not exported:", name)
    if added or gone:
        print(f"run packaging/symbols.py nm {library} --update VERSION; "
              "a name that is gone needs another soversion")
        sys.exit(1)
    print(len(known), "names")


main()
