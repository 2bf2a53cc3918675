#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our declarations and our binding against each AMD runtime that Debian's releases carry.

Usage: real_runtimes.py HIPTOOL REPORT [COMPILER WORDS...]
  HIPTOOL   the program       REPORT  amd_runtime_report
  COMPILER  a C++20 compiler for the contract test; default c++

Downloads some 70 MB for each runtime, so it runs only where HIPTOOL_REAL_RUNTIMES names a folder to
keep the packages in ("1": a temporary one). No GPU is needed; nothing is installed: a newer runtime
runs with its own release's dynamic linker and C library.
"""
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from debian_packages import Suite, Unreachable, find_mirror  # noqa: E402
from kernel_images import KERNELS, REFUSED, is_as_expected  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
SUITES = ["oldstable", "stable", "testing", "unstable", "experimental"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
WHEEL = "lib/python3.12/site-packages/_rocm_sdk_core/lib"
SOURCES = sorted(KERNELS.glob("*.hip"))
TARGET = "gfx90a"
# Two names that runtimes before HIP 7 do not know, ours first.
NEWER_NAMES = (" 911:hipErrorInvalidChannelDescriptor/hipErrorUnknown"
               " 912:hipErrorInvalidTexture/hipErrorUnknown")
ELF_MACHINE_AMDGPU, GFX90A = 0xE0, 0x3F   # e_machine; the low byte of e_flags


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Runtime:
    """One runtime with all it needs in a folder."""

    def __init__(self, folder, package, version):
        self.folder = folder
        self.major = int(package.rsplit("-", 1)[1])
        self.label = f"{package} {version}"
        self.findings = []

    def check(self, is_good, sentence):
        if not is_good:
            self.findings.append(f"{self.label}: {sentence}")

    def expect(self, facts, **expected):
        for key, value in expected.items():
            got = facts.get(key)
            wanted = None if value is None else str(value)
            self.check(got == wanted, f"{key} is {got}, not {wanted}")

    def run(self, program, *words, variables=None):
        """Runs our program with the runtime's own linker and libraries, ours after them; the
        runtime is named by LD_LIBRARY_PATH unless there are `variables`."""
        linker = self.folder / "usr/lib64/ld-linux-x86-64.so.2"
        folders = [self.folder / LIBRARIES, self.folder / "lib/x86_64-linux-gnu",
                   "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"]
        if not linker.exists():
            linker = self.folder / "lib64/ld-linux-x86-64.so.2"   # before the folders were merged
        # Compilers keep what they made below HOME.
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8",
                       "HOME": str(self.folder)}
        environment |= variables or {"LD_LIBRARY_PATH": str(self.folder / LIBRARIES)}
        paths = ":".join(map(str, folders))
        return subprocess.run([linker, "--library-path", paths, program, *words], text=True,
                              capture_output=True, check=False, env=environment,
                              stdin=subprocess.DEVNULL, timeout=120)

    def check_headers(self, compiler):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "hip_headers"
            done = subprocess.run(
                [*compiler, "-std=c++20", "-D__HIP_PLATFORM_AMD__",
                 "-D__HIP_DISABLE_CPP_FUNCTIONS__", "-isystem", self.folder / "usr/include",
                 "-I", TOP / "include", "-I", TOP / "src", "-I", TOP / "tests",
                 TOP / "tests/interop/hip_headers.cpp", "-o", program],
                text=True, capture_output=True, check=False)
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            self.check(done.returncode == 0, "headers differ: " + "; ".join(errors[:5]))
            if done.returncode == 0:
                code = subprocess.run([program], check=False).returncode
                self.check(code == 0, f"the contract test answers {code}")
            return done.returncode == 0

    def facts_of(self, program, *words):
        done = self.run(program, *words)
        self.check(done.returncode == 0 and done.stderr == "",
                   f"the report ends with {done.returncode} and says: {done.stderr.strip()}")
        return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    def report(self, program):
        """What the binding tells, checked against what HIP 5, 6 and 7 are known to do."""
        facts = self.facts_of(program)
        version = int(facts.get("version", 0))
        is_new = self.major >= 6
        self.check(facts.get("library", "").startswith(str(self.folder)),
                   f"bound {facts.get('library')}, not the one unpacked")
        self.check(version // 10000000 == self.major, f"its version is {version}")
        self.expect(
            facts, version_call=0, init=101 if version < 50300000 else 100, count_call=100,
            count=0, usable=0, device_count=0, names=0, threads=1, buffer_touched=0,
            error_names_different=NEWER_NAMES if self.major < 7 else "",
            runtime_version=f"{self.major}.{version // 100000 % 100}.{version % 100000}",
            hipGetDeviceProperties=1, hipGetDevicePropertiesR0600=int(is_new),
            hipGetDevicePropertiesR0000=int(is_new), bound_R0600=int(is_new), bound_R0000=1,
            hipLaunchHostFunc=int(version >= 50300000), hiprtcCompileProgram=int(self.major < 7))
        self.check(facts.get("malloc") in ("100", "101"), f"hipMalloc says {facts.get('malloc')}")
        self.check("reports no device" in facts.get("reason", ""), f"reason: {facts.get('reason')}")
        rtc = facts.get("rtc_path", "")
        wanted = r"libhiprtc\.so\." if is_new else r"lib(hiprtc|amdhip64)\.so\."
        self.check(rtc.startswith(str(self.folder)) and re.search(wanted + str(self.major), rtc),
                   f"hipRTC is {rtc} {facts.get('rtc_reason')}")
        return facts

    def check_mapped(self, program, facts):
        """A runtime that the process has is taken; the first hipInit of HIP 5 says 101."""
        mapped = self.facts_of(program, "mapped")
        self.expect(mapped, first_init=100 if self.major >= 6 else 101,
                    tried=f"{mapped.get('library')}: {mapped.get('reason')}")
        self.check(mapped.get("mapped") == mapped.get("library") == facts.get("library"),
                   f"bound {mapped.get('library')} though {mapped.get('mapped')} was there")
        return mapped.get("first_init")

    def check_devices(self, hiptool, facts):
        """The program tells what the binding does."""
        amd = self.devices_of(hiptool, None)
        for key in ("library", "runtime_version", "reason"):
            self.check(amd[key] == facts.get(key), f"hiptool says {key} is {amd[key]}")

    def check_places(self, hiptool, facts):
        """The runtime where AMD's wheels and conda put it, its dependencies where they were: how
        many places it was found in. PyPI has placeholders of those wheels only (2026-11)."""
        source = self.folder / LIBRARIES / f"libamdhip64.so.{self.major}"
        own = self.devices_of(hiptool, {"LC_ALL": "C"})["library"]
        if not own.startswith(str(self.folder)):
            return f"not looked at, {own} is installed here"
        found = 0
        for name, runtime, variables in (
                ("venv", WHEEL, lambda folder: {"VIRTUAL_ENV": str(folder)}),
                ("conda with wheels", WHEEL, lambda folder: {"CONDA_PREFIX": str(folder)}),
                ("conda", "lib", lambda folder: {"CONDA_PREFIX": str(folder)}),
                ("python3", WHEEL, lambda folder: {"PATH": f"{folder}/bin:/usr/bin"})):
            folder = self.folder / name
            (folder / "bin").mkdir(parents=True)
            (folder / "bin/python3").touch()   # located and never run
            (folder / runtime).mkdir(parents=True, exist_ok=True)
            library = folder / runtime / source.name
            shutil.copy(source, library)
            amd = self.devices_of(hiptool, variables(folder))
            self.check(amd["library"] == str(library), f"{name}: {amd['library']} was found")
            version = facts.get("runtime_version")
            self.check(amd["runtime_version"] == version,
                       f"{name}: its version is {amd['runtime_version']}, not {version}")
            self.check(f"{library} reports no device" in amd["reason"],
                       f"{name}: the reason is {amd['reason']}")
            found += amd["library"] == str(library)
            shutil.rmtree(folder)
        return f"found in {found} places of wheels and conda"

    def devices_of(self, hiptool, variables):
        done = self.run(hiptool, "devices", "--format", "json", variables=variables)
        self.check(done.returncode == 0 and done.stderr == "",
                   f"hiptool devices ends with {done.returncode} and says: {done.stderr.strip()}")
        return json.loads(done.stdout)["platforms"][0]

    def compile_kernels(self, hiptool):
        """Our own kernels with this hipRTC: how many became code objects. Some must be refused."""
        made = 0
        for source in SOURCES:
            output = self.folder / (source.stem + ".hsaco")
            done = self.run(hiptool, "compile-kernel", source, "--target", TARGET, "--out", output)
            data = output.read_bytes() if output.exists() else b""
            is_code = (data[:4] == b"\x7fELF" and data[18] == ELF_MACHINE_AMDGPU
                       and data[48] == GFX90A)
            is_right = is_as_expected(source.stem, done.returncode, done.stderr)
            self.check(is_right and is_code == (source.stem not in REFUSED),
                       f"{source.name}: exit {done.returncode}: {done.stderr.strip()}")
            made += is_code
        return made


def find_runtimes(mirror, cache):
    """(suite, package, version) of each release of the runtime, the same one only once."""
    seen = set()
    for name in SUITES:
        suite = Suite(mirror, name, cache)
        try:
            suite.update()
            for package in suite.names("libamdhip64-[0-9]+"):
                version = suite.version(package)
                upstream = version.rsplit("-", 1)[0]
                if version and upstream not in seen:
                    seen.add(upstream)
                    yield suite, package, version
        except Unreachable as error:
            print(f"{name}: not looked at: {error}")


def check_runtime(suite, package, version, programs, folder):
    hiptool, report, compiler = programs
    runtime = Runtime(pathlib.Path(folder), package, version)
    wanted = [package, "libc6"]
    wanted += suite.names(f"libhiprtc(-builtins)?{runtime.major}")
    suite.unpack(wanted, folder)
    has_headers = suite.version("libamdhip64-dev") == version
    if has_headers:
        suite.unpack_alone("libamdhip64-dev", version, folder)
        headers = "agree" if runtime.check_headers(compiler) else "DIFFER"
    else:
        headers = "not there for this one"
    facts = runtime.report(report)
    first_init = runtime.check_mapped(report, facts)
    runtime.check_devices(hiptool, facts)
    # AMD has no such packages of older releases.
    places = runtime.check_places(hiptool, facts) if runtime.major >= 6 else "not in wheels"
    compiled = runtime.compile_kernels(hiptool)
    layout = "R0600" if facts.get("bound_R0600") == "1" else "R0000"
    print(f"{runtime.label} ({suite.name}): version {facts.get('runtime_version')}, headers "
          f"{headers}, hipInit {first_init} then {facts.get('init')}, "
          f"count {facts.get('count_call')}, {layout}, "
          f"{facts.get('error_names_same')} error names, hipRTC in "
          f"{pathlib.Path(facts.get('rtc_path', '')).name}, {compiled} of {len(SOURCES)} kernels "
          f"for {TARGET}, {places}", flush=True)
    print(f"  {facts.get('reason')}")
    return runtime.findings


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    chosen = os.environ.get("HIPTOOL_REAL_RUNTIMES", "")
    if not chosen:
        skip("HIPTOOL_REAL_RUNTIMES is not set: a folder to keep 300 MB of packages in, or 1")
    if platform.machine() != "x86_64":
        skip("the folders and the dynamic linker that this test knows are those of x86_64")
    compiler = sys.argv[3:] or shlex.split(os.environ.get("CXX", "c++"))
    programs = (pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), compiler)
    findings, checked, missed = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="hiptool-runtimes-") as scratch:
        cache = pathlib.Path(scratch if chosen == "1" else chosen)
        try:
            mirror = find_mirror()
        except Unreachable as error:
            skip(str(error))
        for suite, package, version in find_runtimes(mirror, cache):
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                try:
                    findings += check_runtime(suite, package, version, programs, folder)
                    checked += 1
                except Unreachable as error:
                    missed += 1
                    print(f"{package} {version} ({suite.name}): not to be had: {error}")
    for finding in findings:
        print("WRONG: " + finding)
    print(f"{checked} runtimes checked, {missed} not to be had, {len(findings)} wrong")
    if checked == 0:
        skip("no runtime could be had")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
