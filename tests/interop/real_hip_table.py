#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What runs of the suite `real-hip` found, as a table of docs/tested.md.

Usage: real_hip_table.py [--write DOCUMENT] FILE...
Each FILE is one that real_hip.py wrote. Those of one runtime and target are one column, in which a
unit of a later FILE replaces that of an earlier one. With --write, what DOCUMENT has between the
lines `<!-- real-hip: begin -->` and `<!-- real-hip: end -->` is replaced.
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import textwrap

LABELS = {"events": "events without hiptool", "devices": "devices", "doctor": "doctor",
          "load": "load, in all verify modes", "failures": "one failing call of each kind",
          "prove": "prove, a small llama", "copies": "bench-copy of 1 MiB",
          "kernels": "run-kernel all, 64 KiB", "operations": "operations in f32, f16, i32",
          "conformance": "conformance", "faults": "each call failing once, scenarios",
          "check": "check: copy, memory, kernels, model"}
BEGIN, END = "<!-- real-hip: begin -->", "<!-- real-hip: end -->"


def column_of(document):
    major, minor = document["hip"].split(".")[:2]
    return f"{major}.{minor}, {document['arch']}"


def read_columns(paths):
    """For each column its cases by group and unit."""
    columns = {}
    for path in paths:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = {tuple(unit): [] for unit in document["units"]}
        for case in document["cases"]:
            found[case["group"], case["unit"]].append(case)
        columns.setdefault(column_of(document), {}).update(found)
    return columns


def cell(units, group):
    """Right / not possible there, and wrong ones if there are any."""
    cases = [case for (name, _), found in units.items() if name == group for case in found]
    if not cases:
        return "not run"
    count = collections.Counter(case["status"] for case in cases)
    wrong = f", **{count['wrong']} wrong**" if count["wrong"] else ""
    return f"{count['right']} / {count['not possible there']}{wrong}"


def table(columns):
    groups = [group for group in LABELS
              if any(group == name for units in columns.values() for name, _ in units)]
    yield "| | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for group in groups:
        cells = (cell(units, group) for units in columns.values())
        yield f"| {LABELS[group]} | " + " | ".join(cells) + " |"


def said(message):
    """Without what differs from run to run: times, ids of processes, what an emulator prints."""
    return re.sub(r"no end within .*", "no end in time", re.sub(r"\s+", " ", message))


def remarks(columns, status):
    """A paragraph for each message, with the cases that have it and the columns of each."""
    cases = collections.defaultdict(lambda: collections.defaultdict(list))
    for column, units in columns.items():
        for found in units.values():
            for case in found:
                if case["status"] == status and case["message"]:
                    name = case["name"].split("@")[0]
                    cases[said(case["message"])][name].append(column)
    for message, names in sorted(cases.items()):
        where = collections.defaultdict(list)
        for name, found in names.items():
            where[tuple(dict.fromkeys(found))].append(name)
        parts = []
        for found, listed in where.items():
            on = "all" if len(found) == len(columns) else "; ".join(found)
            parts.append(", ".join(f"`{name}`" for name in listed) + f" ({on})")
        yield f"* {message}: " + "; ".join(parts)


def text_of(columns):
    lines = list(table(columns))
    for status, title in (("wrong", "Wrong"), ("not possible there", "Not possible there"),
                          ("right", "Right, with a remark")):
        listed = list(remarks(columns, status))
        if listed:
            lines += ["", f"{title}:", ""]
            for line in listed:
                lines += textwrap.wrap(line, 100, subsequent_indent="  ", break_long_words=False,
                                       break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def replace(document, text):
    before, begin, rest = document.partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"the document has no lines {BEGIN} and {END}")
    return before + begin + text + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    text = text_of(read_columns(options.files))
    if not options.write:
        sys.stdout.write(text)
        return
    document = options.write.read_text(encoding="utf-8")
    options.write.write_text(replace(document, text), encoding="utf-8")


if __name__ == "__main__":
    main()
