# SPDX-License-Identifier: MIT
"""Prints "passed failed skipped" of the last `meson test` in a build folder, or details of it.

Usage: count_tests.py BUILD_FOLDER [--failures | --longest | --skips [ALLOWED]]
--failures: the name, the result and the end of the output of each test that failed; README's
            command does not show them.
--longest:  seconds of each test, longest first.
--skips:    each test or part of one that was skipped, with its reason. With a file ALLOWED (lines
            "NEED: REGULAR EXPRESSION"), what is needed too; exit 1 if a reason matches none.
"""
import json
import pathlib
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
LINES_OF_A_TEST = 60


def results_of(place):
    """Of a build folder or a log."""
    log = pathlib.Path(place)
    if log.suffix != ".json":
        log = log / "meson-logs" / "testlog.json"
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


def skips_of(results):
    """Name and reason: the last line of a skipped test, and what a passing one left out."""
    for test in results:
        lines = (test.get("stdout") or "").strip().splitlines()
        if test["result"] in SKIPPED:
            yield test["name"], lines[-1] if lines else "no reason given"
            continue
        for line in lines:
            if line.startswith("skipped case: "):
                case, _, reason = line.removeprefix("skipped case: ").partition(": ")
                yield f"{test['name']} {case}", reason


def allowed_in(file):
    """What is needed, and the pattern of reasons that say so."""
    allowed = []
    for line in pathlib.Path(file).read_text("utf-8").splitlines():
        need, _, reason = line.partition(": ")
        if reason and not line.startswith("#"):   # an empty one would match every reason
            allowed.append((need, re.compile(reason)))
    return allowed


def print_skips(results, allowed_file):
    """The number of skips that are not allowed."""
    allowed = allowed_in(allowed_file) if allowed_file else []
    bad = 0
    for name, reason in skips_of(results):
        needs = [need for need, pattern in allowed if pattern.search(reason)]
        note = ""
        if allowed_file:
            note = f" [{needs[0]}]" if needs else " [NOT ALLOWED: install it or do without it]"
            bad += not needs
        print(f"   skipped: {name}: {reason.removeprefix('skipped: ')}{note}")
    return bad


def main():
    results = results_of(sys.argv[1])
    if "--failures" in sys.argv:
        print_failures(results)
        return
    if "--longest" in sys.argv:
        for test in sorted(results, key=lambda test: -test["duration"]):
            print(f"{test['duration']:7.1f} s  {test['name']}")
        return
    if "--skips" in sys.argv:
        sys.exit(print_skips(results, sys.argv[3] if len(sys.argv) > 3 else None) != 0)
    passed = sum(test["result"] in PASSED for test in results)
    skipped = sum(test["result"] in SKIPPED for test in results)
    print(passed, len(results) - passed - skipped, skipped)


if __name__ == "__main__":
    main()
