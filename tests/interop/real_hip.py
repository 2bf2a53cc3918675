#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program over AMD's own HIP runtime, with a GPU that is real or emulated.

Usage: real_hip.py HIPTOOL CONFORMANCE SWEEP EVENT_ORDER [options], with HIPTOOL_REAL_HIP set:
the words before a command that run it with an AMD GPU ("" where this machine has one). The command
gets paths of this machine, below the build, the temporary folder and /usr.
  --json FILE     all cases (default: real-hip.json here)
  --groups LIST   only these, in their order
  --match REGEX   only cases whose name contains it; limits conformance, kernels, operations,
                  faults, check
  --limit S       seconds for a command (default 600)
  --tries N       a command that does not end is begun again, N times in all (default 1)
  --continue      what FILE has of an earlier run stays, and only the rest is run

What a command shows is a unit: a case, or the cases of a kernel or of an operation and type.

A case is right, wrong, or not possible there: what the runtime or the emulator lacks, or does not
answer in time (on a machine's own GPU that is wrong). The three are never added up.
"""
import argparse
import collections
import functools
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

RIGHT, WRONG, NOT_POSSIBLE = "right", "wrong", "not possible there"
TYPES = ("f32", "f16", "i32")
SMALL = "64KiB"
PROBE_MIB = "64"
# What runtimes and emulators say of what they lack.
IS_LACKING = re.compile(r"not supported|unsupported|not implemented|unimplemented|unhandled|"
                        r"hipErrorNotSupported|unknown (instruction|opcode|packet)", re.IGNORECASE)

Done = collections.namedtuple("Done", "code out err document")
Case = collections.namedtuple("Case", "group unit name status message time_s")
NO_END = "no end within"
OTHER_BITS = "within its bound; other bits than the cpu's"


def document_in(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


class Machine:
    """Runs programs with the GPU."""

    def __init__(self, prefix, programs, limit_s):
        self.prefix = prefix
        self.hiptool, self.conformance, self.sweep, self.probe = programs
        self.limit_s = limit_s
        self.library = ""
        self.device = ""
        self.told = {}   # what a run's file says of the machine

    def run(self, *words):
        return self.finish([*self.prefix, *map(str, words)])

    def finish(self, command):
        """None as code: it did not end in time, and is killed with all that the prefix started."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=self.limit_s)
            except subprocess.TimeoutExpired as error:
                return Done(None, "", (error.stderr or b"").decode(errors="replace"), None)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return Done(process.returncode, out, err, document_in(out))

    def tool(self, *words):
        return self.run(self.hiptool, *words, "--format", "json")

    def on_device(self, *words):
        return self.tool(*words, "--device", self.device)

    def on_cpu(self, *words):
        """The same on this machine's processor, without the prefix."""
        return self.finish([str(self.hiptool), *map(str, words), "--device", "cpu", "--format",
                            "json"])

    def test(self, program, *words):
        return self.run(program, *words, "--platform=amd", "--library=" + self.library)

    def lacks(self, done):
        """Why a command could not be made to work there; None: it ended by itself."""
        if done.code is None:
            status = NOT_POSSIBLE if self.prefix else WRONG
            return status, f"{NO_END} {self.limit_s:.0f} s: {last_line(done.err)}"
        if done.document is None and (done.code < 0 or done.code > 128):
            status = NOT_POSSIBLE if IS_LACKING.search(done.err) else WRONG
            return status, f"killed, exit code {done.code}: {last_line(done.err)}"
        return None


class Suite:
    """Groups of units: generators of a unit's name and a function whose results are its cases,
    each (name, status, message)."""

    def __init__(self, machine, folder, match):
        self.machine = machine
        self.folder = pathlib.Path(folder)
        self.match = re.compile(match)
        self.groups = {"events": self.events, "devices": self.devices, "doctor": self.doctor,
                       "load": self.load, "copies": self.copies, "failures": self.failures,
                       "prove": self.prove, "kernels": self.kernels,
                       "conformance": self.conformance, "operations": self.operations,
                       "faults": self.faults, "check": self.check}

    def one(self, name, is_right, command, *words):
        """A unit of one command that writes a document."""
        return name, lambda: [self.judge(name, command(*words), is_right)]

    def judge(self, name, done, is_right):
        """One case of a command that writes a document."""
        lacking = self.machine.lacks(done)
        if lacking:
            return (name, *lacking)
        if done.document is None:
            return name, WRONG, f"exit code {done.code}, no document: {last_line(done.err)}"
        error = done.document.get("error") or {}
        said = " ".join(str(error.get(key) or "") for key in ("message", "native"))
        if is_right(done):
            return name, RIGHT, ""
        is_lacking = done.code == 6 and IS_LACKING.search(said)
        first = (done.document.get("shown") or {}).get("lines") or [{}]
        why = said.strip() or first[0].get("text") or last_line(done.err)
        return name, NOT_POSSIBLE if is_lacking else WRONG, f"exit code {done.code}: {why}"

    def parts(self, name, done, key):
        """A case for each measurement of a document."""
        results = (done.document or {}).get(key) or []
        if self.machine.lacks(done) or not results:
            yield self.judge(name, done, lambda _: False)
        for result in results:
            status = {"ok": RIGHT, "skipped": NOT_POSSIBLE}.get(result["status"], WRONG)
            reason = result.get("reason") or ""
            if status == WRONG and result["status"] == "failed" and IS_LACKING.search(reason):
                status = NOT_POSSIBLE
            wrong = result.get("wrong")
            yield result["id"], status, (reason or str(wrong)) if status != RIGHT else ""

    def events(self):
        def run():
            done = self.machine.run(self.machine.probe, self.machine.library, PROBE_MIB)
            status = {0: RIGHT, 1: WRONG, 77: NOT_POSSIBLE}.get(done.code, WRONG)
            message = "" if status == RIGHT else last_line(done.out + done.err)
            yield ("plain HIP, without hiptool",
                   *(self.machine.lacks(done) or (status, message)))
        yield "events", run

    def devices(self):
        def is_right(done):
            found = [device for device in done.document["devices"] if device["platform"] == "amd"]
            return found and all(
                device["arch"].startswith("gfx") and device["memory_total_bytes"] > 0
                and device["warp_size"] in (32, 64) and device["kernel_image"] for device in found)
        yield self.one("devices", is_right, self.machine.tool, "devices")
        yield self.one("devices " + self.machine.device, is_right, self.machine.tool, "devices",
                       self.machine.device)

    def doctor(self):
        yield self.one("devices --doctor", lambda done: len(done.document["checks"]) > 10,
                       self.machine.tool, "devices", "--doctor")

    def make(self, name, *words):
        path = self.folder / name
        done = self.machine.finish([str(self.machine.hiptool), "make-model", str(path), *words])
        if done.code != 0:
            sys.exit(f"{name} was not made: {done.err}")
        return path

    def load(self):
        model = self.make("model.gguf", "--size", "1MiB", "--dtype", "F16,F32,Q8_0,Q4_K")
        expected = self.machine.on_cpu("load", model).document["verify"]["digest"]

        def ends_with(status, has_digest=False):
            return lambda done: (done.document["status"] == status and
                                 (not has_digest or
                                  done.document["verify"]["digest"] == expected))
        for mode, is_right in (("full", ends_with("verified", True)),
                               ("fast", ends_with("verified")),
                               ("readback", ends_with("verified", True)),
                               ("none", ends_with("loaded"))):
            yield self.one("load --verify " + mode, is_right, self.machine.on_device, "load",
                           model, "--verify", mode)
        yield self.one("load --self-test",
                       lambda done: ends_with("verified")(done) and
                       all(fault["caught"] for fault in done.document["self_test"]),
                       self.machine.on_device, "load", model, "--self-test")

    def copies(self):
        def run(engine, kind):
            done = self.machine.on_device("bench-copy", "--kind", kind, "--engine", engine,
                                          "--size", "1MiB", "--samples", "9")
            return self.parts(f"bench-copy --engine {engine} --kind {kind}", done, "measurements")
        for engine in ("copy", "kernel"):
            for kind in ("h2d", "d2h", "d2d", "bidir"):
                yield f"{engine}, {kind}", functools.partial(run, engine, kind)

    def failures(self):
        """One failing call of each kind: its exit code and the kind of its error."""
        text = self.folder / "text.hsaco"
        text.write_text("no code object\n", encoding="utf-8")
        cut = self.folder / "cut.gguf"
        cut.write_bytes(self.make("whole.gguf", "--size", "1MiB").read_bytes()[:100_000])
        big = self.make("small.gguf", "--size", "1MiB")
        expected = [
            ("a device that is not there", 3, "unavailable", ["devices", "amd:999"]),
            ("an unknown kernel", 2, None, ["run-kernel", "no-such-kernel"]),
            ("more memory than there is", 3, "out_of_memory",
             ["run-kernel", "stream-copy", "--size", "16TiB"]),
            ("a file that is no code object", 4, "input_failed",
             ["run-kernel", "--module", text, "--name", "a", "--grid", "1", "--block", "1"]),
            ("a truncated model", 4, "corrupt_data", ["load", cut]),
            ("a wrong hash", 4, "manifest_mismatch", ["load", big, "--sha256", "0" * 64]),
        ]

        def is_right(code, kind, done):
            error = done.document.get("error") or {}
            return done.code == code and kind in (None, error.get("code"))
        for name, code, kind, words in expected:
            command = self.machine.tool if words[0] == "devices" else self.machine.on_device
            yield self.one(name, functools.partial(is_right, code, kind), command, *words)

    def prove(self):
        model = self.make("llama.gguf", "--architecture", "llama")
        yield self.one("load --prove", lambda done: done.document["status"] == "proved",
                       self.machine.on_device, "load", model, "--prove")

    def names(self, key):
        listed = self.machine.finish([str(self.machine.hiptool), "run-kernel", "--list", "--format",
                                      "json"]).document
        return [entry["name"] for entry in listed[key] if self.match.search(entry["name"])]

    def kernels(self):
        def run(name):
            done = self.machine.on_device("run-kernel", name, "--size", SMALL, "--samples", "1")
            return self.parts(name, done, "measurements")
        for name in self.names("kernels"):
            yield name, functools.partial(run, name)

    def operations(self):
        for name in self.names("operations"):
            for dtype in TYPES:
                yield f"{name}.{dtype}", functools.partial(self.operation, name, dtype)

    def operation(self, name, dtype):
        """Right is decided by hiptool's own references; the digest is compared with the cpu's."""
        words = ("run-kernel", name, "--sweep", "quick", "--dtype", dtype)
        done = self.machine.on_device(*words)
        if done.code == 2:
            return   # it does not have the type
        on_cpu = self.machine.on_cpu(*words).document or {}
        digests = {result["id"].split("@")[0]: result["details"]["digest"]
                   for result in on_cpu.get("measurements", [])}
        own = {result["id"]: result["details"]["digest"]
               for result in (done.document or {}).get("measurements", [])}
        for case, status, message in self.parts(f"{name}.{dtype}", done, "measurements"):
            if status == RIGHT and own[case] != digests.get(case.split("@")[0]):
                message = OTHER_BITS
            yield case, status, message

    def conformance(self):
        listed = self.machine.test(self.machine.conformance, "--list-test-cases")
        names = [line for line in listed.out.splitlines() if re.match(r"[a-z ]+: ", line)]
        if not names:
            missing = ("list of cases", WRONG, last_line(listed.out + listed.err))
            yield "list of cases", lambda: [missing]
        for name in filter(self.match.search, names):
            yield name, functools.partial(self.conformance_case, name)

    def conformance_case(self, name):
        done = self.machine.test(self.machine.conformance,
                                 "--test-case=" + name.replace(",", "\\,"))
        lacking = self.machine.lacks(done)
        skipped = re.search(r"^skipped case: .*?: (.*)$", done.out, re.MULTILINE)
        failed = re.search(r"ERROR: (.*(?:\n.+){0,3})", done.out)
        said = re.sub(r"\s+", " ", failed.group(1)) if failed else last_line(done.err)
        if lacking:
            yield (name, *lacking)
        elif done.code == 0 and skipped:
            yield name, NOT_POSSIBLE, skipped.group(1)
        elif done.code == 0 and "test cases: 1 | 1 passed" in re.sub(r" +", " ", done.out):
            yield name, RIGHT, ""
        else:
            yield (name, NOT_POSSIBLE if IS_LACKING.search(done.out) else WRONG,
                   f"exit code {done.code}: {said}")

    def faults(self):
        """Every call of a scenario fails once, by a table between hiptool and the runtime."""
        listed = self.machine.test(self.machine.conformance, "--list-test-cases").out
        for name in re.findall(r"^scenario: (.*)$", listed, re.MULTILINE):
            if self.match.search(name):
                yield name, functools.partial(self.scenario, name)

    def scenario(self, name):
        done = self.machine.test(self.machine.sweep, "faults", "--scenario=" + name)
        lacking = self.machine.lacks(done)
        yield (name, *(lacking or ((RIGHT, "") if done.code == 0 else
                                   (WRONG, last_line(done.out + done.err)))))

    def check(self):
        def run(stage):
            # The stage model has neither level nor size.
            amount = [] if stage == "model" else ["--level", "quick", "--size", SMALL]
            done = self.machine.on_device("check", "--stage", stage, *amount, "--timeout", "300")
            stages = (done.document or {}).get("stages") or []
            if self.machine.lacks(done) or not stages:
                yield self.judge("check: " + stage, done, lambda _: False)
            for found in stages:
                status = {"passed": RIGHT, "skipped": NOT_POSSIBLE}.get(found["status"], WRONG)
                yield "check: " + found["stage"], status, found["reason"] or ""
        for stage in filter(self.match.search, ("copy", "memory", "kernels", "model")):
            yield stage, functools.partial(run, stage)


def find_device(machine):
    """The first AMD GPU; the reason why there is none."""
    done = machine.tool("devices")
    if done.document is None:
        return f"`devices` ended with {done.code}: {last_line(done.err)}"
    amd = [device for device in done.document.get("devices", []) if device["platform"] == "amd"]
    platform = [entry for entry in done.document.get("platforms", []) if entry["platform"] == "amd"]
    if not amd:
        return f"no AMD GPU: {platform[0]['reason'] if platform else last_line(done.err)}"
    machine.device, machine.library = amd[0]["id"], platform[0]["library"]
    machine.told = {"device": machine.device, "name": amd[0]["name"], "arch": amd[0]["arch"],
                    "hip": platform[0]["runtime_version"], "library": machine.library,
                    "tool": done.document["tool"]}
    print(f"{amd[0]['id']}: {amd[0]['name']}, {amd[0]['arch']}, HIP "
          f"{platform[0]['runtime_version']} of {machine.library}", flush=True)
    return None


def print_table(cases):
    print(f"{'group':<12} {RIGHT:>6} {WRONG:>6}  {NOT_POSSIBLE}")
    for group in dict.fromkeys(case.group for case in cases):
        count = collections.Counter(case.status for case in cases if case.group == group)
        print(f"{group:<12} {count[RIGHT]:>6} {count[WRONG]:>6}  {count[NOT_POSSIBLE]}")
    for case in cases:
        if case.group == "events" and case.status != RIGHT:
            print("The runtime or the emulator orders events wrongly without hiptool: wrong "
                  "cases may be its fault.")


def has_no_end(case):
    return case.message.startswith(NO_END)


def run_unit(group, unit, run, tries):
    """A unit's cases; what ends at a later try says so."""
    cases = []
    for attempt in range(1, tries + 1):
        cases, started = [], time.monotonic()
        for name, status, message in run():
            if status == RIGHT and attempt > 1:
                message = f"{message}; " if message else ""
                message += f"try {attempt}, those before did not end"
            cases.append(Case(group, unit, name, status, message, time.monotonic() - started))
            started = time.monotonic()
        if not any(has_no_end(case) for case in cases):
            break
    return cases


def run_suite(suite, groups, path, tries, kept):
    """All cases; the units of `kept` that ended are not run."""
    units, cases = [], []

    def note(group, unit, found):
        units.append([group, unit])
        cases.extend(found)
        for case in found:
            if case.status != RIGHT or case.message:
                print(f"{case.status}: {case.group}: {case.name}: {case.message}", flush=True)

    def write():
        """After every unit, so that an interrupted run leaves what it found."""
        others = {key: found for key, found in kept.items() if list(key) not in units}
        path.write_text(json.dumps(
            {**suite.machine.told, "units": units + [list(key) for key in others],
             "cases": [case._asdict() for case in sum(others.values(), cases)]}, indent=1) + "\n",
            encoding="utf-8")

    for group in groups:
        for unit, run in suite.groups[group]():
            found = kept.get((group, unit))
            if found is None or any(map(has_no_end, found)):
                found = run_unit(group, unit, run, tries)
            note(group, unit, found)
            write()
    return cases


def read_earlier(path, told):
    """The units of an earlier run on such a machine, each with its cases."""
    if not path.exists():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    for key in ("arch", "hip"):
        if document.get(key) != told[key]:
            sys.exit(f"{path} is of {document.get(key)}, not of {told[key]}")
    kept = {tuple(unit): [] for unit in document["units"]}
    for case in document["cases"]:
        kept[case["group"], case["unit"]].append(Case(**case))
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=4, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, default="real-hip.json")
    parser.add_argument("--groups", default="")
    parser.add_argument("--match", default="")
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--continue", action="store_true", dest="is_continued")
    options = parser.parse_args()
    words = os.environ.get("HIPTOOL_REAL_HIP")
    if words is None:
        print("skipped: HIPTOOL_REAL_HIP is not set: the words that run a program with an AMD GPU")
        sys.exit(77)
    programs = [program.resolve() for program in options.programs]
    machine = Machine(shlex.split(words), programs, options.limit)
    missing = find_device(machine)
    if missing:
        sys.exit(missing)
    with tempfile.TemporaryDirectory(prefix="hiptool-real-hip-") as folder:
        suite = Suite(machine, folder, options.match)
        groups = options.groups.split(",") if options.groups else list(suite.groups)
        unknown = [group for group in groups if group not in suite.groups]
        if unknown:
            parser.error(f"unknown group {unknown[0]}; there are: {', '.join(suite.groups)}")
        kept = read_earlier(options.json, machine.told) if options.is_continued else {}
        cases = run_suite(suite, groups, options.json, options.tries, kept)
    print_table(cases)
    sys.exit(1 if any(case.status == WRONG for case in cases) else 0)


if __name__ == "__main__":
    main()
