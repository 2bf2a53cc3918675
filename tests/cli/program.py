# SPDX-License-Identifier: MIT
"""Helpers of the command line tests: run the program as a user or a script would."""
import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = ""
DRIVERS = r"libcuda|libamdhip64"
SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "schema"


def is_sanitized():
    """Whether the program was built with a sanitizer, which takes memory and time of its own."""
    data = pathlib.Path(PROGRAM).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def clean_environment(**more):
    """The environment of a test, without the variables of the user who runs it; UTF-8."""
    names = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
             "LSAN_OPTIONS")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}


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
    result = subprocess.run([PROGRAM, *words], env=environment or clean_environment(),
                            stdin=subprocess.DEVNULL, text=True, encoding="utf-8", check=False,
                            **options)
    check_exit_code(result)
    return result


def interrupt(*words, delay_s):
    """The process that Ctrl-C ended after a delay, and the seconds that took; where it had not
    started yet or was done, the delay changes."""
    process = subprocess.Popen([PROGRAM, *words], env=clean_environment(), text=True,
                               encoding="utf-8", preexec_fn=default_signals,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(delay_s)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    duration_s = time.monotonic() - start
    if process.returncode == -signal.SIGINT:
        return interrupt(*words, delay_s=1.7 * delay_s)
    if process.returncode == 0:
        return interrupt(*words, delay_s=0.6 * delay_s)
    result = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    check_exit_code(result)
    return result, duration_s


def libraries_looked_for(*words):
    """The dynamic loader's log of its searches while the program runs."""
    with tempfile.TemporaryDirectory(prefix="hiptool-cli-") as folder:
        run(*words, environment=clean_environment(LD_DEBUG="libs", LD_DEBUG_OUTPUT=f"{folder}/log"))
        logs = list(pathlib.Path(folder).iterdir())
        assert logs, "the dynamic loader wrote nothing"
        return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)


def run_on_terminal(*words, columns=80, **variables):
    """Exit code and everything written, with all three streams on a terminal."""
    try:
        leader, follower = pty.openpty()
    except OSError as error:   # a container without /dev/pts
        raise unittest.SkipTest(f"no pseudo-terminal available: {error}") from error
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *words], stdin=follower, stdout=follower,
                               stderr=follower, env=clean_environment(**variables))
    os.close(follower)
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


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hiptool-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def assert_document(self, text, schema):
        """Exactly one document, valid for its schema (a file below tests/schema)."""
        document = json.loads(text)
        validator = SCHEMAS / "validate.py"
        if validator.exists():
            result = subprocess.run([sys.executable, validator, SCHEMAS / schema], input=text,
                                    text=True, encoding="utf-8", capture_output=True, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
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
    result = unittest.main(exit=False).result
    for case, reason in result.skipped:
        print(f"skipped case: {case.id()}: {reason}")   # .ci/count_tests.py reads it
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
