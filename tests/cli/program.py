# SPDX-License-Identifier: MIT
"""Helpers of the command line tests: run the program as a user or a script would."""
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import unittest.mock

TESTS = pathlib.Path(__file__).resolve().parent.parent
SCHEMAS = TESTS / "schema"
sys.path[1:1] = [str(TESTS), str(SCHEMAS)]
import cases     # noqa: E402  (in the folders named above)
import validate  # noqa: E402

PROGRAM = ""
DRIVERS = r"libcuda|libamdhip64"
GUARD_S = 100   # ends a test that hangs, reports it, and judges nothing else


def is_sanitized(*names):
    """Whether the program was built with one of these sanitizers, "asan" and "tsan", or with any:
    they take memory and time of their own."""
    data = pathlib.Path(PROGRAM).read_bytes()
    return any(f"__{name}_init".encode() in data for name in names or ("asan", "tsan"))


def has_gpu_on_the_bus():
    """Whether this machine has a GPU of AMD or NVIDIA, which no variable hides from hiptool."""
    for device in pathlib.Path("/sys/bus/pci/devices").glob("*"):
        try:
            vendor = (device / "vendor").read_text(encoding="ascii").strip()
            kind = (device / "class").read_text(encoding="ascii")
        except OSError:
            continue
        if vendor in ("0x1002", "0x10de") and kind.startswith(("0x03", "0x1200")):
            return True
    return False


def clean_environment(**more):
    """The environment of a test, without the variables of the user who runs it; UTF-8."""
    names = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
             "LSAN_OPTIONS")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}


def on_80_columns(environment):
    """Results in a pipe are as wide as they need; most tests look at 80 columns. COLUMNS="" is the
    pipe as it is."""
    return {"COLUMNS": "80", **(environment or clean_environment())}


def check_exit_code(result):
    """A document on standard output holds the exit code of the process that wrote it."""
    if result.args[1:3] == ["report", "render"] or not (result.stdout or "").startswith("{"):
        return   # a rendered document is that of another run
    try:
        document = json.loads(result.stdout)
    except ValueError:
        return
    if not str(document.get("schema")).startswith("hiptool.") or "exit_code" not in document:
        return   # the schema of the command demands it
    assert document["exit_code"] == result.returncode, (document["exit_code"], result)
    assert document["passed"] == (result.returncode == 0), (document["passed"], result)


def run(*words, environment=None, **options):
    """The finished process; stdout and stderr as text unless given."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("timeout", 120)
    result = subprocess.run([PROGRAM, *words], env=on_80_columns(environment),
                            stdin=subprocess.DEVNULL, text=True, encoding="utf-8", check=False,
                            **options)
    check_exit_code(result)
    return result


class Process(subprocess.Popen):
    """A process that a test which fails ends, and does not wait for."""

    def __exit__(self, kind, *more):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *more)


def start(*words, environment=None, **options):
    """The program with pipes for its outputs, with signals as a terminal would send them."""
    for name in ("stdout", "stderr"):
        options.setdefault(name, subprocess.PIPE)
    return Process([PROGRAM, *words], env=on_80_columns(environment),
                   preexec_fn=default_signals, stdin=subprocess.DEVNULL, text=True,
                   encoding="utf-8", **options)


def wait_until(happened, what):
    """Waits for what sends no event, such as a file, and returns it."""
    end = time.monotonic() + GUARD_S
    while not (found := happened()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not after {GUARD_S} s")
        time.sleep(0.01)
    return found


def state_of(process_id):
    """The letter of its main thread's state; none if there is no such process."""
    try:
        stat = pathlib.Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


def wait_until_asleep(process, path=None):
    """Until the program waits; with a path, for what another process does with that open file."""
    def is_waiting():
        assert process.poll() is None, process.communicate()
        try:
            files = [os.readlink(file) for file in
                     pathlib.Path(f"/proc/{process.pid}/fd").iterdir()]
        except FileNotFoundError:   # closed meanwhile
            return False
        return (path is None or str(path) in files) and state_of(process.pid) == "S"
    wait_until(is_waiting, "a program that waits")


def read_until(file, text):
    """What a pipe or a terminal gives until it contains `text`. Nobody else may have read it."""
    found = b""
    while text.encode() not in found:
        if not select.select([file], [], [], GUARD_S)[0]:
            raise AssertionError(f"no {text!r} after {GUARD_S} s: {found}")
        part = os.read(file.fileno() if hasattr(file, "fileno") else file, 65536)
        if not part:
            raise AssertionError(f"the end, and no {text!r}: {found}")
        found += part
    return found.decode("utf-8", "replace")


class Hold:
    """A call of the fake CUDA driver that does not return until release(), so that an event comes
    for certain while the program is in it; `call` as in tests/fakes/cuda/hold.hpp."""

    def __init__(self, folder, call):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hold-", dir=folder))
        self.variables = {"FAKE_CUDA_HOLD": call, "FAKE_CUDA_HOLD_FOLDER": str(folder)}
        for name in ("reached", "go"):
            os.mkfifo(folder / name)
        self.reached = open(folder / "reached", "r+b", buffering=0)
        self.go = open(folder / "go", "r+b", buffering=0)

    def close(self):
        self.reached.close()
        self.go.close()

    def wait(self, process):
        """Until the program is in the call."""
        end = time.monotonic() + GUARD_S
        while not select.select([self.reached], [], [], 0.1)[0]:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()   # or its output would be waited for without end
                raise AssertionError(f"the call was not made: {process.communicate()}")
        self.reached.read(1)

    def release(self):
        self.go.write(b"\0")

    def calls_after(self):
        """How many calls of the kind followed the one that was held."""
        os.set_blocking(self.reached.fileno(), False)
        return len(self.reached.read(65536) or b"")


def interrupt(*words, hold, environment=None, number=signal.SIGINT):
    """The finished process, which got a signal while the fake driver held it."""
    process = start(*words, environment={**(environment or clean_environment()), **hold.variables})
    hold.wait(process)
    process.send_signal(number)
    errors = read_until(process.stderr, "interrupted, stopping")   # the signal was handled
    hold.release()
    out, rest = process.communicate(timeout=GUARD_S)
    result = subprocess.CompletedProcess(process.args, process.returncode, out, errors + rest)
    check_exit_code(result)
    return result


def handles(process, number):
    assert process.poll() is None, process.communicate()
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1


def interrupt_computing(*words, cpu_s, loads=True):
    """The finished process, which got Ctrl-C when it had computed for so long, after it had loaded
    its model if it does. It must have much more to compute."""
    def computed_s():
        assert process.poll() is None, process.communicate()
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    process = start(*words)
    wait_until(lambda: handles(process, signal.SIGINT), "the handler")
    if loads:
        read_until(process.stderr, "load: ")
    end_s = computed_s() + cpu_s
    wait_until(lambda: computed_s() >= end_s, "the work")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=GUARD_S)
    result = subprocess.CompletedProcess(process.args, process.returncode, out, errors)
    check_exit_code(result)
    return result


def second_signal(process, number):
    """Ends a process that has handled a first signal. Those within 50 ms of the first are taken for
    the same one, so it gets more."""
    def is_gone():
        process.send_signal(number)
        return process.poll() is not None
    wait_until(is_gone, "the end")


class Rest(threading.Thread):
    """Reads a pipe to its end; join() gives what came."""

    def __init__(self, reader):
        super().__init__(daemon=True)
        self.reader, self.data = reader, b""

    def run(self):
        while part := os.read(self.reader, 65536):
            self.data += part
        os.close(self.reader)

    def join(self, timeout=None):
        super().join(timeout)
        return self.data.decode("utf-8", "replace")


class LockStep:
    """A pipe that holds one write, for standard error: a program that writes lines stays before the
    one that follows the line at which read_until() stops."""

    def __init__(self):
        self.reader, self.writer = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 4096)

    def read_until(self, text):
        """Leaves the line with that text in the pipe, and gives those before it. Closes this
        process's end for writing, so call it after the program was started."""
        os.close(self.writer)
        copies, copy = os.pipe()
        before = ""
        try:
            while True:
                assert select.select([self.reader], [], [], GUARD_S)[0], f"no {text!r}: {before}"
                size = ctypes.CDLL(None).tee(self.reader, copy, 4096, 0)
                assert size > 0, f"the end, and no {text!r}: {before}"
                if text.encode() in os.read(copies, size):
                    return before
                before += os.read(self.reader, 4096).decode("utf-8", "replace")
        finally:
            os.close(copies)
            os.close(copy)

    def rest(self):
        rest = Rest(self.reader)
        rest.start()
        return rest


def libraries_looked_for(*words):
    """The dynamic loader's log of its searches while the program runs."""
    with tempfile.TemporaryDirectory(prefix="hiptool-cli-") as folder:
        run(*words, environment=clean_environment(LD_DEBUG="libs", LD_DEBUG_OUTPUT=f"{folder}/log"))
        logs = list(pathlib.Path(folder).iterdir())
        assert logs, "the dynamic loader wrote nothing"
        return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)


def start_on_terminal(*words, columns=80, environment=None):
    """The program with all three streams on a terminal, and the descriptor that reads them."""
    try:
        leader, follower = pty.openpty()
    except OSError as error:   # a container without /dev/pts
        raise unittest.SkipTest(f"no pseudo-terminal available: {error}") from error
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *words], stdin=follower, stdout=follower,
                               stderr=follower, env=environment or clean_environment())
    os.close(follower)
    return process, leader


def run_on_terminal(*words, columns=80, **variables):
    """Exit code and everything written, with all three streams on a terminal."""
    process, leader = start_on_terminal(*words, columns=columns,
                                        environment=clean_environment(**variables))
    return end_on_terminal(process, leader)


def end_on_terminal(process, leader):
    """Exit code, and what was not read yet, of a program that start_on_terminal() started."""
    output = b""
    while select.select([leader], [], [], 120)[0]:
        try:
            part = os.read(leader, 65536)
        except OSError:   # the program closed its end
            break
        if not part:
            break
        output += part
    os.close(leader)
    return process.wait(timeout=120), output


def default_signals():
    """Restores signals, which background jobs and nohup start with ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def compile_once(test):
    """Puts a C++ compiler before the others that compiles a text once: the next run of the program
    with the same kernels gets the same library."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    tools = test.folder / "compile-once"
    tools.mkdir()
    (tools / "c++").write_text(f"""#!/bin/sh
for word; do library=$text; text=$word; done   # the last two
kept={tools}/$(sha256sum <"$text" | cut -c1-64)
[ -f "$kept" ] && exec cp "$kept" "$library"
{compiler} "$@" || exit
cp "$library" "$kept"
""", encoding="utf-8")
    (tools / "c++").chmod(0o755)
    paths = unittest.mock.patch.dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    paths.start()
    test.addCleanup(paths.stop)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hiptool-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def hold(self, call):
        hold = Hold(self.folder, call)
        self.addCleanup(hold.close)
        return hold

    def interrupt(self, call, *words, **more):
        return interrupt(*words, hold=self.hold(call), **more)

    def assert_document(self, text, schema):
        """Exactly one document, valid for its schema (a file below tests/schema). Its measurements
        have their details beside the fields that all have."""
        document, errors = validate.check_text(text, SCHEMAS / schema)
        self.assertEqual(errors, [])
        for measured in document.get("measurements", []):
            measured.update(measured["details"])
        return document

    def assert_width(self, text, columns=80):
        for line in text.splitlines():
            self.assertLessEqual(len(line), columns, line)


def main(description):
    """Runs the tests of the calling file on the program that is the first argument."""
    global PROGRAM   # pylint: disable=global-statement
    if len(sys.argv) < 2:
        sys.exit(description)
    PROGRAM = os.path.abspath(sys.argv.pop(1))   # tests run in folders of their own
    cases.main()
