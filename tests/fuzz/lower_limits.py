# SPDX-License-Identifier: MIT
"""Copies a source of src/model with the sizes from which a header is surveyed made small.

Fuzzers work with small inputs; in these copies they reach what only large headers do otherwise.
Usage: lower_limits.py SOURCE OUTPUT
"""
import pathlib
import re
import sys

LIMITS = {
    "gguf.cpp": {"most_unsurveyed_tensors": "2", "most_unsurveyed_pairs": "4"},
    "safetensors.cpp": {"most_read_at_once": "200"},
}


def main():
    source, output = map(pathlib.Path, sys.argv[1:])
    text = source.read_text("utf-8")
    for name, value in LIMITS[source.name].items():
        pattern = rf"(constexpr std::uint64_t {name} = )[^;]+;"
        text, count = re.subn(pattern, rf"\g<1>{value};", text)
        if count != 1:
            sys.exit(f"{source}: {name} is there {count} times instead of once")
    output.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
