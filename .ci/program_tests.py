# SPDX-License-Identifier: MIT
"""Runs tests of a build's program with another build's program, and logs them as `meson test` does.

Usage: program_tests.py TESTS PROGRAM LOG_FOLDER [TEST]...
TESTS is the output of `meson introspect --tests`. Each TEST is a name, and after tabs the cases
that are to run, if not all; the log is LOG_FOLDER/meson-logs/testlog.json. Only for tests that
load nothing of their own build: of their variables they get those that begin with HIPTOOL_.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

THEIR_PROGRAM = "src/cli/hiptool"
RESULTS = {0: "OK", 77: "SKIP"}


def run(test, cases, program):
    command = [program if word == THEIR_PROGRAM else word for word in test["cmd"]]
    variables = {name: text for name, text in test["env"].items() if name.startswith("HIPTOOL_")}
    begin = time.monotonic()
    done = subprocess.run(command + cases, env={**os.environ, **variables}, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, errors="replace")
    return {"name": test["name"], "result": RESULTS.get(done.returncode, "FAIL"),
            "stdout": done.stdout, "stderr": done.stderr, "duration": time.monotonic() - begin}


def main():
    tests = {test["name"]: test
             for test in json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))}
    program = os.path.abspath(sys.argv[2])
    log = pathlib.Path(sys.argv[3], "meson-logs", "testlog.json")
    log.parent.mkdir(parents=True, exist_ok=True)
    has_failed = False
    with log.open("w", encoding="utf-8") as file:
        for words in sys.argv[4:]:
            name, *cases = words.split("\t")
            result = run(tests[name], cases, program)
            has_failed |= result["result"] == "FAIL"
            file.write(json.dumps(result) + "\n")
            print(result["result"], name, f"{result['duration']:.1f} s", flush=True)
    sys.exit(1 if has_failed else 0)


main()
