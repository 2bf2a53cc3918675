# SPDX-License-Identifier: MIT
"""Prints "passed failed skipped" of the last `meson test` in a build folder.

Usage: count_tests.py BUILD_FOLDER
"""
import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def main():
    log = pathlib.Path(sys.argv[1], "meson-logs", "testlog.json")
    if not log.exists():
        print(0, 0, 0)
        return
    results = [json.loads(line)["result"] for line in log.read_text("utf-8").splitlines()]
    passed = sum(result in PASSED for result in results)
    skipped = sum(result in SKIPPED for result in results)
    print(passed, len(results) - passed - skipped, skipped)


main()
