# SPDX-License-Identifier: MIT
"""Prints "passed failed skipped" of the last `meson test` in a build folder, or what failed in it.

Usage: count_tests.py BUILD_FOLDER [--failures]
With --failures: the name, the result and the end of the output of each test that failed; README's
command does not show them.
"""
import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
LINES_OF_A_TEST = 60


def results_of(folder):
    log = pathlib.Path(folder, "meson-logs", "testlog.json")
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def print_failures(results):
    for test in results:
        if test["result"] in PASSED | SKIPPED:
            continue
        print(f"---- {test['name']}: {test['result']}")
        for stream in ("stdout", "stderr"):
            lines = (test.get(stream) or "").splitlines()
            print("\n".join(lines[-LINES_OF_A_TEST:]))


def main():
    results = results_of(sys.argv[1])
    if "--failures" in sys.argv:
        print_failures(results)
        return
    passed = sum(test["result"] in PASSED for test in results)
    skipped = sum(test["result"] in SKIPPED for test in results)
    print(passed, len(results) - passed - skipped, skipped)


main()
