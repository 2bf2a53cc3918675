#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program over AMD's own HIP runtime, with a GPU that is real or emulated.

Usage: real_hip.py HIPTOOL CONFORMANCE SWEEP EVENT_ORDER [options], with HIPTOOL_REAL_HIP set:
the words before a command that run it with an AMD GPU ("" where this machine has one). The command
gets paths of this machine, below the build, the temporary folder and /usr.
  --json FILE     all cases (default: real-hip.json here)
  --groups LIST   only these, in their order
  --match REGEX   only cases whose name contains it; limits conformance, kernels, operations, faults
  --limit S       seconds for a command (default 600)

A case is right, wrong, or not possible there: what the runtime or the emulator lacks, or does not
answer in time (on a machine's own GPU that is wrong). The three are never added up.
"""
import argparse
import collections
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
TYPES = "f32,f16,i32"
SMALL = "64KiB"
PROBE_MIB = "64"
# What runtimes and emulators say of what they lack.
IS_LACKING = re.compile(r"not supported|unsupported|not implemented|unimplemented|unhandled|"
                        r"hipErrorNotSupported|unknown (instruction|opcode|packet)", re.IGNORECASE)

Done = collections.namedtuple("Done", "code out err document")
Case = collections.namedtuple("Case", "group name status message time_s")


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
            return status, f"no end within {self.limit_s:.0f} s: {last_line(done.err)}"
        if done.document is None and (done.code < 0 or done.code > 128):
            status = NOT_POSSIBLE if IS_LACKING.search(done.err) else WRONG
            return status, f"killed, exit code {done.code}: {last_line(done.err)}"
        return None


class Suite:
    """The cases, each a generator of (name, status, message)."""

    def __init__(self, machine, folder, match):
        self.machine = machine
        self.folder = pathlib.Path(folder)
        self.match = re.compile(match)
        self.groups = {"events": self.events, "devices": self.devices, "doctor": self.doctor,
                       "load": self.load, "copies": self.copies, "failures": self.failures,
                       "prove": self.prove, "kernels": self.kernels,
                       "conformance": self.conformance, "operations": self.operations,
                       "faults": self.faults, "check": self.check}

    def judge(self, name, done, is_right):
        """One case of a command that writes a document."""
        lacking = self.machine.lacks(done)
        if lacking:
            return (name, *lacking)
        if done.document is None:
            return name, WRONG, f"exit code {done.code}, no document: {last_line(done.err)}"
        error = done.document.get("error") or {}
        said = " ".join(str(error.get(key) or "") for key in ("message", "native"))
        if is_right(done.document):
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
        done = self.machine.run(self.machine.probe, self.machine.library, PROBE_MIB)
        status = {0: RIGHT, 1: WRONG, 77: NOT_POSSIBLE}.get(done.code, WRONG)
        lacking = self.machine.lacks(done)
        yield ("plain HIP, without hiptool",
               *(lacking or (status, "" if status == RIGHT else last_line(done.out + done.err))))

    def devices(self):
        def is_right(document):
            found = [device for device in document["devices"] if device["platform"] == "amd"]
            return found and all(
                device["arch"].startswith("gfx") and device["memory_total_bytes"] > 0
                and device["warp_size"] in (32, 64) and device["kernel_image"] for device in found)
        yield self.judge("devices", self.machine.tool("devices"), is_right)
        yield self.judge("devices " + self.machine.device,
                         self.machine.tool("devices", self.machine.device), is_right)

    def doctor(self):
        yield self.judge("devices --doctor", self.machine.tool("devices", "--doctor"),
                         lambda document: len(document["checks"]) > 10)

    def make(self, name, *words):
        path = self.folder / name
        done = self.machine.finish([str(self.machine.hiptool), "make-model", str(path), *words])
        if done.code != 0:
            sys.exit(f"{name} was not made: {done.err}")
        return path

    def load(self):
        model = self.make("model.gguf", "--size", "1MiB", "--dtype", "F16,F32,Q8_0,Q4_K")
        expected = self.machine.on_cpu("load", model).document["verify"]["digest"]
        for mode in ("full", "fast", "readback"):
            def is_right(document):
                return (document["status"] == "verified"
                        and (mode == "fast" or document["verify"]["digest"] == expected))
            done = self.machine.on_device("load", model, "--verify", mode)
            yield self.judge("load --verify " + mode, done, is_right)
        yield self.judge("load --verify none",
                         self.machine.on_device("load", model, "--verify", "none"),
                         lambda document: document["status"] == "loaded")
        yield self.judge("load --self-test",
                         self.machine.on_device("load", model, "--self-test"),
                         lambda document: document["status"] == "verified" and
                         all(fault["caught"] for fault in document["self_test"]))

    def copies(self):
        for engine in ("copy", "kernel"):
            done = self.machine.on_device("bench-copy", "--kind", "h2d,d2h,d2d,bidir", "--engine",
                                          engine, "--size", "1MiB", "--samples", "9")
            yield from self.parts("bench-copy --engine " + engine, done, "measurements")

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
        for name, code, kind, words in expected:
            done = (self.machine.tool if words[0] == "devices" else self.machine.on_device)(*words)

            def is_right(document):
                error = document.get("error") or {}
                return done.code == code and kind in (None, error.get("code"))
            yield self.judge(name, done, is_right)

    def prove(self):
        model = self.make("llama.gguf", "--architecture", "llama")
        yield self.judge("load --prove", self.machine.on_device("load", model, "--prove"),
                         lambda document: document["status"] == "proved")

    def names(self, key):
        listed = self.machine.finish([str(self.machine.hiptool), "run-kernel", "--list", "--format",
                                      "json"]).document
        return [entry["name"] for entry in listed[key] if self.match.search(entry["name"])]

    def kernels(self):
        for name in self.names("kernels"):
            done = self.machine.on_device("run-kernel", name, "--size", SMALL, "--samples", "1")
            yield from self.parts(name, done, "measurements")

    def operations(self):
        """Right is decided by hiptool's own references; the digest is compared with the cpu's."""
        for name in self.names("operations"):
            words = ("run-kernel", name, "--sweep", "quick", "--dtype", TYPES)
            done = self.machine.on_device(*words)
            if done.code == 2:
                continue   # it has none of the types
            on_cpu = self.machine.on_cpu(*words).document or {}
            digests = {result["id"].split("@")[0]: result["details"]["digest"]
                       for result in on_cpu.get("measurements", [])}
            own = {result["id"]: result["details"]["digest"]
                   for result in (done.document or {}).get("measurements", [])}
            for case, status, message in self.parts(name, done, "measurements"):
                if status == RIGHT and own[case] != digests.get(case.split("@")[0]):
                    message = "within its bound; other bits than the cpu's"
                yield case, status, message

    def conformance(self):
        listed = self.machine.test(self.machine.conformance, "--list-test-cases")
        names = [line for line in listed.out.splitlines() if re.match(r"[a-z ]+: ", line)]
        if not names:
            yield "list of cases", WRONG, last_line(listed.out + listed.err)
        for name in filter(self.match.search, names):
            escaped = name.replace(",", "\\,")
            done = self.machine.test(self.machine.conformance, "--test-case=" + escaped)
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
            if not self.match.search(name):
                continue
            done = self.machine.test(self.machine.sweep, "faults", "--scenario=" + name)
            lacking = self.machine.lacks(done)
            yield (name, *(lacking or ((RIGHT, "") if done.code == 0 else
                                       (WRONG, last_line(done.out + done.err)))))

    def check(self):
        done = self.machine.on_device("check", "--level", "quick", "--size", SMALL, "--stage",
                                      "copy,memory,kernels,model", "--timeout", "300")
        stages = (done.document or {}).get("stages") or []
        if self.machine.lacks(done) or not stages:
            yield self.judge("check", done, lambda _: False)
        for stage in stages:
            status = {"passed": RIGHT, "skipped": NOT_POSSIBLE}.get(stage["status"], WRONG)
            yield "check: " + stage["stage"], status, stage["reason"] or ""


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


def run_suite(suite, groups, path):
    cases = []
    for group in groups:
        started = time.monotonic()
        for name, status, message in suite.groups[group]():
            cases.append(Case(group, name, status, message, time.monotonic() - started))
            started = time.monotonic()
            if status != RIGHT or message:
                print(f"{status}: {group}: {name}: {message}", flush=True)
            # After every case, so that an interrupted run leaves what it found.
            path.write_text(json.dumps({"device": suite.machine.device,
                                        "library": suite.machine.library,
                                        "cases": [case._asdict() for case in cases]}, indent=1) +
                            "\n", encoding="utf-8")
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=4, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, default="real-hip.json")
    parser.add_argument("--groups", default="")
    parser.add_argument("--match", default="")
    parser.add_argument("--limit", type=float, default=600)
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
        cases = run_suite(suite, groups, options.json)
    print_table(cases)
    sys.exit(1 if any(case.status == WRONG for case in cases) else 0)


if __name__ == "__main__":
    main()
