#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no field that a release had is gone or has more types: see docs/schemas.md.

Usage: stable_test.py [--update]. stable_fields.txt has a line "SCHEMA PATH TYPES" for each field;
--update adds new fields, before a release, and never removes one.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "stable_fields.txt"
NAMES = {list: "array", dict: "object", type(None): "null", bool: "boolean", int: "integer",
         float: "number", str: "string"}
BRANCHES = ("allOf", "anyOf", "oneOf")


def load(name):
    return json.loads((HERE / name).read_text("utf-8"))


def resolve(reference, name):
    """The schema that a reference leads to, and the file it is in."""
    file, _, pointer = reference.partition("#")
    name = file or name
    schema = load(name)
    for step in pointer.split("/")[1:]:
        schema = schema[step]
    return schema, name


def types_of(schema):
    types = schema.get("type", [])
    found = {types} if isinstance(types, str) else set(types)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return found or {NAMES[type(value)] for value in values}


def collect(schema, name, path, fields):
    """Adds path -> types for all that the schema describes below the path."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        collect(*resolve(schema["$ref"], name), path, fields)
    if path:
        fields.setdefault(path, set()).update(types_of(schema))
    parts = [part for word in BRANCHES for part in schema.get(word, [])]
    for part in parts + [schema[word] for word in ("then", "else") if word in schema]:
        collect(part, name, path, fields)
    for field, inner in schema.get("properties", {}).items():
        inner_path = f"{path}.{field}" if path else field
        fields.setdefault(inner_path, set())
        collect(inner, name, inner_path, fields)
    collect(schema.get("items"), name, path + "[]", fields)


def described():
    fields = {}
    for path in sorted(HERE.glob("*.schema.json")):
        if path.name == "common.schema.json":
            continue
        of_one = {}
        collect(load(path.name), path.name, "", of_one)
        command = path.name.partition(".")[0]
        fields |= {(command, field): types for field, types in of_one.items()}
    return fields


def stable():
    fields = {}
    for line in FILE.read_text("utf-8").splitlines():
        command, field, types = line.split(" ")
        fields[command, field] = set(types.split("|")) - {"any"}
    return fields


def line_of(key, types):
    return f"{key[0]} {key[1]} {'|'.join(sorted(types)) or 'any'}\n"


def main():
    now = described()
    if sys.argv[1:] == ["--update"]:
        before = stable() if FILE.exists() else {}
        text = "".join(line_of(key, types) for key, types in sorted({**now, **before}.items()))
        FILE.write_text(text, "utf-8")
    fields = stable()
    wrong = 0
    for key, types in fields.items():
        if key not in now:
            print("gone:", line_of(key, types), end="")
        elif types and not now[key] <= types:
            print("more types:", line_of(key, now[key]).strip(), "before", "|".join(sorted(types)))
        else:
            continue
        wrong += 1
    print(len(fields), "fields,", wrong, "changed; a field is only ever added (docs/schemas.md)")
    sys.exit(1 if wrong or not fields else 0)


main()
