#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our declarations and our binding against each rocBLAS, hipBLASLt and MIOpen of Debian's releases.

Usage: real_library.py REPORT [COMPILER WORDS...]
  REPORT    amd_library_report
  COMPILER  a C++20 compiler for the contract tests; default c++

Downloads 1.4 GB, so it runs only where HIPTOOL_REAL_RUNTIMES names a folder to keep the packages in
("1": a temporary one). No GPU is needed and nothing is installed. The kernels beside the libraries,
gigabytes, are laid down as empty files: without a device they are named but never read.
"""
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from debian_packages import Suite, Unreachable, find_mirror  # noqa: E402
from real_runtimes import LIBRARIES, SUITES, Runtime, skip  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
# The headers' test, the stem of the package's name, what the binding is asked for.
NAMES = {
    "rocblas": ("librocblas", ["rocblas", "rocblas-hipblaslt"]),
    "hipblaslt": ("libhipblaslt", ["hipblaslt"]),
    "miopen": ("libmiopen", ["miopen"]),
}
HEADERS_NEEDED = ["libamdhip64-dev", "libhipblas-common-dev", "libamd-comgr-dev",
                  "libhsa-runtime-dev", "librocm-core-dev"]


def is_kernel(name):
    return "/library/" in name or name.endswith((".co", ".hsaco", ".kdb"))


class Library(Runtime):
    """One library with its release's runtime and all else that it needs in a folder."""

    def __init__(self, folder, package, version):
        self.folder = folder
        self.label = f"{package} {version}"
        self.findings = []

    def check_library_headers(self, name, compiler):
        done = subprocess.run(
            [*compiler, "-std=c++20", "-fsyntax-only", "-D__HIP_PLATFORM_AMD__",
             "-D__HIP_DISABLE_CPP_FUNCTIONS__", "-Wno-deprecated-declarations",
             "-isystem", self.folder / "usr/include", "-I", TOP / "include", "-I", TOP / "src",
             "-I", TOP / "tests", TOP / f"tests/interop/{name}_headers.cpp"],
            text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        self.check(done.returncode == 0, f"{name}'s headers differ: " + "; ".join(errors[:5]))
        return done.returncode == 0

    def real_targets(self, name):
        """The targets with products of matrices, by the names of the files that were unpacked."""
        files = (self.folder / LIBRARIES / name).rglob("TensileLibrary_*")
        targets = {target for file in files for target in re.findall("gfx[0-9a-f]+", file.name)}
        return " ".join(sorted(targets))

    def report_library(self, program, asked, package, version):
        done = self.run(program, asked)
        facts = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
        said = (f"  {asked}: version {facts.get('version')}, {facts.get('path')}; status "
                f"{facts.get('status')}: {facts.get('text') or facts.get('reason')}")
        print(said.replace(str(self.folder), ""), flush=True)
        self.check(done.returncode == 0,
                   f"{asked} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
        if asked == "rocblas-hipblaslt" and "built without hipBLASLt" in facts.get("reason", ""):
            return
        self.check(facts.get("reason") == "", f"{asked} is missing: {facts.get('reason')}")
        self.check(facts.get("path", "").startswith(str(self.folder)),
                   f"bound {facts.get('path')}, not the one unpacked")
        self.check(facts.get("version", "") != "", f"{asked} of {package} {version}: no version")
        if asked in ("rocblas", "hipblaslt"):
            self.expect(facts, targets=self.real_targets(asked))
        self.check(facts.get("has_handle") == "0", f"{asked} starts without a device")
        self.check(facts.get("text", "").endswith("its runtime reports no device"),
                   f"{asked} says: {facts.get('text')}")
        self.check(done.stderr == "", f"{asked} says: {done.stderr.strip()[-300:]}")
        self.check(facts.get("closed") == "1", f"{asked} does not come to its end")


def find_releases(mirror, cache):
    """(suite, [(name, package, version)]) of each release; the same package only once."""
    seen = set()
    for suite_name in SUITES:
        suite = Suite(mirror, suite_name, cache)
        try:
            suite.update()
            found = []
            for name, (stem, _) in NAMES.items():
                for package in suite.names(f"{stem}[0-9]+"):
                    version = suite.version(package)
                    is_newest = suite.version(f"{stem}-dev") == version
                    if version and is_newest and (package, version) not in seen:
                        seen.add((package, version))
                        found.append((name, package, version))
            if found:
                yield suite, found
        except Unreachable as error:
            print(f"{suite_name}: not looked at: {error}", flush=True)


def check_release(suite, found, report, compiler, folder):
    suite.unpack(["libc6", *(package for _, package, _ in found)], folder, is_kernel)
    for package in [f"{NAMES[name][0]}-dev" for name, _, _ in found] + HEADERS_NEEDED:
        version = suite.version(package)
        if version:
            suite.unpack_alone(package, version, folder)
    findings = []
    for name, package, version in found:
        library = Library(pathlib.Path(folder), package, version)
        agrees = library.check_library_headers(name, compiler)
        print(f"{library.label} ({suite.name}): headers {'agree' if agrees else 'DIFFER'}",
              flush=True)
        for asked in NAMES[name][1]:
            library.report_library(report, asked, package, version)
        findings += library.findings
    return findings


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    chosen = os.environ.get("HIPTOOL_REAL_RUNTIMES", "")
    if not chosen:
        skip("HIPTOOL_REAL_RUNTIMES is not set: a folder to keep 1.4 GB of packages in, or 1")
    if platform.machine() != "x86_64":
        skip("the folders and the dynamic linker that this test knows are those of x86_64")
    report = pathlib.Path(sys.argv[1]).resolve()
    compiler = sys.argv[2:] or shlex.split(os.environ.get("CXX", "c++"))
    findings, checked = [], 0
    with tempfile.TemporaryDirectory(prefix="hiptool-libraries-") as scratch:
        try:
            mirror = find_mirror()
        except Unreachable as error:
            skip(str(error))
        cache = pathlib.Path(scratch if chosen == "1" else chosen)
        for suite, found in find_releases(mirror, cache):
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                try:
                    findings += check_release(suite, found, report, compiler, folder)
                    checked += len(found)
                except Unreachable as error:
                    print(f"{suite.name}: not to be had: {error}", flush=True)
    for finding in findings:
        print("WRONG: " + finding)
    print(f"{checked} libraries checked, {len(findings)} wrong")
    if checked == 0:
        skip("no library could be had")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
