#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks packaging/interface.txt against the public headers: sizes, bases, offsets and values of
the types that programs are compiled with, as abidw of Debian's abigail-tools reads them. (Names of
functions: symbols.py.)

Usage: interface.py INCLUDE_FOLDER [--update] COMPILER...

Exits 1 if a type changed, and 77, with a word, where abidw or GCC is missing. --update writes the
file. A type that changes breaks programs that were linked with the library, and so needs another
soversion in src/lib/meson.build; a new one does not.
"""
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FILE = pathlib.Path(__file__).resolve().parent / "interface.txt"
TYPE = re.compile(r"^(?:class|struct|enum class)(?: HIPTOOL_API)? (\w+)(?: final)?(?: : [^{;]*)? \{",
                  re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{\n(.*?)^\}  // namespace \1$", re.MULTILINE | re.DOTALL)


def types(include):
    """Names of the classes, structs and enums at the top of the headers' namespaces."""
    names = []
    for header in sorted(include.glob("hiptool/*.hpp")):
        for space, body in NAMESPACE.findall(header.read_text("utf-8")):
            names += [f"{space}::{name}" for name in TYPE.findall(body)]
    return names


def read_types(include, compiler, folder):
    """What abidw says of a library that has a pointer to each type."""
    source, library = folder / "interface.cpp", folder / "interface.so"
    source.write_text("#include <hiptool/hiptool.hpp>\n" + "".join(
        f"{name}* pointer_{i};\n" for i, name in enumerate(types(include))), "utf-8")
    subprocess.run([*compiler, "-std=c++20", "-g", "-femit-class-debug-always", "-fPIC",
                    "-shared", "-I", include, source,
                    "-o", library], check=True)
    done = subprocess.run(["abidw", "--headers-dir", include / "hiptool", "--drop-private-types",
                           library], check=True, capture_output=True, text=True)
    return xml.etree.ElementTree.fromstring(done.stdout)


class Interface:
    def __init__(self, root):
        self.by_id = {}
        self.names = {}
        self.found = {}
        self.collect(root, "")

    def collect(self, element, scope):
        for child in element:
            name = child.get("name", "")
            full = f"{scope}::{name}" if scope and name else scope or name
            if child.tag == "namespace-decl":
                self.collect(child, full)
                continue
            if child.get("id"):
                self.by_id[child.get("id")] = child
                self.names[child.get("id")] = full
            if child.tag in ("class-decl", "enum-decl", "union-decl"):
                if full.startswith("hiptool::") and not child.get("is-declaration-only"):
                    self.found[full] = child
                self.collect(child, full)
            elif child.tag in ("member-type", "abi-instr"):
                self.collect(child, scope)

    def name_of(self, identity):
        element = self.by_id.get(identity)
        if element is None:
            return "?"
        inner = element.get("type-id")
        if element.tag == "pointer-type-def":
            return self.name_of(inner) + "*"
        if element.tag == "reference-type-def":
            return self.name_of(inner) + ("&" if element.get("kind") == "lvalue" else "&&")
        if element.tag == "qualified-type-def":
            return ("const " if element.get("const") else "") + self.name_of(inner)
        return self.names[identity] or element.tag

    def lines(self):
        for name, element in sorted(self.found.items()):
            if element.tag == "enum-decl":
                values = ", ".join(f"{one.get('name')} {one.get('value')}"
                                   for one in element.iter("enumerator"))
                yield f"{name}: {values}"
                continue
            yield f"{name}: {int(element.get('size-in-bits') or 0) // 8} bytes"
            for child in element:
                offset = int(child.get("layout-offset-in-bits") or 0) // 8
                if child.tag == "base-class":
                    yield f"  {offset} base {self.name_of(child.get('type-id'))}"
                elif child.tag == "data-member" and child.get("static") != "yes":
                    member = child.find("var-decl")
                    yield f"  {offset} {member.get('name')}: {self.name_of(member.get('type-id'))}"
                elif child.tag == "member-function" and child.get("vtable-offset"):
                    function = child.find("function-decl").get("name")
                    yield f"  virtual {child.get('vtable-offset')} {function}"


def main():
    include = pathlib.Path(sys.argv[1]).resolve()
    is_update = sys.argv[2] == "--update"
    compiler = sys.argv[3 if is_update else 2:]
    version = subprocess.run([*compiler, "--version"], check=True, capture_output=True, text=True)
    if not shutil.which("abidw") or "Free Software Foundation" not in version.stdout:
        print("skipped: abidw (abigail-tools) and GCC are needed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        interface = Interface(read_types(include, compiler, pathlib.Path(folder)))
    missing = [name for name in types(include) if name not in interface.found]
    if missing:
        sys.exit("abidw does not know " + ", ".join(missing))
    lines = list(interface.lines())
    if is_update:
        FILE.write_text("\n".join(lines) + "\n", "utf-8")
    kept = FILE.read_text("utf-8").splitlines()
    changes = list(difflib.unified_diff(kept, lines, "kept", "headers", lineterm="", n=1))
    print("\n".join(changes) or f"{len(interface.found)} types")
    if changes:
        print("if that is meant, raise the soversion unless it was raised since the last release, "
              "and run packaging/interface.py include --update g++")
        sys.exit(1)


main()
