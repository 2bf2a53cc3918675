# SPDX-License-Identifier: MIT
"""Checks the direction of includes, between layers and inside them, names that only one layer may
use, and sizes of files.

Usage: check_layout.py ROOT. Prints one line for each finding and exits 1 if there is any.
"""
import pathlib
import re
import sys

# From the bottom up. A layer may include itself and the layers before it.
LIBRARY_LAYERS = ["base", "system", "model", "hip", "core", "kernel_store", "tensor", "ops", "load",
                 "runtime"]
MAY_INCLUDE = {layer: set(LIBRARY_LAYERS[:place + 1]) for place, layer in enumerate(LIBRARY_LAYERS)}
MAY_INCLUDE["reference"] = {"reference", *LIBRARY_LAYERS}
MAY_INCLUDE["report"] = {"base", "report"}   # knows no device
MAY_INCLUDE["model_writer"] = {"base", "model", "report", "model_writer"}
MAY_INCLUDE["machine"] = {"base", "system", "hip", "core", "kernel_store", "report", "machine"}
MAY_INCLUDE["user_kernel"] = {"base", "system", "hip", "core", "kernel_store", "report",
                              "user_kernel"}
MAY_INCLUDE["measure"] = {"measure", "machine", "reference", "report", *LIBRARY_LAYERS}
MAY_INCLUDE["accept"] = {"accept", "model_writer", *MAY_INCLUDE["measure"]}
MAY_INCLUDE["results"] = {"results", "user_kernel", *MAY_INCLUDE["accept"]}
MAY_INCLUDE["cli"] = {"cli", *MAY_INCLUDE["results"]}
# What tests of every layer take models from, and compare with.
TESTS_MAY_INCLUDE = {"model_writer", "reference"}

# The layer that defines what a public header declares. hiptool.hpp is for users only.
HEADER_LAYER = {
    "cancel": "base", "error": "base", "export": "base", "timeline": "base", "version": "base",
    "decoder_spec": "model", "model_file": "model", "model_summary": "model",
    "platform": "hip",
    "arena": "core", "buffer": "core", "caching_allocator": "core", "copy": "core",
    "device": "core", "event": "core", "graph": "core", "kernel": "core", "module": "core",
    "pinned_buffer": "core", "retry": "core", "stream": "core",
    "dtype": "tensor", "layout": "tensor", "tensor": "tensor",
    "backend": "ops", "conv": "ops", "libraries": "ops", "matmul": "ops", "operations": "ops",
    "ops": "ops", "ops_experts": "ops", "ops_model": "ops", "ops_move": "ops", "ops_rows": "ops",
    "async_loader": "load", "load": "load", "load_plan": "load", "load_report": "load",
    "load_tensor": "load",
    "decoder_cache": "runtime", "model_runtime": "runtime", "sampling": "runtime",
}

TOP_LEVEL = {"meson.build", "meson_options.txt", "README.md", "LICENSE", "CHANGELOG.md",
             "CONTRIBUTING.md", "SECURITY.md", "docs", "include", "src", "kernels", "packaging",
             "tests", "subprojects"}
CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".hip"}
CODE_SUFFIXES = CPP_SUFFIXES | {".py", ".sh", ".S", ".in", ".map", ".build"}
LINES_MAX = 500
COLUMNS_MAX = 100

VENDOR_LIBRARY = re.compile(
    r"lib(amdhip64|hiprtc|hipblas|rocblas|rocm_smi|amd_smi|hsa-runtime|MIOpen"
    r"|cuda\b|cuda\.|cudart|nvrtc|cublas|cudnn|nvidia-ml)", re.IGNORECASE)
BANNED_NAME = re.compile(r"\bstd::(format(_to(_n)?)?|expected|unexpected|source_location)\b")
# On the processor such a variable takes its size of every thread's stack.
STATIC_SHARED = re.compile(r"\b__shared__\b")
PER_TARGET_HEADER = "hiptool_units_amd.h"
TARGET_MACRO = re.compile(r"\b__(gfx|GFX)\w+__")
LANGUAGE_HEADER = re.compile(r"kernels/include/(hip/|hiptool_(clang|cpu)_)")
BANNED_HEADERS = {"format", "expected", "source_location"}   # one of the compilers lacks them

# clang 14 takes no structured binding into a lambda, which these macros are.
BINDING = re.compile(r"\bauto(?: ?&&?)? ?\[([\w, ]+)\]")
CAPTURING = re.compile(r"\b(?:CAPTURE|INFO)\((.*)")

TOKEN = re.compile(r'''
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> R"(?P<mark>[^\s()\\]{0,16})\( .*? \)(?P=mark)" )
  | (?P<string> "(?:\\.|[^"\\\n])*" )
  | (?P<char> (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+' )
''', re.VERBOSE | re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*\#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)


def blank_out(text, kinds):
    """The text with tokens of these kinds turned into blanks; lines keep their numbers."""
    def replace(match):
        if any(match[kind] is not None for kind in kinds):
            return re.sub(r"[^\n]", " ", match[0])
        return match[0]
    return TOKEN.sub(replace, text)


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def layer_of(path):
    """The layer of a file, or None for tests of no layer."""
    parts = path.parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if parts[0] == "include":
        return HEADER_LAYER.get(path.stem)
    if parts[:2] == ("tests", "unit") and len(parts) > 3:
        return parts[2]
    return None


def check_include(path, quote, target):
    """The violations of one include."""
    place = path.parts[0]
    first = target.split("/")[0]
    layer = layer_of(path)
    in_tests = place == "tests"
    if target in BANNED_HEADERS:
        yield f"<{target}> is missing in one of the supported compilers"
    if first == "CLI" and layer != "cli":
        yield "CLI11 belongs to src/cli"
    if first == "nlohmann" and layer not in ("report", "model") and not in_tests:
        yield "nlohmann/json belongs to src/report and src/model"
    # Tests act as programs that have a runtime mapped already, so they may load one.
    if target == "dlfcn.h" and path.as_posix() != "src/base/dynamic_library.cpp" and not in_tests:
        yield "only src/base/dynamic_library.cpp may use dlopen"
    if place == "include" and first != "hiptool" and not re.fullmatch(r"[a-z][a-z0-9_]*", target):
        yield f"a public header includes {target}; only std and hiptool/ are allowed"
    if first == "hiptool":
        yield from check_public_include(path, layer, pathlib.PurePath(target).stem)
    elif quote == '"' and first in MAY_INCLUDE and "/" in target:
        may = MAY_INCLUDE.get(layer, {first}) | (TESTS_MAY_INCLUDE if in_tests else set())
        if first not in may:
            yield f"{layer} must not include {target}: it is a higher layer"
    elif quote == '"' and place == "src":
        yield f'"{target}" lacks its layer; write "layer/header.hpp"'


def check_public_include(path, layer, stem):
    is_user = layer is None or layer in ("cli", "lib")   # lib: the shared library, from outside
    if path.as_posix() == "include/hiptool/hiptool.hpp" or is_user:
        return
    if stem == "hiptool":
        yield "hiptool/hiptool.hpp is for users of the library; include the single headers"
    elif stem not in HEADER_LAYER:
        yield f"hiptool/{stem}.hpp has no layer; add it to HEADER_LAYER in this file"
    elif layer in MAY_INCLUDE and HEADER_LAYER[stem] not in MAY_INCLUDE[layer]:
        yield f"{layer} must not include hiptool/{stem}.hpp: it is a higher layer"


class Directions:
    """The includes between folders of a layer, which must not make a circle. Where a folder has
    folders, its files of one name take part like a folder."""

    def __init__(self, root):
        self.files = sorted(path.relative_to(root) for path in (root / "src").rglob("*")
                            if path.suffix in CPP_SUFFIXES)
        self.parents = {above for path in self.files for above in path.parent.parents}
        self.includes = {}   # of nodes: {(from, to): (path, line)}, the first one
        self.borrowed = []   # findings
        for path in self.files:
            text = blank_out((root / path).read_text(encoding="utf-8"), {"comment", "raw"})
            for match in INCLUDE.finditer(text):
                self.add(path, line_of(text, match.start()), match[2])

    def node_of(self, path):
        return path.with_suffix("") if path.parent in self.parents else path.parent

    def add(self, path, line, target):
        other = pathlib.PurePath("src", target)
        if path.parts[1] != other.parts[1] or len(other.parts) < 3:
            return
        here, there = self.node_of(path), self.node_of(other)
        if here == there:
            return
        self.includes.setdefault((here, there), (path, line))
        if all(one.parts[1:3] == ("cli", "commands") and len(one.parts) > 4
               for one in (path, other)):
            self.borrowed.append(f"{path}:{line}: a command must not include {target}, a file of "
                                 "another one")

    def way(self, start, end):
        """The shortest way of includes, with both ends; empty if there is none."""
        ways = [[start]]
        seen = {start}
        for way in ways:
            if way[-1] == end:
                return way
            for here, there in self.includes:
                if here == way[-1] and there not in seen:
                    seen.add(there)
                    ways.append([*way, there])
        return []

    def findings(self):
        yield from self.borrowed
        folders = {path.parent for path in self.files} - self.parents
        told = set()
        for (here, there), (path, line) in sorted(self.includes.items()):
            if here in told or not {here, there} & folders:
                continue
            circle = self.way(there, here)
            if circle:
                told.update(circle)
                names = " -> ".join(one.as_posix() for one in [here, *circle])
                yield f"{path}:{line}: includes inside a layer make a circle: {names}"


def captured_bindings(code):
    """(line, name) of structured bindings that CAPTURE or INFO is given; scopes by indentation."""
    scope_of = {}
    for number, line in enumerate(code.splitlines(), 1):
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("}"):
            scope_of = {name: scope for name, scope in scope_of.items() if scope < indent}
        for match in BINDING.finditer(line):
            scope = indent if "(" in line[:match.start()] else indent - 1
            scope_of.update((name.strip(), scope) for name in match[1].split(","))
        match = CAPTURING.search(line)
        for name in re.findall(r"\b[A-Za-z_]\w*", match[1]) if match else ():
            if name in scope_of:
                yield number, name


def check_cpp(path, text):
    """Findings (line, sentence) of one C++ file."""
    with_includes = blank_out(text, {"comment", "raw"})
    for match in INCLUDE.finditer(with_includes):
        for sentence in check_include(path, match[1], match[2]):
            yield line_of(text, match.start()), sentence
    if path.parts[0] != "tests" and not may_name_vendor(path):
        for token in TOKEN.finditer(text):
            literal = token["string"] or token["raw"] or ""
            # A message may mention a library; a bare name is one to open.
            if VENDOR_LIBRARY.search(literal) and not re.search(r"\s", literal):
                yield (line_of(text, token.start()),
                       "a vendor library is named outside src/hip/<platform>")
    code = blank_out(text, {"comment", "raw", "string", "char"})
    for match in BANNED_NAME.finditer(code):
        yield (line_of(text, match.start()),
               f"{match[0]} is missing in one of the supported compilers")
    for line, name in captured_bindings(code):
        yield line, f"clang 14 cannot capture '{name}', a structured binding: copy it first"
    if path.parts[0] == "kernels" and not LANGUAGE_HEADER.match(path.as_posix()):
        for match in STATIC_SHARED.finditer(code):
            yield (line_of(text, match.start()),
                   "kernels use dynamic shared memory only: dynamic_shared() of hiptool_device.h")
    if path.parts[0] == "kernels" and path.name != PER_TARGET_HEADER:
        for match in TARGET_MACRO.finditer(code):
            yield (line_of(text, match.start()), f"{match[0]}: kernels are optimised once for "
                   f"several targets; only those with {PER_TARGET_HEADER} are for each")


def may_name_vendor(path):
    in_platform = path.parts[:2] == ("src", "hip") and len(path.parts) > 3
    # --version lists runtime libraries on disk without opening them.
    return in_platform or re.match(r"src/cli/(.*/)?version[^/]*$", path.as_posix()) is not None


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
        yield 1, "the first line must be SPDX-License-Identifier: MIT"
    if len(lines) > LINES_MAX:
        yield len(lines), f"the file has {len(lines)} lines, more than {LINES_MAX}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"the line has {len(line)} columns, more than {COLUMNS_MAX}"
    if path.suffix in CPP_SUFFIXES or path.name.endswith((".cpp.in", ".hpp.in")):
        yield from check_cpp(path, text)


def check_document(root, path):
    """Findings of a document. Tables and targets of links cannot be wrapped."""
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > COLUMNS_MAX and not re.match(r"\||\[[\w-]+\]: ", line):
            yield number, f"the line has {len(line)} columns, more than {COLUMNS_MAX}"


def check_tree(root):
    """Findings of a whole checkout, each "path:line: sentence"."""
    root = pathlib.Path(root)
    findings = []
    for entry in sorted(root.iterdir()):
        is_build_folder = (entry / "meson-private").is_dir() or entry.name.startswith("build")
        if not (entry.name.startswith(".") or entry.name in TOP_LEVEL or is_build_folder):
            findings.append(f"{entry.name}:1: does not belong to the top level")
    for folder in ("include", "kernels", "src", "tests"):
        for file in sorted((root / folder).rglob("*")):
            check = check_document if file.suffix == ".md" else check_file
            is_checked = file.suffix in CODE_SUFFIXES | {".md"}
            if file.is_file() and is_checked and "__pycache__" not in file.parts:
                path = file.relative_to(root)
                findings += [f"{path}:{line}: {text}" for line, text in check(root, path)]
    findings += Directions(root).findings()
    return findings


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not pathlib.Path(sys.argv[1], "src").is_dir():
        sys.exit(f"{sys.argv[1]} is no checkout: it has no folder src")
    findings = check_tree(sys.argv[1])
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
